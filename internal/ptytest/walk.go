package ptytest

import (
	"strings"
	"unicode/utf8"
)

// walk calls f for every sequence and control character of a stream; text is
// passed over.
func walk(stream []byte, f func(sequence)) {
	for i := 0; i < len(stream); {
		b := stream[i]
		switch {
		case b == 0x1b:
			s, n := escape(stream[i:])
			s.at = i
			f(s)
			i += n
		case b < 0x20 || b == 0x7f:
			f(sequence{kind: kindControl, at: i, raw: string(b)})
			i++
		case b < utf8.RuneSelf:
			i++
		default:
			r, n := utf8.DecodeRune(stream[i:])
			if r == utf8.RuneError && n == 1 {
				f(sequence{kind: kindBroken, at: i, raw: string(stream[i : i+1])})
			} else if hidden(r) {
				f(sequence{kind: kindControl, at: i, raw: string(r)})
			}
			i += n
		}
	}
}

// hidden reports characters that a terminal obeys or that hide or reorder text.
func hidden(r rune) bool {
	switch {
	case r >= 0x80 && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x2028, r == 0x2029,
		r == 0x200b, r == 0x200e, r == 0x200f, r == 0xfeff, r >= 0xe0000 && r < 0xe0080:
		return true
	}
	return false
}

// escape reads one sequence that begins with ESC and returns its length.
func escape(b []byte) (sequence, int) {
	if len(b) < 2 {
		return sequence{kind: kindBroken, raw: string(b)}, len(b)
	}
	switch b[1] {
	case '[':
		return csi(b)
	case ']':
		return text(b, kindOSC)
	case 'P', '_', '^', 'X':
		return text(b, kindString)
	}
	n := 1
	for n < len(b) && b[n] >= 0x20 && b[n] < 0x30 {
		n++
	}
	if n == len(b) {
		return sequence{kind: kindBroken, raw: string(b)}, len(b)
	}
	return sequence{kind: kindEscape, raw: string(b[:n+1]), body: string(b[1 : n+1])}, n + 1
}

func csi(b []byte) (sequence, int) {
	for n := 2; n < len(b); n++ {
		switch c := b[n]; {
		case c >= 0x40 && c < 0x7f:
			return sequence{kind: kindCSI, raw: string(b[:n+1]), body: string(b[2:n]), final: c}, n + 1
		case c < 0x20 || c >= 0x7f:
			return sequence{kind: kindBroken, raw: string(b[:n])}, n
		}
	}
	return sequence{kind: kindBroken, raw: string(b)}, len(b)
}

// text reads a string up to BEL or ST.
func text(b []byte, k kind) (sequence, int) {
	s := string(b)
	bel, st := strings.IndexByte(s, 0x07), strings.Index(s[2:], "\x1b\\")
	if st >= 0 {
		st += 2
	}
	switch {
	case bel >= 0 && (st < 0 || bel < st):
		return sequence{kind: k, raw: s[:bel+1], body: s[2:bel]}, bel + 1
	case st >= 0:
		return sequence{kind: k, raw: s[:st+2], body: s[2:st]}, st + 2
	}
	return sequence{kind: kindBroken, raw: s}, len(b)
}

// Residue lists what a stream switched on and did not switch off again: private
// modes, keyboard protocols, a window title, a hidden cursor.
func Residue(stream []byte) []string {
	on := map[string]bool{}
	kitty, title := 0, ""
	walk(stream, func(s sequence) {
		switch {
		case s.kind == kindCSI && (s.final == 'h' || s.final == 'l') && strings.HasPrefix(s.body, "?"):
			for _, p := range strings.Split(s.body[1:], ";") {
				on[p] = s.final == 'h'
			}
		case s.kind == kindCSI && s.final == 'u' && strings.HasPrefix(s.body, ">"):
			kitty++
		case s.kind == kindCSI && s.final == 'u' && strings.HasPrefix(s.body, "<"):
			kitty--
		case s.kind == kindCSI && s.final == 'm' && strings.HasPrefix(s.body, ">4"):
			on["modifyOtherKeys"] = s.body != ">4" && s.body != ">4;0" && s.body != ">4m"
		case s.kind == kindOSC && (strings.HasPrefix(s.body, "2;") || strings.HasPrefix(s.body, "0;")):
			title = s.body[2:]
		}
	})
	var out []string
	for _, p := range []string{"1049", "2004", "1004", "1000", "1002", "1003", "1006", "2026", "modifyOtherKeys"} {
		if on[p] {
			out = append(out, "mode "+p+" is on")
		}
	}
	if v, seen := on["25"]; seen && !v {
		out = append(out, "the cursor is hidden")
	}
	if kitty > 0 {
		out = append(out, "the keyboard protocol is on")
	}
	if title != "" {
		out = append(out, "the window title is set")
	}
	return out
}
