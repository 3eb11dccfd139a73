package transcript

import (
	"strings"

	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/cells"
)

// tailBytes is how much of a stream is wrapped anew with every piece. What lies
// before the last line break, or before the last space once the tail is longer
// than this, stays as it was wrapped.
const tailBytes = 2 << 10

// stream is text that still grows. It costs the same per piece however long it
// has become.
type stream struct {
	raw   strings.Builder
	limit int
	over  int // bytes beyond limit

	width int
	lines []string
	fixed int // lines that no piece can change
	from  int // where in raw the rest begins
}

func newStream() *stream { return &stream{limit: MaxBodyBytes} }

func (s *stream) append(piece string) {
	room := s.limit - s.raw.Len()
	if room < len(piece) {
		s.over += len(piece) - max(room, 0)
		piece = piece[:max(room, 0)]
	}
	s.raw.WriteString(piece)
}

func (s *stream) text() string { return s.raw.String() }

// wrapped lays the text out in lines of at most w cells. The result is valid
// until the next call.
func (s *stream) wrapped(w int) []string {
	if s.width != w {
		s.width, s.lines, s.fixed, s.from = w, nil, 0, 0
	}
	s.lines = s.lines[:s.fixed]
	rest := s.raw.String()[s.from:]
	cut := strings.LastIndexByte(rest, '\n') + 1
	if len(rest)-cut > tailBytes {
		if sp := strings.LastIndexByte(rest[:len(rest)-1], ' '); sp > cut {
			cut = sp + 1
		}
	}
	if cut > 0 {
		s.lines = append(s.lines, wrapBlock(withoutBreak(rest[:cut]), w)...)
		s.fixed, s.from = len(s.lines), s.from+cut
		rest = rest[cut:]
	}
	if rest != "" {
		s.lines = append(s.lines, wrapBlock(rest, w)...)
	}
	return s.lines
}

// withoutBreak leaves out one line break at the end.
func withoutBreak(s string) string {
	if !strings.HasSuffix(s, "\n") {
		return s
	}
	return strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r")
}

// wrapBlock cleans and wraps foreign text.
func wrapBlock(raw string, w int) []string {
	clean := safetext.ToBlockN(raw, MaxBodyBytes)
	lines := clean.Lines()
	out := make([]string, 0, len(lines))
	for _, l := range lines {
		out = append(out, cells.Wrap(string(l), w)...)
	}
	return out
}
