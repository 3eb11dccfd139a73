package headless

import (
	"context"
	"errors"
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

// WriteEvents begins to write everything from the session's first event on.
func WriteEvents(s *session.Session, w io.Writer, ephemeral bool) (*Writer, error) {
	sub, err := s.Subscribe(session.Filter{FromSeq: 1, Ephemeral: ephemeral})
	if err != nil {
		return nil, err
	}
	out := &Writer{sub: sub, done: make(chan struct{})}
	go out.run(w)
	return out, nil
}

func (o *Writer) run(w io.Writer) {
	defer close(o.done)
	defer o.sub.Close()
	for {
		rec, err := o.sub.Next(context.Background()) // ends with the session
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			o.err = err
			return
		}
		line := append(append(make([]byte, 0, len(rec.Line)+1), rec.Line...), '\n')
		if _, err := w.Write(line); err != nil {
			o.err = err
			return
		}
	}
}

// Wait waits for the last line; call it after the session was closed.
func (o *Writer) Wait() error {
	<-o.done
	return o.err
}
