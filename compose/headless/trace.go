package headless

import (
	"fmt"
	"io"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/session"
)

// traceBuffer is how many protocol messages may wait to be written.
const traceBuffer = 16 << 10

// WriteTrace writes the protocol messages of all bindings to w, one
// binding.trace event a line, secrets masked. A w that cannot be written is told
// to failed, once.
func WriteTrace(s *session.Session, w io.Writer, failed func(error)) (*Writer, error) {
	sub, err := s.Subscribe(session.Filter{Ephemeral: true, Buffer: traceBuffer})
	if err != nil {
		return nil, err
	}
	write := func(rec event.Record) error {
		if _, ok := rec.Event.(*event.BindingTrace); !ok {
			return nil
		}
		if _, err := w.Write(append(append(make([]byte, 0, len(rec.Line)+1), rec.Line...), '\n')); err != nil {
			return fmt.Errorf("write the trace: %w", err)
		}
		return nil
	}
	return follow(sub, write, failed), nil
}

// Dropped counts the ephemeral events that came faster than they were written.
func (o *Writer) Dropped() uint64 { return o.sub.Dropped() }
