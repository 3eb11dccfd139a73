package headless

import (
	"context"
	"sync"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/session"
)

// MaxTape bounds the gates and notices that are kept for expectations.
const MaxTape = 10_000

// tape keeps what expectations may ask about: gates and notices, by sequence
// number. Its goroutine ends with close or the session.
type tape struct {
	sub    *session.Subscription
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex
	seq     uint64
	err     error
	gates   []taped[GateResult]
	notices []taped[NoticeResult]
	moved   chan struct{}
}

type taped[T any] struct {
	seq uint64
	val T
}

func record(s *session.Session) (*tape, error) {
	sub, err := s.Subscribe(session.Filter{FromSeq: s.FirstSeq()})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	t := &tape{sub: sub, cancel: cancel, done: make(chan struct{}), moved: make(chan struct{})}
	go t.run(ctx)
	return t, nil
}

func (t *tape) close() {
	t.cancel()
	<-t.done
	t.sub.Close()
}

func (t *tape) run(ctx context.Context) {
	defer close(t.done)
	for {
		rec, err := t.sub.Next(ctx)
		t.mu.Lock()
		if err != nil {
			t.err = err
		} else {
			t.keep(rec.Event)
		}
		close(t.moved)
		t.moved = make(chan struct{})
		t.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (t *tape) keep(e event.Event) {
	seq := e.Head().Seq
	t.seq = seq
	switch v := e.(type) {
	case *event.GateResolved:
		t.gates = push(t.gates, seq, GateResult{
			Gate: v.Gate, Kind: v.Kind, Binding: v.Subject.Binding, Action: v.Response.Action, Reason: v.Reason, Detail: v.Detail,
		})
	case *event.Notice:
		t.notices = push(t.notices, seq, NoticeResult{Binding: v.Binding, Code: v.Code, Level: v.Level, Text: v.Text})
	}
}

func push[T any](list []taped[T], seq uint64, v T) []taped[T] {
	if len(list) == MaxTape {
		list = list[1:]
	}
	return append(list, taped[T]{seq, v})
}

// until waits for the tape to have seen a sequence number.
func (t *tape) until(ctx context.Context, seq uint64) error {
	for {
		t.mu.Lock()
		have, err, moved := t.seq, t.err, t.moved
		t.mu.Unlock()
		if have >= seq {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// since returns what came after a sequence number.
func (t *tape) since(seq uint64) ([]GateResult, []NoticeResult) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return after(t.gates, seq), after(t.notices, seq)
}

func after[T any](list []taped[T], seq uint64) []T {
	out := []T{}
	for _, e := range list {
		if e.seq > seq {
			out = append(out, e.val)
		}
	}
	return out
}
