package headless

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/session"
)

// ErrUnread says that the end of the output was given up: nobody read it.
var ErrUnread = errors.New("nobody read the end of the output, so not all of it was written")

// Writer writes what a session's events say. Its goroutine ends with the
// session's last event.
type Writer struct {
	sub  *session.Subscription
	done chan struct{}
	err  error
}

// WriteEvents begins to write everything from the session's first event on as
// NDJSON: one event a line, the journal's own bytes for the durable ones. When
// w fails or events are lost, failed is called once, from the writer's
// goroutine: nobody reads what the run would still say.
func WriteEvents(s *session.Session, w io.Writer, ephemeral bool, failed func(error)) (*Writer, error) {
	sub, err := s.Subscribe(session.Filter{FromSeq: s.FirstSeq(), Ephemeral: ephemeral})
	if err != nil {
		return nil, err
	}
	write := func(rec event.Record) error {
		line := append(append(make([]byte, 0, len(rec.Line)+1), rec.Line...), '\n')
		if _, err := w.Write(line); err != nil {
			return fmt.Errorf("write events: %w", err)
		}
		return nil
	}
	return follow(sub, write, failed), nil
}

// run ends with the session, which is why its context has no end of its own.
func (o *Writer) run(ctx context.Context, write func(event.Record) error) error {
	for {
		rec, err := o.sub.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := write(rec); err != nil {
			return err
		}
	}
}

// Wait waits for the last line; call it after the session was closed. A reader
// that has stopped reading holds it up until ctx ends: the writer is then given
// up, and what it was writing ends with the process.
func (o *Writer) Wait(ctx context.Context) error {
	select {
	case <-o.done:
		return o.err
	case <-ctx.Done():
	}
	select {
	case <-o.done: // both: what was written counts
		return o.err
	default:
		return ErrUnread
	}
}
