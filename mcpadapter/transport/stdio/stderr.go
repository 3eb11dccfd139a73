package stdio

import (
	"bytes"
	"io"
	"sync"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// Bounds of what is remembered of stderr.
const (
	stderrLines = 200
	stderrBytes = 256 << 10
)

// ring keeps the last lines of stderr. It is safe for concurrent use.
type ring struct {
	mu      sync.Mutex
	lines   []string
	bytes   int
	dropped int
}

func (r *ring) add(line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, string(line))
	r.bytes += len(line)
	drop := 0
	for len(r.lines)-drop > stderrLines || r.bytes > stderrBytes {
		r.bytes -= len(r.lines[drop])
		drop++
	}
	if drop > 0 {
		r.dropped += drop
		r.lines = append(r.lines[:0], r.lines[drop:]...)
	}
}

func (r *ring) snapshot() (lines []string, dropped int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.lines...), r.dropped
}

// lineSplitter cuts a stream into lines of at most wire.MaxStderrLine bytes; a
// longer one comes in pieces. Its memory is one such line.
type lineSplitter struct {
	emit func(line []byte)
	part []byte
}

// copyFrom reads to the end of the stream.
func (s *lineSplitter) copyFrom(src io.Reader) {
	buf := make([]byte, 16<<10)
	for {
		n, err := src.Read(buf)
		s.write(buf[:n])
		if err != nil {
			s.flush()
			return
		}
	}
}

func (s *lineSplitter) write(b []byte) {
	for len(b) > 0 {
		room := wire.MaxStderrLine - len(s.part)
		end := bytes.IndexByte(b[:min(len(b), room)], '\n')
		switch {
		case end >= 0:
			s.part = append(s.part, b[:end]...)
			b = b[end+1:]
			s.out()
		case len(b) >= room:
			s.part = append(s.part, b[:room]...)
			b = b[room:]
			s.out()
		default:
			s.part = append(s.part, b...)
			return
		}
	}
}

func (s *lineSplitter) out() {
	s.emit(bytes.TrimSuffix(s.part, []byte("\r")))
	s.part = s.part[:0]
}

func (s *lineSplitter) flush() {
	if len(s.part) > 0 {
		s.out()
	}
}
