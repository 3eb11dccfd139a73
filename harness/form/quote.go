package form

import (
	"strconv"
	"unicode/utf8"
)

// maxQuoted bounds, in bytes, how much foreign text one message repeats.
const maxQuoted = 120

// quoted makes foreign text fit for a host-written message: quoted, ASCII
// only, bounded.
func quoted(s string) string {
	cut := s
	if len(cut) > maxQuoted {
		cut = cut[:maxQuoted]
		for len(cut) > 0 && !utf8.RuneStart(s[len(cut)]) {
			cut = cut[:len(cut)-1]
		}
	}
	q := strconv.QuoteToASCII(cut)
	if len(cut) < len(s) {
		q += "… (" + strconv.Itoa(len(s)) + " bytes)"
	}
	return q
}
