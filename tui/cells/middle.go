package cells

import (
	"unicode"
	"unicode/utf8"
)

// CutMiddle shortens an unstyled name to at most w cells and leaves out its
// middle: names that begin alike are told apart by their ends.
func CutMiddle(s string, w int) string {
	const least = 8 // below it both ends would say too little
	if w < least || Width(s) <= w {
		return Cut(s, w)
	}
	begin, most := 0, (w-1)*2/5
	for begin < len(s) {
		_, n := utf8.DecodeRuneInString(s[begin:])
		if Width(s[:begin+n]) > most {
			break
		}
		begin += n
	}
	end, most := len(s), w-1-Width(s[:begin])
	for end > begin {
		_, n := utf8.DecodeLastRuneInString(s[:end])
		if Width(s[end-n:]) > most {
			break
		}
		end -= n
	}
	// A mark whose character was left out has nothing to stand on.
	for end < len(s) {
		r, n := utf8.DecodeRuneInString(s[end:])
		if !unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
			break
		}
		end += n
	}
	return s[:begin] + Ellipsis + s[end:]
}
