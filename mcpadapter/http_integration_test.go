//go:build integration

package mcpadapter

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/mcpadapter/client"
	"github.com/looprig/looprig/mcpadapter/demo"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
	"github.com/looprig/looprig/mcpadapter/transport/streamhttp"
)

// site is a demo server over HTTP that can be killed and started again on the
// same port.
type site struct {
	t    *testing.T
	addr string
	url  string
	stop context.CancelFunc
	done sync.WaitGroup
}

func (s *site) start() {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	if s.addr == "" {
		s.addr = "127.0.0.1:0"
	}
	ready := make(chan string, 1)
	failed := make(chan error, 1024)
	up := func() bool {
		s.done.Go(func() { failed <- demo.ServeHTTP(ctx, s.addr, demo.Options{}, func(url string) { ready <- url }) })
		select {
		case s.url = <-ready:
			return true
		case <-failed: // the one before still has the port
			return false
		}
	}
	until(s.t, "the server is up", up)
	u, err := url.Parse(s.url)
	if err != nil {
		s.t.Fatal(err)
	}
	s.addr = u.Host
}

// kill closes every connection. What runs in the server may go on for a while.
func (s *site) kill() { s.stop() }

func (s *site) end() {
	s.stop()
	s.done.Wait()
}

// A server over HTTP that is killed and started again on the same port in
// mid-session: the binding comes back by itself, the call in flight has an
// unknown outcome and is not made again, the next one works and a subscription
// still delivers.
func TestAServerOverHTTPComesBack(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{protocol.Revision20251125, protocol.Revision20260728} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			s := &site{t: t}
			s.start()
			defer s.end()
			tr, err := streamhttp.New(streamhttp.Config{URL: s.url})
			if err != nil {
				t.Fatal(err)
			}
			r := live(t, nil, Binding{Name: "demo", Server: client.Definition{Transport: tr, Revision: revision}})
			ctx := t.Context()
			r.must(r.m.Wait(ctx, "demo"))
			r.must(r.m.Subscribe(ctx, "demo", "demo://log"))

			var out tool.Result
			var calling sync.WaitGroup
			progress := make(chan struct{})
			var once sync.Once
			p := r.prepare("mcp__demo__slow", `{"steps":50,"seconds":10}`)
			calling.Go(func() {
				out = p.Invoke(ctx, tool.Call{ID: "c1", Progress: func(tool.Progress) { once.Do(func() { close(progress) }) }})
			})
			select {
			case <-progress:
			case <-time.After(20 * time.Second):
				t.Fatal("the slow call makes no progress")
			}
			s.kill()
			calling.Wait()
			if out.Outcome != tool.Indeterminate || !out.Sent || out.Attempts != 1 {
				t.Errorf("the call in flight: %s, sent %t, %d attempts: %s", out.Outcome, out.Sent, out.Attempts, out.Reason)
			}
			until(t, "the loss is noticed", func() bool { return r.status("demo").State != integration.StateReady })
			s.start()
			until(t, "the binding comes back", func() bool { return r.status("demo").State == integration.StateReady })
			call := func() tool.Result {
				return r.prepare("mcp__demo__add", `{"a":1,"b":2}`).Invoke(ctx, tool.Call{ID: "c2"})
			}
			if res := call(); res.Outcome != tool.OK {
				t.Errorf("the next call: %+v", res)
			}
			updates := func() int { return len(of[*event.ResourceUpdated](r)) }
			before := updates()
			until(t, "an update after the restart", func() bool { call(); return updates() > before })
			if path := r.path("demo"); !strings.Contains(strings.Join(path, " "), "ready degraded reconnecting") {
				t.Errorf("states %q", path)
			}
		})
	}
}

// A session that the server has forgotten is begun anew without a loss that
// anybody has to wait for.
func TestAnExpiredHTTPSessionIsBegunAnew(t *testing.T) {
	t.Parallel()
	s := &site{t: t}
	s.start()
	defer s.end()
	tr, err := streamhttp.New(streamhttp.Config{URL: s.url})
	if err != nil {
		t.Fatal(err)
	}
	r := live(t, nil, Binding{Name: "demo", Server: client.Definition{Transport: tr, Revision: protocol.Revision20250618}})
	r.must(r.m.Wait(t.Context(), "demo"))
	s.kill() // with it every session
	s.start()
	until(t, "the binding serves again", func() bool {
		if r.status("demo").State != integration.StateReady {
			return false
		}
		_, err := r.m.Read(t.Context(), "demo", "demo://readme")
		return err == nil
	})
}

// A server that is down at the start joins by itself; until then the status
// says when the next try is due.
func TestAServerThatComesUpLaterJoins(t *testing.T) {
	t.Parallel()
	s := &site{t: t}
	s.start()
	s.kill()
	tr, err := streamhttp.New(streamhttp.Config{URL: s.url})
	if err != nil {
		t.Fatal(err)
	}
	r := live(t, nil, Binding{Name: "demo", Server: client.Definition{Transport: tr}})
	if err := r.m.Wait(t.Context(), "demo"); err == nil {
		t.Error("it serves though it is down")
	}
	until(t, "the next try is announced", func() bool {
		st := r.status("demo")
		return st.State == integration.StateFailed && st.NextTry != nil
	})
	s.start()
	defer s.end()
	until(t, "it joins", func() bool { return r.status("demo").State == integration.StateReady })
}
