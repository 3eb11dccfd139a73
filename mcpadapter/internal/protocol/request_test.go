package protocol

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestConcurrentRequestsAreBounded(t *testing.T) {
	t.Parallel()
	var open, most atomic.Int64
	f := connect(t, legacyServer(func(p *peer) {
		var held []message
		released := false
		for {
			m, ok := p.next()
			if !ok {
				return
			}
			switch {
			case m.Method == "ping":
				p.reply(m, `{}`)
			case m.Method == "notifications/release":
				released = true
			case m.Method == "tools/call":
				most.Store(max(most.Load(), open.Add(1)))
				held = append(held, m)
			}
			for released && len(held) > 0 {
				open.Add(-1)
				p.reply(held[0], okResult)
				held = held[1:]
			}
		}
	}), pinned(Revision20251125), func(o *Options) { o.Limits.ConcurrentRequests = 3 })
	errs := make(chan error, 9)
	for range cap(errs) {
		go func() {
			_, err := f.CallTool(short(t), CallRequest{Name: "x"})
			errs <- err
		}()
	}
	eventually(t, "three in flight", func() bool { return open.Load() == 3 })
	for range 5 { // pings are not held up by the calls
		if err := f.Ping(short(t)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Notify(short(t), "notifications/release", nil); err != nil {
		t.Fatal(err)
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	if most.Load() != 3 {
		t.Fatalf("%d at once", most.Load())
	}
}

func TestRawRequest(t *testing.T) {
	t.Parallel()
	f := connect(t, legacyServer(answering(map[string]string{"x/y": `{"v":1}`, "completion/complete": `{"completion":{"values":[]}}`})), pinned(Revision20251125))
	for _, method := range []string{"tools/call", "Tools/Call", " tools/call ", "initialize", "server/discover", "subscriptions/listen", "notifications/initialized", ""} {
		_, err := f.Request(short(t), method, nil)
		wantClass(t, err, ClassConfig)
	}
	for _, method := range []string{"tools/list", "notifications/cancelled", "notifications/initialized"} {
		wantClass(t, f.Notify(short(t), method, nil), ClassConfig)
	}
	for _, params := range []string{`[]`, `{`, `{"a":1,"a":1}`, `{} {}`} {
		_, err := f.Request(short(t), "x/y", json.RawMessage(params))
		wantClass(t, err, ClassConfig)
	}
	raw, err := f.Request(short(t), "x/y", json.RawMessage("{\"b\":\n1,\"_meta\":{\"k\":2,\"progressToken\":9},\"a\":9007199254740993}"))
	if err != nil || string(raw) != `{"v":1}` {
		t.Fatalf("%s, %v", raw, err)
	}
	if _, err = f.Request(short(t), "x/y", nil); err != nil {
		t.Fatal(err)
	}
	sent := f.d.log.all()
	if got := sent[len(sent)-2]; !strings.Contains(got, `"params":{"_meta":{"k":2},"b":1,"a":9007199254740993}`) {
		t.Fatal(got)
	}
	if got := sent[len(sent)-1]; strings.Contains(got, "params") {
		t.Fatal(got)
	}
	if err := f.Notify(short(t), "notifications/roots/list_changed", nil); err != nil {
		t.Fatal(err)
	}
}

func TestBadArgumentsAreNotSent(t *testing.T) {
	t.Parallel()
	f := connect(t, legacyServer(answering(nil)), pinned(Revision20251125))
	for _, args := range []string{`[]`, `null`, `{"a":1,"a":2}`, "{\n}", `{}{}`, `{"a":`, "{\"a\":\"\xff\"}"} {
		_, err := f.CallTool(short(t), CallRequest{Name: "x", Args: json.RawMessage(args)})
		if e := wantClass(t, err, ClassConfig); e.Sent {
			t.Fatalf("%s: %+v", args, e)
		}
	}
}

func TestPanicInTheSDKIsATypedFailure(t *testing.T) {
	t.Parallel()
	f := connect(t, legacyServer(answering(map[string]string{"tools/call": okResult})), pinned(Revision20251125))
	send := f.send
	f.send = func(context.Context, string, mcp.Request) (mcp.Result, error) { panic("inside the SDK") }
	_, err := f.CallTool(short(t), CallRequest{Name: "x"})
	if e := wantClass(t, err, ClassPanic); e.Op != "tools/call" || e.Sent {
		t.Fatalf("%+v", e)
	}
	f.send = send
	if _, err := f.CallTool(short(t), CallRequest{Name: "x"}); err != nil {
		t.Fatal(err)
	}
}

// Concurrent calls share their arguments; under the race detector this fails
// when anything is written into them.
func TestConcurrentCallsShareArguments(t *testing.T) {
	t.Parallel()
	f := connect(t, modernServer(answering(map[string]string{"tools/call": okResult})))
	args := json.RawMessage(`{"a":[1,2,3]}`)
	errs := make(chan error, 32)
	for range cap(errs) {
		go func() {
			_, err := f.CallTool(short(t), CallRequest{Name: "x", Args: args, Progress: func(Progress) {}})
			errs <- err
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
}
