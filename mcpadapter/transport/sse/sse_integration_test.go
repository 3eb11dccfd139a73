//go:build integration

package sse

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/fixture"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// patience bounds every step; hasty is what stands for the long timeouts.
const (
	patience = 10 * time.Second
	hasty    = 200 * time.Millisecond
)

type settings = map[string]string

// reach dials a scenario.
func reach(t *testing.T, scenario string, set settings, opt wire.Options) (*fixture.HTTPServer, wire.Conn, error) {
	t.Helper()
	h := fixture.ServeScenario(t, scenario, set, fixture.HTTPOptions{SSE: true})
	tr, err := New(Config{URL: h.URL + "?token=canary-query", Headers: settings{"X-Key": "canary-header"}, HostEnv: []string{}, HeaderTimeout: hasty, FrameTimeout: hasty})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, err := tr.Dial(ctx, opt)
	if err == nil {
		t.Cleanup(func() { _ = conn.Close() })
	} else if strings.Contains(fmt.Sprintf("%v %+v", err, err), "canary") {
		t.Errorf("a canary shows in %+v", err)
	}
	return h, conn, err
}

// connected dials a scenario that can be dialled and shakes hands.
func connected(t *testing.T, scenario string, set settings, opt wire.Options) (*fixture.HTTPServer, *talk) {
	t.Helper()
	h, conn, err := reach(t, scenario, set, opt)
	if err != nil {
		t.Fatal(err)
	}
	c := &talk{Conn: conn, t: t}
	c.answer(c.request("initialize", `{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`))
	return h, c
}

// talk is a connection with the frames of a client.
type talk struct {
	wire.Conn
	t  *testing.T
	id int64
}

func (c *talk) write(out wire.Outgoing) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	if err := c.Write(ctx, out); err != nil {
		c.t.Fatal(err)
	}
}

func (c *talk) request(method, params string) int64 {
	c.t.Helper()
	c.id++
	c.write(wire.Outgoing{
		Frame: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.id, method, params), ID: c.id, Method: method,
	})
	return c.id
}

func (c *talk) call(tool string) int64 {
	c.t.Helper()
	return c.request("tools/call", `{"name":"`+tool+`","arguments":{}}`)
}

func (c *talk) next() (wire.Frame, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return c.Read(ctx)
}

// answer reads until the answer to a request.
func (c *talk) answer(id int64) string {
	c.t.Helper()
	for {
		f, err := c.next()
		if err != nil {
			c.t.Fatalf("reading the answer to %d: %v", id, err)
		}
		if f.Failure != nil {
			c.t.Fatalf("request %d failed: %v", f.Failure.ID, f.Failure.Err)
		}
		if strings.Contains(string(f.Data), fmt.Sprintf(`"id":%d,`, id)) {
			return string(f.Data)
		}
	}
}

// end reads until the connection's error.
func (c *talk) end() error {
	c.t.Helper()
	for {
		if _, err := c.next(); err != nil {
			return err
		}
	}
}

func (c *talk) quick() {
	c.t.Helper()
	if got := c.answer(c.call("quick")); !strings.Contains(got, `"quick"`) {
		c.t.Fatalf("quick gave %s", got)
	}
}

func TestEndpointIsChecked(t *testing.T) {
	t.Parallel()
	for _, endpoint := range []string{
		"http://127.0.0.1:1/message", "https://127.0.0.1/message", "//evil.example/message", "javascript:alert(1)", "mailto:a@b",
		"file:///etc/passwd", "http://user:secret@{host}/message", "http://[::1", "/" + strings.Repeat("x", maxEndpoint),
	} {
		t.Run(endpoint[:min(30, len(endpoint))], func(t *testing.T) {
			t.Parallel()
			_, _, err := reach(t, "contract", settings{"endpoint": endpoint}, wire.Options{})
			var guard *wire.GuardError
			if !errors.As(err, &guard) {
				t.Errorf("dial = %v", err)
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		began := time.Now()
		_, _, err := reach(t, "contract", settings{"endpoint": "-"}, wire.Options{})
		if !isNoEndpoint(err) || time.Since(began) > patience/2 {
			t.Errorf("dial = %v after %s", err, time.Since(began))
		}
	})
}

func TestDialFailuresAreTyped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, scenario string
		set            settings
		check          func(error) bool
	}{
		{"hang", "http-hang", nil, isLost},
		{"challenge", "http-status", settings{"status": "401", "challenge": "Bearer", "body": "who are you?"}, func(err error) bool {
			var e *wire.StatusError
			return errors.As(err, &e) && e.FailureClass() == "auth" && e.Challenge == "Bearer" && e.Body == "who are you?"
		}},
		{"busy", "http-status", settings{"status": "503", "after": "7"}, func(err error) bool {
			var e *wire.StatusError
			return errors.As(err, &e) && e.Status == 503 && e.RetryAfter == 7*time.Second
		}},
		{"no stream here", "http-status", settings{"status": "405"}, isNoEndpoint},
		{"not without a session", "http-status", settings{"status": "400"}, isNoEndpoint},
		{"page", "http-body", settings{"kind": "html"}, isNoEndpoint},
		{"empty", "http-body", settings{"kind": "empty"}, isNoEndpoint},
		{"ends", "http-body", settings{"kind": "torn"}, isNoEndpoint},
		{"breaks", "http-body", settings{"kind": "torn-abort"}, isNoEndpoint},
		{"huge event", "http-body", settings{"kind": "event", "bytes": "70000000"}, isNoEndpoint},
		{"huge header", "http-body", settings{"kind": "header", "bytes": "1000000"}, isNoEndpoint},
		{"elsewhere", "http-redirect", settings{"to": "http://127.0.0.1:1/sse"}, func(err error) bool {
			var e *wire.GuardError
			return errors.As(err, &e)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			set := settings{"where": "get"}
			for k, v := range c.set {
				set[k] = v
			}
			began := time.Now()
			if _, _, err := reach(t, c.scenario, set, wire.Options{FrameBytes: 1 << 20}); !c.check(err) || time.Since(began) > patience {
				t.Errorf("dial = %#v after %s", err, time.Since(began))
			}
		})
	}
}

func isLost(err error) bool {
	var e *wire.LossError
	return errors.As(err, &e)
}

func isNoEndpoint(err error) bool {
	var e *wire.NotEndpointError
	return errors.As(err, &e)
}

func TestDialHeedsItsContext(t *testing.T) {
	t.Parallel()
	h := fixture.ServeScenario(t, "http-hang", settings{"where": "get"}, fixture.HTTPOptions{SSE: true})
	tr, err := New(Config{URL: h.URL, HostEnv: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), hasty)
	defer cancel()
	if _, err := tr.Dial(ctx, wire.Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("dial = %v", err)
	}
}

func TestPostFailures(t *testing.T) {
	t.Parallel()
	t.Run("status", func(t *testing.T) {
		t.Parallel()
		_, c := connected(t, "http-status", settings{"status": "503", "after": "2"}, wire.Options{})
		id := c.call("call")
		f, err := c.next()
		var status *wire.StatusError
		if err != nil || f.Failure == nil || f.Failure.ID != id || !f.Failure.Sent || !errors.As(f.Failure.Err, &status) || status.RetryAfter != 2*time.Second {
			t.Fatalf("the call came to %+v, %v", f.Failure, err)
		}
		c.quick()
	})
	t.Run("session gone", func(t *testing.T) {
		t.Parallel()
		_, c := connected(t, "http-status", settings{"status": "404"}, wire.Options{})
		c.call("call")
		var lost *wire.LossError
		if err := c.end(); !errors.As(err, &lost) || lost.Reason != wire.ReasonSessionExpired {
			t.Errorf("the connection ended with %v", err)
		}
	})
	t.Run("unanswered", func(t *testing.T) {
		t.Parallel()
		_, c := connected(t, "http-hang", nil, wire.Options{})
		id := c.call("call")
		c.quick() // nobody waits for the post that hangs
		c.Forget(id)
		c.quick()
	})
	t.Run("redirect", func(t *testing.T) {
		t.Parallel()
		var visits atomic.Int32
		other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visits.Add(1) }))
		t.Cleanup(other.Close)
		_, c := connected(t, "http-redirect", settings{"to": other.URL}, wire.Options{})
		c.call("call")
		f, err := c.next()
		var guard *wire.GuardError
		if err != nil || f.Failure == nil || !errors.As(f.Failure.Err, &guard) || visits.Load() != 0 {
			t.Errorf("the call came to %+v, %v, with %d visits elsewhere", f.Failure, err, visits.Load())
		}
	})
	t.Run("refused notification", func(t *testing.T) {
		t.Parallel()
		_, c := connected(t, "http-status", settings{"status": "400", "where": "initialized"}, wire.Options{})
		c.write(wire.Outgoing{Frame: []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`), Method: "notifications/initialized"})
		c.quick()
		if w := c.Diagnostics().Warnings; len(w) != 1 || !strings.Contains(w[0], "400") {
			t.Errorf("warnings %q", w)
		}
	})
	t.Run("undelivered notification", func(t *testing.T) {
		t.Parallel()
		_, c := connected(t, "http-hang", settings{"where": "initialized"}, wire.Options{})
		c.write(wire.Outgoing{Frame: []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`), Method: "notifications/initialized"})
		if err := c.end(); !isLost(err) {
			t.Errorf("the connection ended with %v", err)
		}
	})
}

func TestStreamEnds(t *testing.T) {
	t.Parallel()
	for _, abort := range []string{"false", "true"} {
		t.Run("abort="+abort, func(t *testing.T) {
			t.Parallel()
			h, c := connected(t, "http-cut", settings{"abort": abort}, wire.Options{})
			c.call("streams")
			if err := c.end(); !isLost(err) {
				t.Errorf("the connection ended with %v", err)
			}
			select {
			case <-c.Done():
			case <-time.After(patience):
				t.Error("it is not done")
			}
			if n := len(h.Log().Requests(http.MethodGet)); n != 1 {
				t.Errorf("the stream was opened %d times", n)
			}
		})
	}
}

func TestNoiseIsBounded(t *testing.T) {
	t.Parallel()
	var heard atomic.Int32
	_, conn, err := reach(t, "noise", settings{"count": "20"}, wire.Options{NoiseLines: 5, Noise: func([]byte) { heard.Add(1) }})
	if err != nil {
		t.Fatal(err)
	}
	c := &talk{Conn: conn, t: t}
	c.request("initialize", `{"protocolVersion":"2024-11-05","capabilities":{}}`)
	var noise *wire.NoiseError
	if err := c.end(); !errors.As(err, &noise) || noise.Limit != 5 {
		t.Errorf("the connection ended with %v", err)
	}
	if heard.Load() != 6 {
		t.Errorf("%d lines were heard", heard.Load())
	}
}

// A frame that trickles in is given up after the time for one frame.
func TestSlowFrameIsGivenUp(t *testing.T) {
	t.Parallel()
	h := fixture.ServeScenario(t, "contract", settings{"byte-ms": "20"}, fixture.HTTPOptions{SSE: true})
	tr, err := New(Config{URL: h.URL, HostEnv: []string{}, FrameTimeout: hasty})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := tr.Dial(ctx, wire.Options{}); !isLost(err) && !isNoEndpoint(err) {
		t.Errorf("dial = %v", err)
	}
}

// A flood that nobody reads costs no memory, and Close ends it.
func TestUnreadFlood(t *testing.T) {
	t.Parallel()
	_, c := connected(t, "flood", settings{"count": "100000"}, wire.Options{})
	c.call("flood")
	if f, err := c.next(); err != nil || f.Data == nil {
		t.Fatalf("%+v, %v", f, err)
	}
	began := time.Now()
	_ = c.Close()
	if took := time.Since(began); took > patience/2 {
		t.Errorf("Close took %s", took)
	}
}
