package transporttest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// Run runs the whole suite against one kit.
func Run(t *testing.T, k Kit) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Kit)
	}{
		{"RoundTrip", roundTrip},
		{"Order", order},
		{"ConcurrentWrites", concurrentWrites},
		{"FrameAtTheLimit", frameLimit},
		{"NotJSON", notJSON},
		{"ServerRequest", serverRequest},
		{"PeerLoss", peerLoss},
		{"Close", closing},
		{"CloseInMidCall", closingInMidCall},
		{"Contexts", contexts},
		{"Forget", forget},
		{"Trace", trace},
		{"Reuse", reuse},
		{"Redaction", redaction},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, k)
		})
	}
}

func roundTrip(t *testing.T, k Kit) {
	c := k.dial(t, k.Start(t), wire.Options{})
	for _, text := range []string{"", "plain", "größe \u2028 \"quoted\" \\ \n\t", strings.Repeat("long ", 50_000)} {
		c.echo(text)
	}
}

// order: what one call makes arrives in order, before its answer.
func order(t *testing.T, k Kit) {
	c := k.dial(t, k.Start(t), wire.Options{})
	id := c.call("many", "{}")
	c.result(id)
	next := 1
	for _, f := range c.aside {
		if e := open(f.Data); e.Method == "notifications/message" {
			if string(e.Params.Data) != fmt.Sprint(next) {
				t.Fatalf("notification %s came when %d was due", e.Params.Data, next)
			}
			next++
		}
	}
	if next != 101 && !k.Aside {
		t.Errorf("%d of 100 notifications came before the answer", next-1)
	}
}

func concurrentWrites(t *testing.T, k Kit) {
	const writers, each = 8, 10
	c := k.dial(t, k.Start(t), wire.Options{})
	want := map[int64]string{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range each {
				text := fmt.Sprintf("%d/%d", w, i)
				out := c.outgoing("tools/call", "echo", `{"name":"echo","arguments":{"text":`+quote(text)+`}}`)
				mu.Lock()
				want[out.ID] = text
				mu.Unlock()
				if err := c.Write(t.Context(), out); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for id, text := range want {
		c.checkEcho(c.result(id), text)
	}
}

// frameLimit: a frame of just the limit is delivered, one of a byte more is
// named with its id and skipped.
func frameLimit(t *testing.T, k Kit) {
	const limit = 64 << 10
	c := k.dial(t, k.Start(t), wire.Options{FrameBytes: limit})
	probe := c.outcome(c.call("echo", `{"text":""}`))
	room := limit - len(probe.Data)
	exact := c.outcome(c.call("echo", `{"text":`+quote(strings.Repeat("x", room))+`}`))
	if len(exact.Data) != limit {
		t.Fatalf("a frame of the limit came to %d bytes, %+v", len(exact.Data), exact.Oversize)
	}
	for _, more := range []int{1, 300 << 10} {
		f := c.outcome(c.call("echo", `{"text":`+quote(strings.Repeat("x", room+more))+`}`))
		if f.Oversize == nil {
			t.Fatalf("a frame of %d bytes over the limit was delivered: %d bytes, %+v", more, len(f.Data), f.Failure)
		}
		if f.Oversize.Limit != limit || f.Oversize.Size < int64(limit+1) {
			t.Errorf("over by %d: %+v", more, f.Oversize)
		}
		c.echo("still there")
	}
}

// notJSON: what is not JSON is never delivered, and costs at most the request
// that it came with.
func notJSON(t *testing.T, k Kit) {
	c := k.dial(t, k.Start(t), wire.Options{})
	f := c.outcome(c.call("noise", "{}"))
	if f.Failure == nil && f.Data == nil {
		t.Errorf("the call came to %+v", f)
	}
	for _, other := range append(c.aside, f) {
		if other.Data != nil && strings.Contains(string(other.Data), "not JSON") {
			t.Errorf("delivered: %.200s", other.Data)
		}
	}
	c.echo("still there")
}

// serverRequest: a request of the server arrives and its answer finds back.
func serverRequest(t *testing.T, k Kit) {
	if k.modern() {
		t.Skip("servers of this revision send no requests")
	}
	c := k.dial(t, k.Start(t), wire.Options{})
	call := c.call("ask", "{}")
	for {
		f, err := c.read()
		if err != nil {
			t.Fatal(err)
		}
		if e := open(f.Data); e.Method == "ping" {
			c.put(wire.Outgoing{Frame: []byte(`{"jsonrpc":"2.0","id":` + string(e.ID) + `,"result":{"pong":1}}`), Revision: k.Revision})
			break
		}
		c.aside = append(c.aside, f)
	}
	if got := string(c.result(call)); !strings.Contains(got, `"answer":{"pong":1}`) {
		t.Errorf("the server got %s", got)
	}
}

// peerLoss: a server that goes away is noticed, and said so with a type.
func peerLoss(t *testing.T, k Kit) {
	s := k.Start(t)
	c := k.dial(t, s, wire.Options{})
	stalled := c.call("stall", "{}")
	c.echo("the call is on its way")
	if s.Kill != nil {
		s.Kill()
	} else {
		c.call("die", "{}")
	}
	lostCall(t, c, stalled)
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	late := c.outgoing("tools/call", "echo", `{"name":"echo","arguments":{}}`)
	if err := c.Write(ctx, late); err != nil {
		if !isLoss(err) {
			t.Errorf("a write after the loss: %v", err)
		}
		return
	}
	lostCall(t, c, late.ID)
}

// lostCall reads until a call, or the connection, is said to be lost.
func lostCall(t *testing.T, c *session, id int64) {
	t.Helper()
	for {
		f, err := c.read()
		switch {
		case err != nil:
			if !isLoss(err) {
				t.Fatalf("the loss came as %v", err)
			}
			select {
			case <-c.Done():
			case <-time.After(wait):
				t.Fatal("the connection is lost but not done")
			}
			if _, again := c.read(); !isLoss(again) {
				t.Errorf("a second read after the loss: %v", again)
			}
			return
		case f.Failure != nil && f.Failure.ID == id:
			if !isLoss(f.Failure.Err) {
				t.Fatalf("the call failed with %v", f.Failure.Err)
			}
			return
		}
	}
}

func closing(t *testing.T, k Kit) {
	c := k.dial(t, k.Start(t), wire.Options{})
	reading := make(chan error, 1)
	go func() {
		for {
			if _, err := c.Read(context.Background()); err != nil {
				reading <- err
				return
			}
		}
	}()
	var all sync.WaitGroup
	for range 3 {
		all.Go(c.closes)
	}
	all.Wait()
	select {
	case err := <-reading:
		if !errors.Is(err, wire.ErrClosed) {
			t.Errorf("the pending read ended with %v", err)
		}
	case <-time.After(wait):
		t.Fatal("the pending read does not end")
	}
	select {
	case <-c.Done():
	default:
		t.Error("closed but not done")
	}
	if _, err := c.Read(t.Context()); !errors.Is(err, wire.ErrClosed) {
		t.Errorf("a read after Close: %v", err)
	}
	if err := c.Write(t.Context(), c.outgoing("ping", "", "{}")); !errors.Is(err, wire.ErrClosed) {
		t.Errorf("a write after Close: %v", err)
	}
	c.Forget(1)
	_ = c.Diagnostics()
}

func closingInMidCall(t *testing.T, k Kit) {
	c := k.dial(t, k.Start(t), wire.Options{})
	for range 5 {
		c.call("stall", "{}")
	}
	c.closes()
}

// contexts: a context ends a wait, and loses nothing.
func contexts(t *testing.T, k Kit) {
	c := k.dial(t, k.Start(t), wire.Options{})
	short, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	for {
		_, err := c.Read(short)
		if err == nil {
			continue // something that the server sends by itself
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("a read with a short context: %v", err)
		}
		break
	}
	gone, end := context.WithCancel(t.Context())
	end()
	if _, err := c.Read(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("a read with a cancelled context: %v", err)
	}
	if err := c.Write(gone, c.outgoing("tools/call", "echo", `{"name":"echo","arguments":{}}`)); !errors.Is(err, context.Canceled) {
		t.Errorf("a write with a cancelled context: %v", err)
	}
	c.echo("still there")
	// A context that ends after Dial has returned is nothing to the connection.
	dialling, over := context.WithCancel(t.Context())
	conn, err := k.Start(t).Transport.Dialer().Dial(dialling, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	over()
	other := &session{Conn: conn, t: t, kit: k}
	t.Cleanup(other.closes)
	if !k.modern() {
		other.result(other.send("initialize", "", `{"protocolVersion":`+quote(k.Revision)+`,"capabilities":{},"clientInfo":{"name":"t","version":"1"}}`))
	}
	other.echo("alive")
}

func forget(t *testing.T, k Kit) {
	c := k.dial(t, k.Start(t), wire.Options{})
	c.Forget(987_654_321)
	c.Forget(0)
	c.Forget(-1)
	id := c.call("stall", "{}")
	c.echo("on its way")
	c.Forget(id)
	c.Forget(id)
	c.echo("still there")
}

func trace(t *testing.T, k Kit) {
	var mu sync.Mutex
	seen := map[wire.Direction][]string{}
	c := k.dial(t, k.Start(t), wire.Options{Trace: func(dir wire.Direction, frame []byte) {
		mu.Lock()
		defer mu.Unlock()
		seen[dir] = append(seen[dir], string(frame))
	}})
	c.echo("traced text")
	mu.Lock()
	defer mu.Unlock()
	for _, dir := range []wire.Direction{wire.Outbound, wire.Inbound} {
		n := strings.Count(strings.Join(seen[dir], "\n"), "traced text")
		if n != 1 {
			t.Errorf("direction %d shows the text %d times in %d frames", dir, n, len(seen[dir]))
		}
	}
}

// reuse: one transport dials as often as wanted, at once as well.
func reuse(t *testing.T, k Kit) {
	s := k.Start(t)
	var all sync.WaitGroup
	for i := range 3 {
		c := k.dial(t, s, wire.Options{})
		all.Go(func() {
			f, err := echoQuietly(c, fmt.Sprint(i))
			if err != nil || f.Data == nil || !strings.Contains(string(f.Data), fmt.Sprintf(`"text":"%d"`, i)) {
				t.Errorf("connection %d: %s, %v", i, f.Data, err)
			}
			c.closes()
		})
	}
	all.Wait()
	k.dial(t, s, wire.Options{}).echo("once more")
}

// echoQuietly is echo for goroutines, which must not end the test.
func echoQuietly(c *session, text string) (wire.Frame, error) {
	out := c.outgoing("tools/call", "echo", `{"name":"echo","arguments":{"text":`+quote(text)+`}}`)
	if err := c.Write(context.Background(), out); err != nil {
		return wire.Frame{}, err
	}
	for {
		f, err := c.read()
		if err != nil || answers(f, out.ID) {
			return f, err
		}
	}
}

// redaction: nothing that is shown holds a secret of the configuration.
func redaction(t *testing.T, k Kit) {
	s := k.Start(t)
	if len(s.Canaries) == 0 {
		t.Fatal("the kit has no canaries")
	}
	var texts []string
	show := func(what string, v any) { texts = append(texts, fmt.Sprintf("%s: %v %+v", what, v, v)) }
	show("origin", s.Transport.Origin())
	show("dialer's origin", s.Transport.Dialer().Origin())
	for _, d := range s.Transport.Declared() {
		if !d.Secret {
			show("declared", d)
		}
	}
	c := k.dial(t, s, wire.Options{})
	c.echo("up")
	stalled := c.call("stall", "{}")
	c.echo("under way")
	if s.Kill != nil {
		s.Kill()
	} else {
		c.call("die", "{}")
	}
	for {
		f, err := c.read()
		if err != nil {
			show("read", err)
			break
		}
		if f.Failure != nil {
			show("failure", f.Failure.Err)
			show("under it", errors.Unwrap(f.Failure.Err))
		}
		if f.Failure != nil && f.Failure.ID == stalled {
			break
		}
	}
	show("write", c.Write(t.Context(), c.outgoing("ping", "", "{}")))
	show("diagnostics", c.Diagnostics())
	c.closes()
	if s.Kill != nil {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		defer cancel()
		conn, err := s.Transport.Dialer().Dial(ctx, wire.Options{})
		show("dial", err)
		if err == nil {
			_ = conn.Close()
		}
	}
	for _, text := range texts {
		for _, canary := range s.Canaries {
			if strings.Contains(text, canary) {
				t.Errorf("%s shows in %s", canary, text)
			}
		}
	}
}
