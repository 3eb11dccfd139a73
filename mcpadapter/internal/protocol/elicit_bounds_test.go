package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestElicitationCancelledByTheServer(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	asked := make(chan struct{})
	f := connect(t, legacyServer(func(p *peer) {
		p.send(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":` + formParams + `}`)
		<-asked
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q"}}`)
		p.send(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)
		answering(map[string]string{"ping": `{}`})(p)
	}), pinned(Revision20251125), eliciting(func(ctx context.Context, _ ElicitRequest) (ElicitResult, error) {
		close(asked)
		<-ctx.Done()
		ended <- ctx.Err()
		return ElicitResult{Action: "accept"}, nil
	}))
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := f.Ping(short(t)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the request after the cancelled one is answered", func() bool {
		return strings.Contains(strings.Join(f.d.log.all(), ""), `"id":"p","result":{}`)
	})
	if all := strings.Join(f.d.log.all(), ""); strings.Contains(all, "action") || strings.Contains(all, `"id":"q"`) {
		t.Fatal(all)
	}
}

func TestElicitationTimeLimitAndSessionEnd(t *testing.T) {
	t.Parallel()
	answer := make(chan message, 1)
	wait := func(ctx context.Context, _ ElicitRequest) (ElicitResult, error) {
		<-ctx.Done()
		return ElicitResult{}, ctx.Err()
	}
	f := connect(t, elicitOnce("3", "elicitation/create", formParams, answer), pinned(Revision20251125), eliciting(wait),
		func(o *Options) { o.Limits.ElicitTimeout = 10 * time.Millisecond })
	if m := <-answer; string(m.Result) != `{"action":"cancel"}` && !strings.Contains(string(m.Error), "-32603") {
		t.Fatal(m.raw)
	}
	asked := make(chan struct{})
	g := connect(t, elicitOnce("3", "elicitation/create", formParams, answer), pinned(Revision20251125),
		eliciting(func(ctx context.Context, req ElicitRequest) (ElicitResult, error) {
			close(asked)
			return wait(ctx, req)
		}))
	<-asked
	start := time.Now()
	if err := g.Close(); err != nil || time.Since(start) > 2*time.Second {
		t.Fatalf("%v after %v", err, time.Since(start))
	}
	_ = f
}

func TestPendingElicitationsAreBounded(t *testing.T) {
	t.Parallel()
	var open, most atomic.Int64
	release := make(chan struct{})
	refused := make(chan struct{})
	answers := make(chan map[string]string, 1)
	connect(t, legacyServer(func(p *peer) {
		for i := range 12 {
			p.send(`{"jsonrpc":"2.0","id":%d,"method":"elicitation/create","params":%s}`, i, json.RawMessage(formParams))
		}
		got := map[string]string{}
		for len(got) < 12 {
			m, _ := p.next()
			got[string(m.ID)] = string(m.Error)
			if len(got) == 4 {
				close(refused)
			}
		}
		answers <- got
		answering(nil)(p)
	}), pinned(Revision20251125), eliciting(func(context.Context, ElicitRequest) (ElicitResult, error) {
		most.Store(max(most.Load(), open.Add(1)))
		<-release
		open.Add(-1)
		return ElicitResult{Action: "decline"}, nil
	}))
	<-refused
	eventually(t, "eight pending", func() bool { return open.Load() == 8 })
	close(release)
	failed := 0
	for _, e := range <-answers {
		if strings.Contains(e, "too many") {
			failed++
		}
	}
	if failed != 4 || most.Load() != 8 {
		t.Fatalf("%d refused, %d at once", failed, most.Load())
	}
}

func TestSameIDTwice(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	var asked sync.WaitGroup
	asked.Add(1)
	var n counter
	f := connect(t, legacyServer(func(p *peer) {
		for range 2 {
			p.send(`{"jsonrpc":"2.0","id":5,"method":"elicitation/create","params":` + formParams + `}`)
		}
		answering(map[string]string{"ping": `{}`})(p)
	}), pinned(Revision20251125), n.option, eliciting(func(context.Context, ElicitRequest) (ElicitResult, error) {
		asked.Done() // a second call would panic
		<-release
		return ElicitResult{Action: "decline"}, nil
	}))
	asked.Wait()
	eventually(t, "second refused", func() bool { return n.get(droppedMalformed) == 1 })
	close(release)
	eventually(t, "one answer", func() bool {
		return strings.Count(strings.Join(f.d.log.all(), ""), `"action":"decline"`) == 1
	})
}

func TestElicitationEndsWithTheCallThatCausedIt(t *testing.T) {
	t.Parallel()
	answer := make(chan message, 1)
	asked := make(chan struct{}, 1)
	f := connect(t, legacyServer(func(p *peer) {
		p.await("tools/call")
		p.send(`{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":` + formParams + `}`)
		for {
			m, ok := p.next()
			if !ok {
				return
			}
			if string(m.ID) == `"q"` {
				answer <- m
			}
		}
	}), pinned(Revision20251125), eliciting(func(ctx context.Context, _ ElicitRequest) (ElicitResult, error) {
		asked <- struct{}{}
		<-ctx.Done()
		return ElicitResult{}, ctx.Err()
	}))
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error, 1)
	go func() {
		_, err := f.CallTool(ctx, CallRequest{Name: "x"})
		failed <- err
	}()
	<-asked
	cancel()
	wantClass(t, <-failed, ClassCancelled)
	select {
	case m := <-answer:
		if string(m.Result) != `{"action":"cancel"}` {
			t.Fatal(m.raw)
		}
	case <-time.After(patience):
		t.Fatal("the question outlived its call")
	}
}
