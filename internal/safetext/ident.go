package safetext

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// MixedMarker follows an identifier whose letters come from scripts that do not
	// belong together: the classic look-alike.
	MixedMarker = " ‹mixed scripts›"

	// maxScriptBytes bounds the part of a name that MixedScript looks at.
	maxScriptBytes = 16 << 10
)

// Ident shows a name that somebody else chose: of a tool, a server, a prompt, a
// parameter. A name of [A-Za-z0-9_./:-] alone appears bare. Any other, the empty
// one included, is quoted as Go quotes strings, with letters and digits as they are
// and everything else that is not printable ASCII escaped; so different names look
// different in their escapes, and a name cannot imitate what stands around it.
// MixedMarker follows where MixedScript holds. The result is a Line of at most
// IdentBytes; a longer name ends with a cut marker.
//
// Ident is an encoding: unlike ToLine it must not be applied to its own result.
func Ident(s string) Line {
	bare := isBare(s)
	if bare && len(s) <= IdentBytes {
		return Line(s)
	}
	suffix := ""
	if !bare && MixedScript(s) {
		suffix = MixedMarker
	}
	q := identWriter{
		in: s, quoted: !bare,
		max:  IdentBytes - len(suffix) - len(`""`),
		room: len(cutMarker(len(s))),
	}
	return Line(q.write(suffix))
}

func isBare(s string) bool {
	for i := 0; i < len(s); i++ {
		b := s[i]
		letter := b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
		if !letter && (b < '-' || b > ':') && b != '_' {
			return false
		}
	}
	return s != ""
}

// identWriter writes one identifier under a cap.
type identWriter struct {
	in     string
	quoted bool
	max    int // bytes between the quotes
	room   int // bytes of the cut marker
	marks  int
	based  bool
}

func (q *identWriter) write(suffix string) string {
	body, used := q.body()
	if q.quoted {
		body = `"` + body + `"`
	}
	body += suffix
	if used < len(q.in) {
		body += cutMarker(len(q.in) - used)
	}
	return body
}

// body returns the escaped text, and how much of the input it shows.
func (q *identWriter) body() (string, int) {
	var out strings.Builder
	keep, used := 0, 0
	for pos := 0; pos < len(q.in); {
		size := q.unit(&out, pos)
		if out.Len() > q.max {
			return out.String()[:keep], used
		}
		pos += size
		if out.Len() <= q.max-q.room {
			keep, used = out.Len(), pos
		}
	}
	return out.String(), len(q.in)
}

func (q *identWriter) unit(out *strings.Builder, pos int) int {
	r, size := utf8.DecodeRuneInString(q.in[pos:])
	based := false
	switch {
	case r == utf8.RuneError && size == 1:
		out.WriteString(`\x` + strconv.FormatUint(uint64(q.in[pos]), 16))
	case r == '"' || r == '\\':
		out.WriteByte('\\')
		out.WriteByte(byte(r))
	case r >= 0x20 && r < 0x7f:
		out.WriteByte(byte(r))
	case q.based && q.marks < MaxMarks && isOwnMark(r):
		out.WriteRune(r)
		q.marks++
		return size
	case isPlainLetter(r):
		out.WriteRune(r)
		based = true
	default:
		escape := strconv.QuoteRuneToASCII(r)
		out.WriteString(strings.Trim(escape, "'"))
	}
	q.based, q.marks = based, 0
	return size
}

// isPlainLetter reports letters and digits that are written the same way in every
// compatible form: no fullwidth, mathematical, letterlike or ligature twins.
func isPlainLetter(r rune) bool {
	if !unicode.IsLetter(r) && !unicode.Is(unicode.Nd, r) || isHidden(r) || isExtender(r) {
		return false
	}
	return !unicode.In(r, unicode.Common, unicode.Inherited, unicode.Lm) && !isCompatibility(r)
}

// isCompatibility reports the blocks whose letters are twins of other letters.
func isCompatibility(r rune) bool {
	switch {
	case r == 0xaa || r == 0xba,
		r >= 0x2100 && r <= 0x214f,
		r >= 0x1d00 && r <= 0x1dbf,
		r >= 0xf900 && r <= 0xfaff,
		r >= 0xfb00 && r <= 0xfdff,
		r >= 0xfe70 && r <= 0xfeff,
		r >= 0xff00 && r <= 0xffef,
		r >= 0x1d400 && r <= 0x1d7ff,
		r >= 0x1ee00 && r <= 0x1eeff,
		r >= 0x2f800 && r <= 0x2fa1f:
		return true
	}
	return false
}

// isOwnMark reports marks that belong to one script, such as vowel signs. The
// general diacritics do not: they make a second spelling of an accented letter.
func isOwnMark(r rune) bool {
	return isMark(r) && !isHidden(r) && !unicode.In(r, unicode.Common, unicode.Inherited)
}

// MixedScript reports letters of scripts that are not written together in one
// name, such as Latin with Cyrillic. Han mixes with the scripts of Japanese, Korean
// and Bopomofo, and each of these with Latin. At most the first 16 KiB count.
func MixedScript(s string) bool {
	if len(s) > maxScriptBytes {
		s = s[:maxScriptBytes]
	}
	var seen scripts
	for _, r := range s {
		seen.add(r)
		if seen.mixed() {
			return true
		}
	}
	return false
}

// scripts is the set of scripts seen so far.
type scripts struct {
	latin, han, kana, hangul, bopomofo bool

	other *unicode.RangeTable // the first script beyond these
	more  bool                // a second one
}

func (s *scripts) add(r rune) {
	switch {
	case r < 0x80:
		s.latin = s.latin || unicode.IsLetter(r)
	case !unicode.IsLetter(r), unicode.In(r, unicode.Common, unicode.Inherited):
	case unicode.Is(unicode.Latin, r):
		s.latin = true
	case unicode.Is(unicode.Han, r):
		s.han = true
	case unicode.In(r, unicode.Hiragana, unicode.Katakana):
		s.kana = true
	case unicode.Is(unicode.Hangul, r):
		s.hangul = true
	case unicode.Is(unicode.Bopomofo, r):
		s.bopomofo = true
	case s.other == nil:
		s.other = scriptOf(r)
	case !unicode.Is(s.other, r):
		s.more = true
	}
}

func (s *scripts) mixed() bool {
	asian := 0
	for _, b := range []bool{s.kana, s.hangul, s.bopomofo} {
		if b {
			asian++
		}
	}
	return s.more || asian > 1 || s.other != nil && (s.latin || s.han || asian > 0)
}

// scriptOf finds the script of a letter. A letter of no known script is one of its
// own, so that it mixes with nothing.
func scriptOf(r rune) *unicode.RangeTable {
	for _, table := range unicode.Scripts {
		if unicode.Is(table, r) {
			return table
		}
	}
	return &unicode.RangeTable{R32: []unicode.Range32{{Lo: uint32(r), Hi: uint32(r), Stride: 1}}}
}
