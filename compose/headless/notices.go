package headless

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/session"
	"github.com/looprig/looprig/internal/safetext"
)

// maxNotices bounds what one run says beside its result.
const maxNotices = 100

// WriteNotices says on w what a person beside the run should know and the
// result does not show: warnings of the bindings, results that break their own
// schema. A w that cannot be written ends it without a failure: the journal has
// them all.
func WriteNotices(s *session.Session, w io.Writer) (*Writer, error) {
	sub, err := s.Subscribe(session.Filter{FromSeq: s.FirstSeq()})
	if err != nil {
		return nil, err
	}
	said := 0
	write := func(rec event.Record) error {
		line := noticeOf(rec.Event)
		if line == "" || said > maxNotices {
			return nil
		}
		if said++; said > maxNotices {
			line = "there are more notices: see looprig sessions show " + s.ID()
		}
		if _, err := fmt.Fprintln(w, "looprig: "+line); err != nil {
			said = maxNotices + 1
		}
		return nil
	}
	return follow(sub, write, func(error) {}), nil
}

// noticeOf is the line of an event that is worth one, else empty.
func noticeOf(e event.Event) string {
	switch e := e.(type) {
	case *event.Notice:
		if e.Level != noticeWarn && e.Level != noticeError {
			return ""
		}
		return subject(e.Binding, e.Text)
	case *event.SessionRestored:
		if len(e.Indeterminate) == 0 {
			return ""
		}
		return "the session goes on; whether these calls had an effect is not known, and they are not sent again: " + strings.Join(e.Indeterminate, ", ")
	case *event.ToolCompleted:
		if e.StructuredInvalid == "" {
			return ""
		}
		return subject(e.Tool, "the structured result breaks the tool's own schema: "+e.StructuredInvalid)
	}
	return ""
}

const (
	noticeWarn  = "warn"
	noticeError = "error"
)

func subject(name, text string) string {
	line := safetext.ToLineN(text, 1024).String()
	if name == "" {
		return line
	}
	return safetext.Ident(name).String() + ": " + line
}

// follow gives every record to write until the session's last one. The first
// failure ends it and is told to failed.
func follow(sub *session.Subscription, write func(event.Record) error, failed func(error)) *Writer {
	out := &Writer{sub: sub, done: make(chan struct{})}
	go func() {
		defer close(out.done)
		defer sub.Close()
		if out.err = out.run(context.Background(), write); out.err != nil {
			failed(out.err)
		}
	}()
	return out
}
