package protocol

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// over dials scripted peers that count as another kind of transport.
func over(kind string) func(*Options) {
	return func(o *Options) { o.Dialer.(*dialer).kind = kind }
}

// refusing answers every request with a failure until the end.
func refusing(err error) func(p *peer) {
	return func(p *peer) {
		for {
			m, ok := p.next()
			if !ok {
				return
			}
			p.failure(m, err)
		}
	}
}

var page = &wire.NotEndpointError{Status: 200, MediaType: "text/html", Reason: "a web page"}

func TestProbeOverHTTPFallsBackOnce(t *testing.T) {
	t.Parallel()
	status := func(code int) func(p *peer, m message) {
		return func(p *peer, m message) { p.failure(m, &wire.StatusError{Status: code, Body: "no"}) }
	}
	for name, probe := range map[string]func(p *peer, m message){
		"400": status(400), "404": status(404), "405": status(405), "500": status(500),
		"html":           func(p *peer, m message) { p.failure(m, page) },
		"json-rpc error": func(p *peer, m message) { p.fail(m, CodeMethodNotFound, "what?") },
		"error without an id": func(p *peer, _ message) {
			p.send(`{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request"}}`)
		},
		"silence": func(*peer, message) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := connect(t, func(p *peer) {
				if p.n == 1 {
					m, _ := p.next()
					probe(p, m)
					if m, ok := p.next(); ok {
						t.Errorf("more came on the connection that was probed: %s", m.raw)
					}
					return
				}
				legacyServer(answering(nil))(p)
			}, over("http"), func(o *Options) { o.ProbeTimeout = 300 * time.Millisecond })
			if f.d.count() != 2 || f.Info().Revision != Revision20251125 || f.Info().ProbeFailed == "" || f.Info().ProbeSilent != (name == "silence") {
				t.Fatalf("%d dials, %+v", f.d.count(), f.Info())
			}
			if o := f.d.log.last(methodInitialize); o.Revision != Revision20251125 || o.Method != methodInitialize {
				t.Fatalf("%+v", o)
			}
		})
	}
}

func TestProbeOverHTTPEndsAtOnce(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err    error
		class  Class
		detail string
	}{
		"401":      {&wire.StatusError{Status: 401, Challenge: "Bearer", Body: "who?"}, ClassAuth, "who?"},
		"403":      {&wire.StatusError{Status: 403, Challenge: "Bearer"}, ClassAuth, ""},
		"403 bare": {&wire.StatusError{Status: 403}, ClassHTTP, ""},
		"429":      {&wire.StatusError{Status: 429, RetryAfter: time.Second}, ClassHTTP, ""},
		"503":      {&wire.StatusError{Status: 503}, ClassHTTP, ""},
		"network":  {&wire.LossError{Reason: "connection refused", ExitCode: -1}, ClassLost, ""},
		"guard":    {&wire.GuardError{Reason: "a redirect to another origin"}, ClassRefused, ""},
		"wrapped":  {fmt.Errorf("secret path: %w", &wire.GuardError{Reason: "a redirect"}), ClassRefused, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &dialer{t: t, serve: refusing(tc.err)}
			_, err := tryConnect(t, d, over("http"))
			e := wantClass(t, err, tc.class)
			if d.count() != 1 || !e.Sent || strings.Contains(e.Error(), "secret") || tc.detail != "" && e.Detail != tc.detail {
				t.Fatalf("%d dials, %+v", d.count(), e)
			}
		})
	}
}

func TestWhatDoesNotSpeakMCP(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{"page": page, "404": &wire.StatusError{Status: 404, Body: "<html>"}} {
		d := &dialer{t: t, serve: refusing(err)}
		_, err := tryConnect(t, d, over("http"))
		if e := wantClass(t, err, ClassEndpoint); d.count() != 2 || !strings.Contains(e.Message, "MCP") {
			t.Errorf("%s: %d dials, %+v", name, d.count(), e)
		}
	}
	d := &dialer{t: t, serve: refusing(&wire.StatusError{Status: 500})}
	_, err := tryConnect(t, d, over("http"))
	wantClass(t, err, ClassHTTP) // a server that fails is no foreign endpoint
}

func TestRevisionsOfferedOverHTTP(t *testing.T) {
	t.Parallel()
	unsupported := func(list string) func(p *peer) {
		return func(p *peer) {
			m, ok := p.next()
			if p.n == 1 {
				p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"no","data":{"supported":%s}}}`, m.ID, list)
				p.next()
				return
			}
			if ok && !strings.Contains(m.raw, `"protocolVersion":"2025-06-18"`) {
				t.Errorf("offered: %s", m.raw)
			}
			p.reply(m, strings.Replace(initResult, Revision20251125, Revision20250618, 1))
			answering(nil)(p)
		}
	}
	f := connect(t, unsupported(`["2025-06-18"]`), over("http"))
	if f.Info().Revision != Revision20250618 || f.d.count() != 2 {
		t.Fatalf("%+v after %d dials", f.Info(), f.d.count())
	}
	d := &dialer{t: t, serve: unsupported(`["2031-01-01"]`)}
	_, err := tryConnect(t, d, over("http"))
	if wantClass(t, err, ClassRemote).Code != CodeUnsupportedRevision || d.count() != 1 {
		t.Fatalf("%v after %d dials", err, d.count())
	}
	for _, code := range []int{CodeHeaderMismatch, CodeMissingCapability} { // of the new era alone
		d := &dialer{t: t, serve: func(p *peer) {
			m, _ := p.next()
			p.fail(m, code, "no")
			p.next()
		}}
		_, err := tryConnect(t, d, over("http"))
		if wantClass(t, err, ClassRemote).Code != code || d.count() != 1 {
			t.Fatalf("%v after %d dials", err, d.count())
		}
	}
}

func TestSSEIsNotProbed(t *testing.T) {
	t.Parallel()
	f := connect(t, legacyServer(answering(nil)), over("sse"))
	if all := strings.Join(f.d.log.all(), ""); strings.Contains(all, "discover") || strings.Contains(all, Revision20260728) || f.d.count() != 1 {
		t.Fatal(all)
	}
	d := &dialer{t: t, serve: legacyServer(answering(nil))}
	_, err := tryConnect(t, d, over("sse"), pinned(Revision20260728))
	wantClass(t, err, ClassConfig)
	if d.count() != 0 {
		t.Fatal("dialled")
	}
}

func TestFailureEndsOneCall(t *testing.T) {
	t.Parallel()
	f := connect(t, modernServer(func(p *peer) {
		m, _ := p.await("tools/call")
		p.failure(m, &wire.StatusError{Status: 502, Body: "bad gateway", MediaType: "text/plain"})
		m, _ = p.await("tools/call")
		p.frame(wire.Frame{Failure: &wire.Failure{ID: 4711, Err: page}}) // of no request
		p.reply(m, okResult)
	}), over("http"))
	_, err := f.CallTool(short(t), CallRequest{Name: "x"})
	if e := wantClass(t, err, ClassHTTP); !e.Sent || e.Detail != "bad gateway" || e.Message != "the server answered with status 502" {
		t.Fatalf("%+v", e)
	}
	if _, err := f.CallTool(short(t), CallRequest{Name: "x"}); err != nil {
		t.Fatal(err)
	}
}

func TestNamesAreToldToTheTransport(t *testing.T) {
	t.Parallel()
	f := connect(t, modernServer(answering(map[string]string{
		"tools/call": okResult, "prompts/get": `{"messages":[]}`, "resources/read": `{"contents":[]}`, "tools/list": `{"tools":[]}`,
	})), over("http"))
	if _, err := f.CallTool(short(t), CallRequest{Name: "größe"}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.GetPrompt(short(t), "p", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := f.ReadResource(short(t), "mem:a b"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.List(short(t), Tools, ""); err != nil {
		t.Fatal(err)
	}
	for method, name := range map[string]string{"tools/call": "größe", "prompts/get": "p", "resources/read": "mem:a b", "tools/list": "", methodDiscover: ""} {
		if o := f.d.log.last(method); o.Name != name || o.Revision != Revision20260728 || o.ID == 0 || o.Stream {
			t.Errorf("%s: %+v", method, o)
		}
	}
	if _, err := f.Request(short(t), "prompts/get", json.RawMessage(`{"name":"by hand"}`)); err != nil {
		t.Fatal(err)
	}
	if o := f.d.log.last("prompts/get"); o.Name != "by hand" {
		t.Errorf("%+v", o)
	}
	// The answered requests, the handshake's among them, were let go.
	eventually(t, "forgotten", func() bool { return len(f.d.log.forgotten()) >= 5 && slices.Contains(f.d.log.forgotten(), 1) })
}

func TestCancellationPerTransport(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		kind, rev string
		notified  bool
	}{
		{"stdio", Revision20251125, true}, {"http", Revision20251125, true}, {"sse", Revision20241105, true},
		{"stdio", Revision20260728, true}, {"http", Revision20260728, false},
	} {
		t.Run(tc.kind+"/"+tc.rev, func(t *testing.T) {
			t.Parallel()
			called := make(chan message, 1)
			serve := func(p *peer) {
				m, _ := p.await("tools/call")
				called <- m
				answering(map[string]string{"ping": `{}`, "prompts/list": `{"prompts":[]}`})(p)
			}
			wrapped := at(tc.rev, serve)
			if tc.rev == Revision20260728 {
				wrapped = modernServer(serve)
			}
			f := connect(t, wrapped, over(tc.kind), pinned(tc.rev))
			ctx, cancel := context.WithCancel(context.Background())
			failed := make(chan error, 1)
			go func() {
				_, err := f.CallTool(ctx, CallRequest{Name: "x"})
				failed <- err
			}()
			m := <-called
			cancel()
			wantClass(t, <-failed, ClassCancelled)
			count := func() int { return strings.Count(strings.Join(f.d.log.all(), ""), "notifications/cancelled") }
			if tc.notified {
				eventually(t, "cancelled on the wire", func() bool { return count() == 1 })
			}
			for range 3 {
				if err := f.Ping(short(t)); err != nil {
					t.Fatal(err)
				}
			}
			if want := map[bool]int{true: 1, false: 0}[tc.notified]; count() != want {
				t.Fatalf("%d notifications", count())
			}
			var id int64
			if json.Unmarshal(m.ID, &id) != nil || !slices.Contains(f.d.log.forgotten(), id) {
				t.Fatalf("%s is not among %v", m.ID, f.d.log.forgotten())
			}
		})
	}
}

// What the SDK has to say of a cancelled call may come late, so that its absence
// is shown at the place where it would be written.
func TestNoCancellationIsWrittenOverModernHTTP(t *testing.T) {
	t.Parallel()
	for kind, written := range map[string]int{"http": 0, "stdio": 1} {
		called := make(chan struct{})
		f := connect(t, modernServer(func(p *peer) {
			p.await("tools/call")
			close(called)
			answering(nil)(p)
		}), over(kind))
		ctx, cancel := context.WithCancel(context.Background())
		failed := make(chan error, 1)
		go func() {
			_, err := f.CallTool(ctx, CallRequest{Name: "x"})
			failed <- err
		}()
		<-called
		sl := f.table.sole()
		err := f.writeNotification(context.WithValue(short(t), slotKey{}, sl), &jsonrpc.Request{Method: "notifications/cancelled"})
		if n := strings.Count(strings.Join(f.d.log.all(), ""), "notifications/cancelled"); err != nil || n != written {
			t.Errorf("%s: %d written, %v", kind, n, err)
		}
		cancel()
		wantClass(t, <-failed, ClassCancelled)
	}
}

func TestRevisionRefusedInMidSession(t *testing.T) {
	t.Parallel()
	f := connect(t, modernServer(func(p *peer) {
		m, _ := p.await("tools/call")
		p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"no","data":{"supported":["2025-11-25"]}}}`, m.ID)
		p.next()
	}), over("http"))
	_, err := f.CallTool(short(t), CallRequest{Name: "x"})
	if e := wantClass(t, err, ClassRemote); e.Code != CodeUnsupportedRevision || !strings.Contains(e.Message, "revision") {
		t.Fatalf("%+v", e)
	}
	<-f.Done()
	wantClass(t, f.Err(), ClassLost)
}

func TestMissingCapabilityIsTyped(t *testing.T) {
	t.Parallel()
	f := connect(t, modernServer(func(p *peer) {
		m, _ := p.await("tools/call")
		p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32021,"message":"no","data":{"requiredCapabilities":{"sampling":{}}}}}`, m.ID)
		p.next()
	}), over("http"))
	_, err := f.CallTool(short(t), CallRequest{Name: "x"})
	if e := wantClass(t, err, ClassRemote); e.Code != CodeMissingCapability || !strings.Contains(e.Message, "capability") || !contains(e.Data, "sampling") {
		t.Fatalf("%+v", e)
	}
	if f.Err() != nil {
		t.Fatal("the session ended")
	}
}
