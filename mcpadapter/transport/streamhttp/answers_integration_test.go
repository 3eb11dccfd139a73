//go:build integration

package streamhttp

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// on answers one method and leaves the rest to the rig.
func on(method string, do func(a *asked)) handler {
	return func(a *asked) bool {
		if a.Meth != method {
			return false
		}
		do(a)
		return true
	}
}

func TestAnswersAsJSONAndAsEvents(t *testing.T) {
	t.Parallel()
	// Deeper than a parser follows, it is still the answer to its request.
	deep := `{"jsonrpc":"2.0","id":5,"result":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`
	r := newRig(t, on("tools/call", func(a *asked) {
		switch a.ID {
		case 2:
			a.json(200, "\ufeff \n{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n")
		case 3:
			a.events(": hello\n\nid: 1\ndata:\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":3,\"result\":{}}\n\n")
		case 4:
			a.events("event: other\ndata: {\"a\":1}\n\ndata: not JSON\n\ndata: 7\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}") // torn by the end
		case 5:
			a.json(200, "%s", deep)
		case 6:
			a.events("data: " + strings.Replace(deep, "5", "6", 1) + "\n\n")
		}
	}), nil)
	r.handshake()
	r.call(2)
	r.wantAnswer(2)
	r.call(3)
	r.wantData(`{"jsonrpc":"2.0","method":"n"}`)
	r.wantData("{\"jsonrpc\":\"2.0\",\n\"id\":3,\"result\":{}}")
	r.call(4)
	r.wantAnswer(4)
	r.call(5)
	r.wantData(deep)
	r.call(6)
	r.wantData(strings.Replace(deep, "5", "6", 1))
	if n := r.conn.Diagnostics().NoiseLines; n != 2 {
		t.Errorf("%d events that are not JSON", n)
	}
	for line, want := range map[string]int{"POST initialize": 1, "POST notifications/initialized s1": 1, "POST tools/call s1": 5} {
		if r.seen(line) != want {
			t.Errorf("%s: %d times", line, r.seen(line))
		}
	}
}

// TestNotAnEndpoint (hazard 14): whatever does not speak MCP fails the request
// alone, typed.
func TestNotAnEndpoint(t *testing.T) {
	t.Parallel()
	r := newRig(t, on("tools/call", func(a *asked) {
		switch a.ID {
		case 2:
			a.w.Header().Set("Content-Type", "Text/HTML; charset=utf-8")
			fmt.Fprint(a.w, "<html>welcome</html>")
		case 3:
			a.w.WriteHeader(http.StatusAccepted)
		case 4:
			a.json(200, "")
		case 5:
			a.json(200, "<html>")
		case 6:
			a.json(200, `"text"`)
		case 7:
			a.json(200, `{"jsonrpc":"2.0","id":`)
		case 8:
			a.w.WriteHeader(http.StatusNoContent)
		}
	}), nil)
	r.handshake()
	for id, want := range map[int64]wire.NotEndpointError{
		2: {Status: 200, MediaType: "text/html", Reason: "the answer is neither JSON nor an event stream"}, 3: {Status: 202, Reason: "it accepted a request without answering it"},
		4: {Status: 200, MediaType: "application/json", Reason: "the answer is empty"}, 5: {Status: 200, MediaType: "application/json", Reason: "the answer is not JSON"},
		6: {Status: 200, MediaType: "application/json", Reason: "the answer is not JSON"}, 7: {Status: 200, MediaType: "application/json", Reason: "the answer is not JSON"},
		8: {Status: 204, Reason: "it accepted a request without answering it"},
	} {
		r.call(id)
		f := r.failure(id)
		var e *wire.NotEndpointError
		if !errors.As(f.Err, &e) || *e != want || !f.Sent {
			t.Errorf("%d: %+v, %+v", id, f.Err, f.Sent)
		}
	}
	// A frame for somebody else is delivered, and the request is over.
	other := newRig(t, on("tools/call", func(a *asked) { a.json(200, `{"jsonrpc":"2.0","id":99,"result":{}}`) }), nil)
	other.call(2)
	other.wantData(`{"jsonrpc":"2.0","id":99,"result":{}}`)
	other.failure(2)
	r.alive(20)
}

// TestGarbageStream: an event stream without JSON is given up at a bound.
func TestGarbageStream(t *testing.T) {
	t.Parallel()
	r := newRig(t, on("tools/call", func(a *asked) {
		a.events(strings.Repeat("data: noise\n\n", maxGarbage))
		if a.ID == 3 {
			a.send("data: noise\n\n")
			a.wait()
		}
		a.send(fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{}}\n\n", a.ID))
	}), nil)
	r.call(2)
	r.wantAnswer(2)
	r.call(3)
	var e *wire.NotEndpointError
	if f := r.failure(3); !errors.As(f.Err, &e) {
		t.Errorf("%v", f.Err)
	}
}

func TestStatuses(t *testing.T) {
	t.Parallel()
	r := newRig(t, on("tools/call", func(a *asked) {
		switch a.ID {
		case 2:
			a.json(400, `{"jsonrpc":"2.0","id":2,"error":{"code":-32020,"message":"mismatch"}}`)
		case 3:
			a.json(400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"m","data":{"supported":["2025-11-25"]}}}`)
		case 4:
			a.json(500, `{"jsonrpc":"2.0","id":9,"error":{"code":-1,"message":"m"}}`)
		case 5:
			a.w.Header().Set("WWW-Authenticate", "Bearer x")
			a.json(401, `{"jsonrpc":"2.0","id":5,"error":{"code":-1,"message":"m"}}`)
		case 6:
			a.w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope"`)
			a.w.WriteHeader(403)
		case 7:
			a.w.Header().Set("Retry-After", "3")
			a.w.WriteHeader(503)
			fmt.Fprint(a.w, "come back \x1b[2J later")
		case 8:
			a.w.WriteHeader(429)
		case 9:
			a.w.WriteHeader(304)
		case 10:
			a.json(502, "%s", strings.Repeat("x", maxErrorBody*2))
		}
	}), nil)
	r.request(1, methodInitialize, "2025-11-25")
	r.wantAnswer(1)
	r.call(2)
	r.wantData(`{"jsonrpc":"2.0","id":2,"error":{"code":-32020,"message":"mismatch"}}`)
	r.call(3)
	r.wantData(`{"jsonrpc":"2.0","id":3,"error":{"code":-32022,"message":"m","data":{"supported":["2025-11-25"]}}}`)
	for id, want := range map[int64]wire.StatusError{
		4: {Status: 500, MediaType: "application/json", Body: `{"jsonrpc":"2.0","id":9,"error":{"code":-1,"message":"m"}}`},
		5: {Status: 401, MediaType: "application/json", Body: `{"jsonrpc":"2.0","id":5,"error":{"code":-1,"message":"m"}}`, Challenge: "Bearer x"},
		6: {Status: 403, Challenge: `Bearer error="insufficient_scope"`}, 7: {Status: 503, MediaType: "text/plain", Body: "come back \x1b[2J later", RetryAfter: 3 * time.Second},
		8: {Status: 429}, 9: {Status: 304}, 10: {Status: 502, MediaType: "application/json", Body: strings.Repeat("x", wire.MaxStatusBody)},
	} {
		r.call(id)
		f := r.failure(id)
		var e *wire.StatusError
		if !errors.As(f.Err, &e) || *e != want || !f.Sent {
			t.Errorf("%d: %+v", id, f.Err)
		}
	}
	r.alive(20)
}

// TestModernNotFound: without sessions a 404 with a JSON-RPC error is an answer.
func TestModernNotFound(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(a *asked) bool {
		if a.Meth == "notifications/cancelled" {
			t.Error("a cancellation was sent though closing the stream is one")
		}
		a.json(404, `{"jsonrpc":"2.0","id":%d,"error":{"code":-32601,"message":"m"}}`, a.ID)
		return true
	}, nil)
	r.request(2, "prompts/list", "2026-07-28")
	r.wantData(`{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"m"}}`)
	if err := r.write(wire.Outgoing{Frame: []byte(`{}`), Method: "notifications/cancelled", Revision: "2026-07-28"}); err != nil {
		t.Error(err)
	}
	r.request(3, "prompts/list", "2026-07-28")
	r.wantData(`{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"m"}}`)
}

// TestFrameLimit: a frame at the limit passes, one over it is named with its id
// and skipped, as JSON and in a stream; the stream goes on behind it.
func TestFrameLimit(t *testing.T) {
	t.Parallel()
	const limit = 1000
	body := func(id int64, size int) string {
		head := `{"jsonrpc":"2.0","result":{"x":"`
		tail := fmt.Sprintf(`"},"id":%d}`, id)
		return head + strings.Repeat("x", size-len(head)-len(tail)) + tail
	}
	r := newRig(t, on("tools/call", func(a *asked) {
		switch a.ID {
		case 2:
			a.json(200, "%s", body(2, limit))
		case 3:
			a.json(200, "%s", body(3, limit+1)) // with a length
		case 4:
			a.w.Header().Set("Content-Type", "application/json")
			a.send(body(4, limit+1)) // chunked
		case 5:
			a.events("data: " + body(5, limit) + "\n\n")
		case 6:
			a.events("data: " + body(99, limit+1) + "\n\ndata: " + body(6, limit+1) + "\n\n")
			a.wait()
		}
	}), func(_ *Config, opt *wire.Options) { opt.FrameBytes = limit })
	over := func(id, size int64) {
		t.Helper()
		o := r.frame().Oversize
		if o == nil || string(o.ID) != fmt.Sprint(id) || o.Size != size || o.Limit != limit || o.Method != "" {
			t.Errorf("%d: %+v", id, o)
		}
	}
	r.call(2)
	r.wantData(body(2, limit))
	r.call(3)
	over(3, limit+1)
	r.call(4)
	over(4, limit+1)
	r.call(5)
	r.wantData(body(5, limit))
	r.call(6)
	over(99, limit+1)
	over(6, limit+1)
	r.alive(20)
}

// peakHeap watches the heap while do runs.
func peakHeap(do func()) uint64 {
	runtime.GC()
	var start, now runtime.MemStats
	runtime.ReadMemStats(&start)
	stop, peak := make(chan struct{}), make(chan uint64)
	go func() {
		var top uint64
		for {
			runtime.ReadMemStats(&now)
			top = max(top, now.HeapAlloc)
			select {
			case <-stop:
				peak <- top
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	do()
	close(stop)
	top := <-peak
	return top - min(top, start.HeapAlloc)
}

// TestHugeAnswerIsBounded (hazards 8 and 21): 300 MiB of JSON, with a length,
// without one, as one event and compressed, cost no more than the limit.
//
// It is not parallel: it watches the heap of the whole process.
func TestHugeAnswerIsBounded(t *testing.T) {
	const size, limit, allowed = 300 << 20, 1 << 20, 24 << 20
	chunk := bytes.Repeat([]byte("x"), 1<<20)
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	_, _ = io.WriteString(zip, `{"jsonrpc":"2.0","id":4,"result":{"x":"`)
	for range size / len(chunk) {
		_, _ = zip.Write(chunk)
	}
	_ = zip.Close()
	fill := func(a *asked) {
		for range size / len(chunk) {
			if _, err := a.w.Write(chunk); err != nil {
				return
			}
		}
	}
	r := newRig(t, on("tools/call", func(a *asked) {
		switch a.ID {
		case 2:
			a.w.Header().Set("Content-Length", fmt.Sprint(size))
			a.json(200, `{"jsonrpc":"2.0","id":2,"result":{"x":"`)
			fill(a)
		case 3:
			a.json(200, `{"jsonrpc":"2.0","id":3,"result":{"x":"`)
			fill(a)
		case 4:
			a.w.Header().Set("Content-Encoding", "gzip")
			a.w.Header().Set("Content-Type", "application/json")
			_, _ = a.w.Write(packed.Bytes())
		case 5:
			a.events(`data: {"jsonrpc":"2.0","id":5,"result":{"x":"`)
			fill(a)
		}
	}), func(_ *Config, opt *wire.Options) { opt.FrameBytes = limit })
	r.handshake()
	peak := peakHeap(func() {
		for id := int64(2); id <= 4; id++ {
			r.call(id)
			if o := r.frame().Oversize; o == nil || string(o.ID) != fmt.Sprint(id) || o.Size <= limit {
				t.Errorf("%d: %+v", id, o)
			}
		}
		// The end of this event is looked for, in bounds, and not found.
		r.call(5)
		var end *wire.FrameEndError
		if f := r.failure(5); !errors.As(f.Err, &end) {
			t.Errorf("%v", f.Err)
		}
	})
	if peak > allowed {
		t.Errorf("%d MiB of heap for a limit of %d MiB", peak>>20, limit>>20)
	}
	r.alive(20)
}

// TestManyHugeAnswersAtOnce: each is within its own bounds, and together they
// cost what all frames may hold, not a limit each. Not parallel, as above.
func TestManyHugeAnswersAtOnce(t *testing.T) {
	const calls, size, limit, allowed = 8, 64 << 20, 16 << 20, 64 << 20
	chunk := bytes.Repeat([]byte("x"), 256<<10)
	r := newRig(t, on("tools/call", func(a *asked) {
		if a.ID%2 == 0 {
			a.json(200, `{"jsonrpc":"2.0","id":%d,"result":{"x":"`, a.ID)
		} else {
			a.events(fmt.Sprintf(`data: {"jsonrpc":"2.0","id":%d,"result":{"x":"`, a.ID))
		}
		for range size / len(chunk) {
			if _, err := a.w.Write(chunk); err != nil {
				return
			}
		}
		_, _ = io.WriteString(a.w, "\"}}\n\n")
	}), func(_ *Config, opt *wire.Options) { opt.FrameBytes = limit })
	r.handshake()
	peak := peakHeap(func() {
		for id := int64(2); id < 2+calls; id++ {
			r.call(id)
		}
		for range calls {
			if o := r.frame().Oversize; o == nil || o.Size <= 1<<20 {
				t.Errorf("%+v", o)
			}
		}
	})
	t.Logf("%d MiB of heap", peak>>20)
	if peak > allowed {
		t.Errorf("%d MiB of heap for %d answers of %d MiB, limit %d MiB", peak>>20, calls, size>>20, limit>>20)
	}
	r.alive(20)
}

// TestSlowAnswers: a body or an event that drips is given up after the time of
// one frame; a server that thinks for long before it answers is waited for.
func TestSlowAnswers(t *testing.T) {
	t.Parallel()
	drip := func(a *asked) {
		for a.r.Context().Err() == nil {
			a.send(" ")
			time.Sleep(5 * time.Millisecond)
		}
	}
	r := newRig(t, on("tools/call", func(a *asked) {
		switch a.ID {
		case 2:
			a.json(200, "{")
			drip(a)
		case 3:
			a.events("data: {")
			drip(a)
		case 4:
			time.Sleep(400 * time.Millisecond) // longer than every timeout below
			a.answer()
		case 5:
			a.events(": thinking\n\n")
			time.Sleep(400 * time.Millisecond)
			a.send(`data: {"jsonrpc":"2.0","id":5,"result":{}}` + "\n\n")
		}
	}), func(c *Config, _ *wire.Options) {
		c.FrameTimeout, c.HeaderTimeout = 100*time.Millisecond, 100*time.Millisecond
	})
	r.handshake()
	for id := int64(2); id <= 3; id++ {
		r.call(id)
		f := r.failure(id)
		var lost *wire.LossError
		if !errors.As(f.Err, &lost) || !f.Sent {
			t.Errorf("%d: %v", id, f.Err)
		}
	}
	r.call(4)
	r.wantAnswer(4)
	r.call(5)
	r.wantAnswer(5)
}

// TestHandshakeIsBounded (hazards 4 and 5): headers that never come fail the
// handshake and the opening of a listen stream, and nothing else.
func TestHandshakeIsBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(a *asked) bool {
		if a.Meth == "ping" {
			return false
		}
		a.wait()
		return true
	}, func(c *Config, _ *wire.Options) { c.HeaderTimeout = 50 * time.Millisecond })
	r.request(2, methodDiscover, "2026-07-28")
	r.failure(2)
	r.request(3, methodInitialize, "2025-11-25")
	r.failure(3)
	if err := r.write(wire.Outgoing{Frame: []byte(`{"id":4}`), ID: 4, Method: "subscriptions/listen", Revision: "2026-07-28", Stream: true}); err != nil {
		t.Fatal(err)
	}
	f := r.failure(4)
	var lost *wire.LossError
	if !errors.As(f.Err, &lost) || !errors.Is(f.Err, os.ErrDeadlineExceeded) {
		t.Errorf("%v", f.Err)
	}
	r.alive(5)
}

// TestUnreachableEndsTheConnection, with what is known: nothing was sent.
func TestUnreachableEndsTheConnection(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	r := newRig(t, func(*asked) bool { return false }, func(c *Config, _ *wire.Options) { c.URL = gone.URL })
	r.call(2)
	f := r.failure(2)
	var lost *wire.LossError
	if !errors.As(f.Err, &lost) || f.Sent {
		t.Errorf("%+v", f)
	}
	r.wantLoss("the server refused the connection")
	if err := r.write(wire.Outgoing{Frame: []byte("{}"), ID: 3, Method: "m"}); !errors.As(err, &lost) {
		t.Errorf("a write after the end: %v", err)
	}
}

// TestResetEndsTheConnection: the request may have arrived.
func TestResetEndsTheConnection(t *testing.T) {
	t.Parallel()
	r := newRig(t, on("tools/call", func(a *asked) {
		conn, _, err := a.w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_ = conn.Close()
	}), nil)
	r.handshake()
	r.call(2)
	if f := r.failure(2); !f.Sent {
		t.Errorf("%+v", f)
	}
	r.wantLoss("the server closed the connection")
	if r.seen("DELETE  s1") != 0 {
		t.Error("a DELETE for a server that is gone")
	}
}

// TestBrokenBody: an answer that breaks off in the middle fails its request.
func TestBrokenBody(t *testing.T) {
	t.Parallel()
	r := newRig(t, on("tools/call", func(a *asked) {
		if a.ID == 3 {
			a.events(`data: {"jsonrpc":"2.0","id":3`)
			panic(http.ErrAbortHandler)
		}
		a.w.Header().Set("Content-Length", "100")
		a.json(200, `{"jsonrpc":"2.0","id":2,`)
	}), nil)
	r.handshake()
	for id := int64(2); id <= 3; id++ {
		r.call(id)
		var lost *wire.LossError
		if f := r.failure(id); !errors.As(f.Err, &lost) || !f.Sent {
			t.Errorf("%+v", f)
		}
	}
	r.alive(4)
}

// TestAnsweredStreamIsClosed (hazard 9): a stream that the server keeps open
// behind the answer ends, and so does one whose request is forgotten.
func TestAnsweredStreamIsClosed(t *testing.T) {
	t.Parallel()
	var open atomic.Int64
	r := newRig(t, on("tools/call", func(a *asked) {
		open.Add(1)
		defer open.Add(-1)
		if a.ID == 2 {
			a.events(`data: {"jsonrpc":"2.0","id":2,"result":{}}` + "\n\n")
		} else {
			a.events(": nothing\n\n")
		}
		a.wait()
	}), nil)
	r.call(2)
	r.wantAnswer(2)
	eventually(t, "the answered stream is closed", func() bool { return open.Load() == 0 })
	r.request(3, "tools/call", "2026-07-28")
	eventually(t, "the second stream is open", func() bool { return open.Load() == 1 })
	r.conn.Forget(3)
	r.conn.Forget(99)
	eventually(t, "the forgotten stream is closed", func() bool { return open.Load() == 0 })
	r.alive(4) // and no failure came for the forgotten request
}

// TestListenStream (hazard 31): a listen stream may be silent, and its end is
// told.
func TestListenStream(t *testing.T) {
	t.Parallel()
	r := newRig(t, on("subscriptions/listen", func(a *asked) {
		a.events(`data: {"jsonrpc":"2.0","method":"ack"}` + "\n\n")
		time.Sleep(300 * time.Millisecond)
		a.send(`data: {"jsonrpc":"2.0","method":"changed"}` + "\n\n")
	}), func(c *Config, _ *wire.Options) {
		c.HeaderTimeout, c.FrameTimeout = 100*time.Millisecond, 100*time.Millisecond
	})
	if err := r.write(wire.Outgoing{Frame: []byte(`{"id":2,"method":"subscriptions/listen"}`), ID: 2, Method: "subscriptions/listen", Revision: "2026-07-28", Stream: true}); err != nil {
		t.Fatal(err)
	}
	r.wantData(`{"jsonrpc":"2.0","method":"ack"}`)
	r.wantData(`{"jsonrpc":"2.0","method":"changed"}`)
	r.failure(2)
}

// TestRedirectsAndGuard (hazard 27): a redirect to another origin fails the
// request, typed; nothing arrives there.
func TestRedirectsAndGuard(t *testing.T) {
	t.Parallel()
	var arrived atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { arrived.Add(1) }))
	t.Cleanup(other.Close)
	r := newRig(t, func(a *asked) bool {
		switch {
		case a.r.URL.Path == "/moved":
			a.json(200, `{"jsonrpc":"2.0","id":%d,"result":{}}`, a.ID)
		case a.ID == 2:
			http.Redirect(a.w, a.r, "/moved", http.StatusPermanentRedirect)
		case a.ID == 3:
			http.Redirect(a.w, a.r, other.URL+"/canary", http.StatusTemporaryRedirect)
		case a.ID == 4:
			a.w.Header().Set("Content-Encoding", "br")
			a.answer()
		default:
			return false
		}
		return true
	}, func(c *Config, _ *wire.Options) { c.Headers = map[string]string{"Authorization": "Bearer canary"} })
	r.call(2)
	r.wantAnswer(2)
	for id := int64(3); id <= 4; id++ {
		r.call(id)
		var guard *wire.GuardError
		if f := r.failure(id); !errors.As(f.Err, &guard) || strings.Contains(f.Err.Error(), "canary") {
			t.Errorf("%v", f.Err)
		}
	}
	if arrived.Load() != 0 {
		t.Error("a request reached the other origin")
	}
	r.alive(5)
}
