package schema

import "github.com/looprig/looprig/internal/safetext"

// maxQuoted bounds, in bytes, how much foreign text one message repeats.
const maxQuoted = 120

// quoted makes foreign text fit for a host-written message: cleaned, bounded
// and between quotes.
func quoted(s string) string { return `"` + safetext.ToLineN(s, maxQuoted).String() + `"` }

// ident does the same for a name.
func ident(s string) string {
	if len(s) > maxQuoted {
		return quoted(s)
	}
	return safetext.Ident(s).String()
}
