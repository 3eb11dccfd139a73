//go:build integration

package streamhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// TestSessionExpiry (hazard 13): a 404 for a request with a session ends the
// connection, even where its body reads like an answer; so does a 400 that says
// the session is unknown, and a 404 to a notification.
func TestSessionExpiry(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]func(a *asked){
		"404":              func(a *asked) { a.w.WriteHeader(404) },
		"404 and an error": func(a *asked) { a.json(404, `{"jsonrpc":"2.0","id":%d,"error":{"code":-32001,"message":"m"}}`, a.ID) },
		"400 in words":     func(a *asked) { http.Error(a.w, "Bad Request: No valid session ID provided", 400) },
		"400 and an error": func(a *asked) {
			a.json(400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Server not initialized"}}`)
		},
	} {
		for _, method := range []string{"tools/call", "notifications/x"} {
			t.Run(name+" "+method, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, on(method, reply), nil)
				r.handshake()
				if method == "tools/call" {
					r.call(2)
					var lost *wire.LossError
					if f := r.failure(2); !errors.As(f.Err, &lost) || lost.Reason != wire.ReasonSessionExpired {
						t.Errorf("%v", f.Err)
					}
				} else if err := r.write(wire.Outgoing{Frame: []byte(`{"method":"notifications/x"}`), Method: method, Revision: "2025-11-25"}); err != nil {
					t.Fatal(err)
				}
				r.wantLoss(wire.ReasonSessionExpired)
				if r.seen("DELETE  s1") != 0 {
					t.Error("a DELETE for a session that is gone")
				}
			})
		}
	}
	// Without a session neither status means that.
	r := newRig(t, on("tools/call", func(a *asked) { http.Error(a.w, "session not found", int(400+4*(a.ID%2))) }), nil)
	for id := int64(2); id < 4; id++ {
		r.call(id)
		var e *wire.StatusError
		if f := r.failure(id); !errors.As(f.Err, &e) {
			t.Errorf("%v", f.Err)
		}
	}
}

func TestUnusableSessionID(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"a b", strings.Repeat("x", maxSessionID+1), "\xff"} {
		r := newRig(t, on(methodInitialize, func(a *asked) {
			a.w.Header().Set("Mcp-Session-Id", id)
			a.answer()
		}), nil)
		r.request(2, methodInitialize, "2025-11-25")
		var e *wire.NotEndpointError
		if f := r.failure(2); !errors.As(f.Err, &e) {
			t.Errorf("%v", f.Err)
		}
	}
}

// TestStandingStream: what the server sends unasked arrives; the stream is
// opened again behind its last event, after the wait that the server asks for.
func TestStandingStream(t *testing.T) {
	t.Parallel()
	var opened atomic.Int64
	var again atomic.Int64 // nanoseconds between the end and the next opening
	var ended atomic.Int64
	r := newRig(t, func(a *asked) bool {
		if a.r.Method != http.MethodGet {
			return false
		}
		if a.r.Header.Get("Mcp-Protocol-Version") != "2025-11-25" || a.r.Header.Get("Accept") != "text/event-stream" {
			t.Errorf("%v", a.r.Header)
		}
		switch opened.Add(1) {
		case 1:
			a.events("id: e1\nretry: 30\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"one\"}\n\n")
			ended.Store(time.Now().UnixNano())
		case 2:
			again.Store(time.Now().UnixNano() - ended.Load())
			a.w.WriteHeader(http.StatusServiceUnavailable)
		default:
			a.events("data: {\"jsonrpc\":\"2.0\",\"id\":\"s\",\"method\":\"two\"}\n\n")
			a.wait()
		}
		return true
	}, nil)
	r.handshake()
	r.wantData(`{"jsonrpc":"2.0","method":"one"}`)
	r.wantData(`{"jsonrpc":"2.0","id":"s","method":"two"}`)
	if d := time.Duration(again.Load()); d < 30*time.Millisecond {
		t.Errorf("opened again after %s", d)
	}
	if r.seen("GET  s1") != 1 || r.seen("GET  s1 e1") != 2 {
		t.Error(r.log)
	}
	r.alive(2)
	_ = r.conn.Close()
	if r.seen("DELETE  s1") != 1 {
		t.Error("no DELETE")
	}
}

// TestStandingStreamTouchesNoCall (hazards 4 and 12): nothing that a server does
// with the standing stream ends the connection or holds a call up.
func TestStandingStreamTouchesNoCall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		get   func(a *asked, n int64)
		tries bool // it is tried again
	}{
		"405":             {func(a *asked, _ int64) { a.w.WriteHeader(405) }, false},
		"404":             {func(a *asked, _ int64) { a.w.WriteHeader(404) }, false},
		"401":             {func(a *asked, _ int64) { a.w.WriteHeader(401) }, false},
		"HTML":            {func(a *asked, _ int64) { fmt.Fprint(a.w, "<html>") }, false},
		"500":             {func(a *asked, _ int64) { a.w.WriteHeader(500) }, true},
		"no headers":      {func(a *asked, _ int64) { a.wait() }, true},
		"abort":           {func(a *asked, _ int64) { panic(http.ErrAbortHandler) }, true},
		"ends at once":    {func(a *asked, _ int64) { a.events("") }, true},
		"garbage":         {func(a *asked, _ int64) { a.events(strings.Repeat("data: x\n\n", maxGarbage+1)); a.wait() }, false},
		"away":            {func(a *asked, _ int64) { http.Redirect(a.w, a.r, "http://127.0.0.2:1/", http.StatusFound) }, false},
		"open, then 405":  {func(a *asked, n int64) { openThen(a, n, 405) }, false},
		"open, then 404":  {func(a *asked, n int64) { openThen(a, n, 404) }, true},
		"open, then drop": {func(a *asked, n int64) { openThen(a, n, 0) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var gets atomic.Int64
			r := newRig(t, func(a *asked) bool {
				if a.r.Method == http.MethodGet {
					c.get(a, gets.Add(1))
				}
				return a.r.Method == http.MethodGet
			}, func(c *Config, _ *wire.Options) { c.HeaderTimeout = 50 * time.Millisecond })
			r.handshake()
			eventually(t, "the stream is asked for", func() bool { return gets.Load() > 0 })
			for id := int64(2); id < 5; id++ {
				r.alive(id)
			}
			if c.tries {
				eventually(t, "it is asked for again", func() bool { return gets.Load() > 3 })
			}
			for id := int64(6); id < 40; id++ { // long enough for another try
				r.alive(id)
			}
			if n := gets.Load(); !c.tries && n > 2 {
				t.Errorf("asked for %d times", n)
			}
		})
	}
}

// A server asks its questions over the standing stream: no request comes before
// it is open.
func TestRequestsFollowTheStandingStream(t *testing.T) {
	t.Parallel()
	var open atomic.Bool
	r := newRig(t, func(a *asked) bool {
		switch {
		case a.r.Method == http.MethodGet:
			time.Sleep(50 * time.Millisecond) // as a server that is slow to see it
			open.Store(true)
			a.events("")
			a.wait()
			return true
		case a.Meth == "tools/call" && !open.Load():
			t.Error("a call came before the stream was open")
		}
		return false
	}, nil)
	r.handshake()
	r.call(2)
	r.wantAnswer(2)
}

func openThen(a *asked, n int64, status int) {
	switch {
	case n == 1:
		a.events("data:\n\n")
	case status == 0:
		panic(http.ErrAbortHandler)
	default:
		a.w.WriteHeader(status)
	}
}

// TestResume: a response stream that breaks off is resumed behind its last
// event; the request is never sent again.
func TestResume(t *testing.T) {
	t.Parallel()
	var resumed atomic.Int64
	r := newRig(t, func(a *asked) bool {
		switch {
		case a.Meth == "tools/call":
			a.events("id: a1\nretry: 5\ndata:\n\n")
		case a.r.Method == http.MethodGet && a.r.Header.Get("Last-Event-ID") == "a1":
			if resumed.Add(1) == 1 {
				a.w.WriteHeader(http.StatusBadGateway)
				return true
			}
			a.events("id: a2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\n")
		case a.r.Method == http.MethodGet && a.r.Header.Get("Last-Event-ID") == "a2":
			a.events("id: a3\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n\n")
			a.wait()
		default:
			return false
		}
		return true
	}, nil)
	r.handshake()
	r.call(2)
	r.wantData(`{"jsonrpc":"2.0","method":"n"}`)
	r.wantAnswer(2)
	if r.seen("POST tools/call s1") != 1 || r.seen("GET  s1 a1") != 2 || r.seen("GET  s1 a2") != 1 {
		t.Error(r.log)
	}
}

// TestResumeIsBounded: a stream that cannot be resumed fails its request, which
// may have been carried out.
func TestResumeIsBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		revision, events string
		resume           func(a *asked)
		gets             int
		expires          bool
	}{
		"no ids":      {"2025-11-25", "data: {}\n\n", nil, 0, false},
		"2026-07-28":  {"2026-07-28", "id: 1\ndata: {}\n\n", nil, 0, false},
		"2024-11-05":  {"2024-11-05", "id: 1\ndata: {}\n\n", nil, 0, false},
		"no progress": {"2025-11-25", "id: 1\ndata: {}\n\n", func(a *asked) { a.events("") }, maxResumes, false},
		"fails":       {"2025-06-18", "id: 1\ndata: {}\n\n", func(a *asked) { a.w.WriteHeader(503) }, maxResumes, false},
		"405":         {"2025-03-26", "id: 1\ndata: {}\n\n", func(a *asked) { a.w.WriteHeader(405) }, 1, false},
		"404":         {"2025-11-25", "id: 1\ndata: {}\n\n", func(a *asked) { a.w.WriteHeader(404) }, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var gets atomic.Int64
			r := newRig(t, func(a *asked) bool {
				switch {
				case a.Meth == "tools/call":
					a.events(c.events)
				case a.r.Header.Get("Last-Event-ID") != "":
					gets.Add(1)
					c.resume(a)
				default:
					return false
				}
				return true
			}, nil)
			r.handshake()
			r.request(2, "tools/call", c.revision)
			r.wantData("{}")
			var lost *wire.LossError
			if f := r.failure(2); !errors.As(f.Err, &lost) || !f.Sent {
				t.Errorf("%+v", f)
			}
			if int(gets.Load()) != c.gets {
				t.Errorf("resumed %d times, want %d", gets.Load(), c.gets)
			}
			if c.expires {
				r.wantLoss(wire.ReasonSessionExpired)
				return
			}
			r.alive(3)
		})
	}
}

// TestNotificationFailures are remarked and end nothing.
func TestNotificationFailures(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(a *asked) bool {
		switch a.Meth {
		case "notifications/bad":
			http.Error(a.w, "no", 500)
		case "notifications/hung":
			a.wait()
		case "notifications/odd":
			a.answer()
		case "notifications/stream":
			a.events(": x\n\n")
			a.wait()
		default:
			return false
		}
		return true
	}, nil)
	r.handshake()
	for _, method := range []string{"notifications/bad", "notifications/hung", "notifications/odd", "notifications/stream", "notifications/bad"} {
		if err := r.write(wire.Outgoing{Frame: fmt.Appendf(nil, `{"method":%q}`, method), Method: method, Revision: "2025-11-25"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.write(wire.Outgoing{Frame: []byte(`{"id":"s","result":{}}`), Revision: "2025-11-25"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "both failures are remarked", func() bool {
		got := strings.Join(r.conn.Diagnostics().Warnings, "; ")
		return strings.Contains(got, "a notification was not accepted (status 500) (2 times)") &&
			strings.Contains(got, "a notification could not be sent: no response headers in time")
	})
	r.alive(2)
}

// TestServerThatAcceptsNothing: notifications that are never answered end in a
// typed failure instead of a growing pile.
func TestServerThatAcceptsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, on("notifications/x", func(a *asked) { a.wait() }), nil)
	r.conn.timing.aside = 10 * time.Second
	for range maxAside {
		if err := r.write(wire.Outgoing{Frame: []byte(`{"method":"notifications/x"}`), Method: "notifications/x"}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.conn.Write(ctx, wire.Outgoing{Frame: []byte("{}"), Method: "m"}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	ctx, cancel = context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := r.conn.Write(ctx, wire.Outgoing{Frame: []byte("{}"), Method: "m"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a full pile: %v", err)
	}
	eventually(t, "all are out", func() bool { return r.seen("POST notifications/x") == maxAside })
}

// TestClose is bounded whatever hangs, ends what is under way, and says what
// happened.
func TestClose(t *testing.T) {
	t.Parallel()
	var open atomic.Int64
	r := newRig(t, func(a *asked) bool {
		if a.Meth == "tools/call" || a.r.Method != http.MethodPost {
			open.Add(1)
			defer open.Add(-1)
			a.wait()
			return true
		}
		return false
	}, nil)
	r.handshake()
	for id := int64(2); id < 10; id++ {
		r.call(id)
	}
	eventually(t, "all are under way", func() bool { return open.Load() == 9 })
	var wg sync.WaitGroup
	began := time.Now()
	for range 3 {
		wg.Go(func() { _ = r.conn.Close() })
	}
	if _, err := r.read(); !errors.Is(err, ErrClosed) {
		t.Errorf("%v", err)
	}
	wg.Wait()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
	if err := r.write(wire.Outgoing{Frame: []byte("{}"), ID: 11, Method: "m"}); !errors.Is(err, ErrClosed) {
		t.Errorf("%v", err)
	}
	eventually(t, "nothing is under way", func() bool { return open.Load() == 0 })
	if r.seen("DELETE  s1") != 1 {
		t.Error("no DELETE")
	}
	select {
	case <-r.conn.Done():
	default:
		t.Error("not done")
	}
}

func TestReadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(*asked) bool { return false }, nil)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if _, err := r.conn.Read(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	r.alive(2)
	if _, err := r.tr.Dial(ctx, wire.Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// TestTrace sees each frame of both directions, and no header.
func TestTrace(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var trace []string
	r := newRig(t, func(*asked) bool { return false }, func(_ *Config, opt *wire.Options) {
		opt.Trace = func(d wire.Direction, frame []byte) {
			mu.Lock()
			defer mu.Unlock()
			trace = append(trace, fmt.Sprint(d, " ", string(frame)))
		}
	})
	r.alive(2)
	mu.Lock()
	defer mu.Unlock()
	if len(trace) != 2 || trace[0] != `1 {"jsonrpc":"2.0","id":2,"method":"ping"}` || trace[1] != `0 {"jsonrpc":"2.0","id":2,"result":{}}` {
		t.Error(trace)
	}
}

// TestManyAtOnce: requests of one connection do not wait for each other, and
// every answer arrives once.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	const n = 32
	var waiting atomic.Int64
	all := make(chan struct{})
	r := newRig(t, on("tools/call", func(a *asked) {
		if waiting.Add(1) == n {
			close(all)
		}
		select {
		case <-all:
		case <-time.After(patience):
		}
		a.answer()
	}), nil)
	for id := int64(1); id <= n; id++ {
		r.call(id)
	}
	got := map[string]bool{}
	for range n {
		got[string(r.frame().Data)] = true
	}
	if len(got) != n {
		t.Errorf("%d different answers", len(got))
	}
}

// TestNoCanary: the secrets of a configuration are in no origin, error, warning
// or diagnostic, whatever the server does.
func TestNoCanary(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	r := newRig(t, func(a *asked) bool {
		if a.r.URL.RawQuery != "key=canary" || a.r.Header.Get("X-Key") != "canary" {
			t.Errorf("%s %v", a.r.URL, a.r.Header)
		}
		switch a.ID {
		case 2:
			http.Error(a.w, "no", 500)
		case 3:
			http.Redirect(a.w, a.r, "http://canary.invalid/canary", http.StatusTemporaryRedirect)
		case 4:
			http.Redirect(a.w, a.r, "/canary/again?key=canary", http.StatusFound)
		case 5:
			panic(http.ErrAbortHandler)
		default:
			return false
		}
		return true
	}, func(c *Config, _ *wire.Options) {
		c.URL = strings.Replace(strings.TrimSuffix(c.URL, "/mcp"), "http://", "http://canary:canary@", 1) + "/canary?key=canary"
		c.Headers = map[string]string{"X-Key": "canary"}
	})
	fmt.Fprintf(&text, "%s %s ", r.tr.Origin(), r.tr.Kind())
	for id := int64(2); id <= 5; id++ {
		r.call(id)
		for err := error(r.failure(id).Err); err != nil; err = errors.Unwrap(err) {
			fmt.Fprintf(&text, "%v %+v %#v\n", err, err, err)
		}
	}
	_, err := r.read()
	fmt.Fprintf(&text, "%v %#v %+v", err, err, r.conn.Diagnostics())
	if strings.Contains(text.String(), "canary") {
		t.Error(text.String())
	}
}
