package form

import "github.com/looprig/looprig/internal/safetext"

// maxQuoted bounds, in bytes, how much foreign text one message repeats.
const maxQuoted = 120

// quoted makes foreign text fit for a host-written message: cleaned, bounded
// and between quotes.
func quoted(s string) string { return `"` + safetext.ToLineN(s, maxQuoted).String() + `"` }
