package headless

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/looprig/looprig/harness/session"
)

// Writer writes the event stream as NDJSON: one event a line, the journal's own
// bytes for the durable ones. Its goroutine ends with the session's last event.
type Writer struct {
	sub  *session.Subscription
	done chan struct{}
	err  error
}

// WriteEvents begins to write everything from the session's first event on. When
// w fails or events are lost, failed is called once, from the writer's
// goroutine: nobody reads what the run would still say.
func WriteEvents(s *session.Session, w io.Writer, ephemeral bool, failed func(error)) (*Writer, error) {
	sub, err := s.Subscribe(session.Filter{FromSeq: 1, Ephemeral: ephemeral})
	if err != nil {
		return nil, err
	}
	out := &Writer{sub: sub, done: make(chan struct{})}
	go func() {
		defer close(out.done)
		defer sub.Close()
		if out.err = out.run(w); out.err != nil {
			failed(out.err)
		}
	}()
	return out, nil
}

func (o *Writer) run(w io.Writer) error {
	for {
		rec, err := o.sub.Next(context.Background()) // ends with the session
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		line := append(append(make([]byte, 0, len(rec.Line)+1), rec.Line...), '\n')
		if _, err := w.Write(line); err != nil {
			return fmt.Errorf("write events: %w", err)
		}
	}
}

// Wait waits for the last line; call it after the session was closed.
func (o *Writer) Wait() error {
	<-o.done
	return o.err
}
