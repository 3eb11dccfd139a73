package ptytest

import (
	"fmt"
	"strconv"
	"strings"
)

// Violation is a sequence that is not on the allow-list.
type Violation struct {
	Offset int
	Bytes  string
	Why    string
}

func (v Violation) String() string {
	return fmt.Sprintf("at byte %d: %q: %s", v.Offset, v.Bytes, v.Why)
}

// Rules is the allow-list for Check. The zero value allows what the interface
// itself writes: text, SGR, cursor movement and erasing, the private modes of
// Modes, keyboard protocols, and queries without side effects.
type Rules struct {
	// Titles are the window titles that may be set; none may be without them. The
	// empty title is always allowed.
	Titles []string
	// Clipboard allows OSC 52.
	Clipboard bool
}

// modes are the private modes that may be switched, by number.
var modes = map[int]string{
	1: "application cursor keys", 7: "wrap", 12: "cursor blink", 25: "cursor", 1004: "focus", 1049: "alternate screen",
	2004: "bracketed paste", 2026: "synchronised output", 2027: "unicode core", 2048: "in-band resize",
}

// Check lists the sequences in a byte stream that the rules do not allow.
func Check(stream []byte, r Rules) []Violation {
	var out []Violation
	walk(stream, func(s sequence) {
		if why := r.refuse(s); why != "" {
			out = append(out, Violation{Offset: s.at, Bytes: short(s.raw), Why: why})
		}
	})
	return out
}

func short(s string) string {
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}

type kind uint8

const (
	kindControl kind = iota // one C0 or C1 byte, or DEL
	kindCSI
	kindOSC
	kindString // DCS, APC, PM, SOS
	kindEscape
	kindBroken // invalid UTF-8 or an unfinished sequence
)

type sequence struct {
	kind  kind
	at    int
	raw   string
	body  string // parameters and intermediates, or the text of a string
	final byte
}

func (r Rules) refuse(s sequence) string {
	switch s.kind {
	case kindControl:
		if s.raw == "\n" || s.raw == "\r" || s.raw == "\b" || s.raw == "\t" {
			return ""
		}
		return "a control character"
	case kindEscape:
		if strings.Contains("78=>M", s.body) && len(s.body) == 1 || s.body == "(B" {
			return ""
		}
		return "an escape sequence"
	case kindCSI:
		return refuseCSI(s)
	case kindOSC:
		return r.refuseOSC(s)
	case kindString:
		if strings.HasPrefix(s.raw, "\x1bP+q") {
			return "" // a query of a terminal capability
		}
		return "a device control or application string"
	default:
	}
	return "a broken sequence"
}

func refuseCSI(s sequence) string {
	switch {
	case s.final == 'm' && (s.body == "" || !strings.ContainsAny(s.body, "?<=!$ ")), s.final == 'm' && strings.HasPrefix(s.body, ">"):
		return "" // styles, and the protocol for modified keys
	case strings.ContainsRune("ABCDEFGHJKLMPSTXZ@`adefbgr", rune(s.final)) && digits(s.body):
		return "" // movement, erasing, scrolling, repeating
	case s.final == 'W' && s.body == "?5":
		return "" // tab stops at every eighth column
	case s.final == 'q' && strings.HasSuffix(s.body, " ") && digits(strings.TrimSuffix(s.body, " ")):
		return "" // the cursor's shape
	case s.final == 'u' && (s.body == "" || strings.ContainsAny(s.body[:1], "<>=?")):
		return "" // the keyboard protocol
	case (s.final == 'h' || s.final == 'l') && strings.HasPrefix(s.body, "?"):
		return refuseModes(s.body[1:])
	case (s.final == 'h' || s.final == 'l') && s.body == "4":
		return "" // insert mode
	case s.final == 'p' && strings.HasPrefix(s.body, "?") && strings.HasSuffix(s.body, "$"):
		return "" // asks whether a mode is known
	case s.final == 'c' && digits(strings.TrimLeft(s.body, ">=")):
		return "" // asks what the terminal is
	}
	return "a control sequence"
}

func refuseModes(body string) string {
	for _, p := range strings.Split(body, ";") {
		n, err := strconv.Atoi(p)
		if err != nil || modes[n] == "" {
			return "private mode " + p
		}
	}
	return ""
}

func digits(s string) bool {
	return strings.Trim(s, "0123456789;") == ""
}

func (r Rules) refuseOSC(s sequence) string {
	code, rest, _ := strings.Cut(s.body, ";")
	switch code {
	case "0", "2":
		if rest == "" {
			return ""
		}
		for _, t := range r.Titles {
			if rest == t {
				return ""
			}
		}
		return "a window title"
	case "10", "11", "12":
		if rest == "?" {
			return "" // asks for a colour
		}
	case "52":
		if r.Clipboard {
			return ""
		}
		return "the clipboard"
	case "110", "111", "112":
		return ""
	}
	return "an operating system command"
}
