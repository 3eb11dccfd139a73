package protocol

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

const okResult = `{"content":[{"type":"text","text":"hi"}]}`

func pinned(rev string) func(*Options) { return func(o *Options) { o.Revision = rev } }

func TestLegacyHandshakeOnTheProbedConnection(t *testing.T) {
	t.Parallel()
	f := connect(t, legacyServer(answering(map[string]string{"tools/call": okResult})))
	info := f.Info()
	if info.Revision != Revision20251125 || info.ServerName != "fake" || info.Instructions != "be kind" {
		t.Fatalf("info: %+v", info)
	}
	if info.ProbeFailed == "" || info.ProbeSilent || f.d.count() != 1 {
		t.Fatalf("probe %q, %d dials; want a reason and one dial", info.ProbeFailed, f.d.count())
	}
	res, err := f.CallTool(short(t), CallRequest{Name: "x", Args: json.RawMessage(`{"n":12345678901234567890}`)})
	if err != nil || string(res.Raw) != okResult || len(res.Content) != 1 {
		t.Fatalf("call: %+v, %v", res, err)
	}
	sent := f.d.log.all()
	if last := sent[len(sent)-1]; !strings.Contains(last, `"arguments":{"n":12345678901234567890}`) || strings.Contains(last, "_meta") {
		t.Fatalf("call as sent: %s", last)
	}
	for _, frame := range sent {
		if strings.Contains(frame, "roots") || strings.Contains(frame, "sampling") || strings.Contains(frame, "elicitation") {
			t.Fatalf("undeclared capability in %s", frame)
		}
	}
}

func TestModernHandshake(t *testing.T) {
	t.Parallel()
	f := connect(t, modernServer(answering(map[string]string{
		"tools/call": `{"resultType":"complete","content":[]}`, "prompts/list": `{"prompts":[]}`,
	})), func(o *Options) {
		o.Handlers.Elicit = func(context.Context, ElicitRequest) (ElicitResult, error) { return ElicitResult{}, nil }
	})
	if info := f.Info(); info.Revision != Revision20260728 || info.ServerVersion != "2" || info.ProbeFailed != "" {
		t.Fatalf("info: %+v", info)
	}
	if _, err := f.CallTool(short(t), CallRequest{Name: "x"}); err != nil {
		t.Fatal(err)
	}
	if err := f.Ping(short(t)); err != nil {
		t.Fatal(err)
	}
	if err := f.SetLogLevel(short(t), "debug"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.CallTool(short(t), CallRequest{Name: "x"}); err != nil {
		t.Fatal(err)
	}
	sent := f.d.log.all()
	last := sent[len(sent)-1]
	for _, want := range []string{
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28"`, `"io.modelcontextprotocol/clientInfo":{"name":"looprig","version":"test"}`,
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}}}`, `"io.modelcontextprotocol/logLevel":"debug"`, `"arguments":{}`,
	} {
		if !strings.Contains(last, want) {
			t.Errorf("%s is not in %s", want, last)
		}
	}
	for _, frame := range sent {
		if strings.Contains(frame, `"ping"`) || strings.Contains(frame, "initialize") {
			t.Errorf("not of this revision: %s", frame)
		}
	}
}

func TestSilentProbeIsFollowedByAFreshConnection(t *testing.T) {
	t.Parallel()
	f := connect(t, func(p *peer) {
		if p.n == 1 {
			for ok := true; ok; {
				_, ok = p.next()
			}
			return
		}
		legacyServer(answering(nil))(p)
	}, func(o *Options) { o.ProbeTimeout = 30 * time.Millisecond })
	if f.d.count() != 2 || f.Info().Revision != Revision20251125 || f.Info().ProbeFailed == "" || !f.Info().ProbeSilent {
		t.Fatalf("%d dials, %+v", f.d.count(), f.Info())
	}
	first := f.d.log.all()[1]
	if !strings.Contains(first, `"initialize"`) || !strings.Contains(first, `"protocolVersion":"2025-11-25"`) {
		t.Fatalf("second frame: %s", first)
	}
}

func TestExitOnProbe(t *testing.T) {
	t.Parallel()
	f := connect(t, func(p *peer) {
		if p.n == 1 {
			p.next()
			p.end(&wire.LossError{Reason: "process exited", ExitCode: 2})
			return
		}
		legacyServer(answering(nil))(p)
	})
	if f.d.count() != 2 || !strings.Contains(f.Info().ProbeFailed, "exit code 2") || !f.Info().ProbeSilent {
		t.Fatalf("%d dials, %+v", f.d.count(), f.Info())
	}
}

func TestBadProbeAnswers(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"garbage":      `{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":null}}`,
		"string id":    `{"jsonrpc":"2.0","id":"1","result":{}}`,
		"duplicate":    `{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}`,
		"unknown type": `{"jsonrpc":"2.0","id":1,"result":{"resultType":"odd","supportedVersions":["2026-07-28"]}}`,
		"null caps":    `{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":[]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := connect(t, func(p *peer) {
				if p.n == 1 {
					p.next()
					p.frame(wire.Frame{Data: []byte(answer)})
					p.next()
					return
				}
				legacyServer(answering(nil))(p)
			})
			if f.d.count() != 2 || f.Info().Revision != Revision20251125 {
				t.Fatalf("%d dials, %+v", f.d.count(), f.Info())
			}
			if all := strings.Join(f.d.log.all(), ""); strings.Count(all, `"initialize"`) != 1 {
				t.Fatalf("initialize went to a connection that had misbehaved: %s", all)
			}
		})
	}
}

func TestRevisionsOfferedByTheServer(t *testing.T) {
	t.Parallel()
	unsupported := func(list string) func(p *peer) {
		return func(p *peer) {
			m, _ := p.await("server/discover")
			p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"no","data":{"supported":%s}}}`, m.ID, list)
			m, ok := p.await("initialize")
			if !ok {
				return
			}
			if !strings.Contains(m.raw, `"protocolVersion":"2025-06-18"`) {
				p.t.Errorf("offered: %s", m.raw)
			}
			p.reply(m, strings.Replace(initResult, "2025-11-25", "2025-06-18", 1))
			answering(nil)(p)
		}
	}
	f := connect(t, unsupported(`["1999-01-01","2025-03-26","2025-06-18"]`))
	if f.Info().Revision != Revision20250618 || f.d.count() != 1 {
		t.Fatalf("%+v after %d dials", f.Info(), f.d.count())
	}
	d := &dialer{t: t, serve: unsupported(`["2031-01-01"]`)}
	_, err := tryConnect(t, d)
	if wantClass(t, err, ClassRemote).Code != CodeUnsupportedRevision || d.count() != 1 {
		t.Fatalf("%v after %d dials", err, d.count())
	}
}

func TestPinnedRevision(t *testing.T) {
	t.Parallel()
	f := connect(t, legacyServer(answering(nil)), pinned(Revision20251125))
	if strings.Contains(strings.Join(f.d.log.all(), ""), "discover") {
		t.Fatal("a pinned revision was probed for")
	}
	d := &dialer{t: t, serve: legacyServer(answering(nil))}
	_, err := tryConnect(t, d, pinned(Revision20250618))
	wantClass(t, err, ClassUnsupported)
	d = &dialer{t: t, serve: legacyServer(answering(nil))}
	_, err = tryConnect(t, d, pinned(Revision20260728))
	if wantClass(t, err, ClassRemote).Code != CodeMethodNotFound || d.count() != 1 {
		t.Fatalf("%v, %d dials", err, d.count())
	}
	_, err = tryConnect(t, &dialer{t: t}, pinned("2020-01-01"))
	wantClass(t, err, ClassConfig)
}

func TestKnownRevisionSkipsTheProbeAndFallsBack(t *testing.T) {
	t.Parallel()
	known := func(o *Options) { o.KnownRevision = Revision20251125 }
	f := connect(t, legacyServer(answering(nil)), known)
	if strings.Contains(strings.Join(f.d.log.all(), ""), "discover") {
		t.Fatal("the known era was probed for")
	}
	moved := connect(t, func(p *peer) {
		m, _ := p.next()
		if m.Method == "initialize" {
			p.fail(m, CodeMethodNotFound, "modern only")
			p.next()
			return
		}
		p.reply(m, discovered)
		answering(nil)(p)
	}, known)
	if moved.Info().Revision != Revision20260728 {
		t.Fatalf("%+v", moved.Info())
	}
}

func TestUnsupportedReply(t *testing.T) {
	t.Parallel()
	d := &dialer{t: t, serve: func(p *peer) {
		m, _ := p.await("initialize")
		p.reply(m, strings.Replace(initResult, "2025-11-25", "2099-01-01", 1))
		p.next()
	}}
	_, err := tryConnect(t, d, func(o *Options) { o.KnownRevision = ""; o.Revision = Revision20251125 })
	if e := wantClass(t, err, ClassUnsupported); e.Detail != "2099-01-01" {
		t.Fatalf("%+v", e)
	}
}

func TestExitBeforeTheReplyIsAnErrorAtOnce(t *testing.T) {
	t.Parallel()
	start := time.Now()
	d := &dialer{t: t, serve: func(p *peer) {
		p.next()
		p.end(&wire.LossError{Reason: "process exited", ExitCode: 1})
	}}
	_, err := tryConnect(t, d)
	e := wantClass(t, err, ClassLost)
	if time.Since(start) > patience/2 || e.Diagnostics == nil || e.Detail != "last words" || !strings.Contains(e.Message, "exit code 1") {
		t.Fatalf("after %v: %+v", time.Since(start), e)
	}
}

func TestConnectEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for _, rev := range []string{RevisionAuto, Revision20251125, Revision20260728} {
		d := &dialer{t: t, serve: func(p *peer) {
			for ok := true; ok; {
				_, ok = p.next()
			}
		}}
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		start := time.Now()
		_, err := Connect(ctx, Options{Dialer: d, Revision: rev, ProbeTimeout: time.Hour})
		cancel()
		if e := wantClass(t, err, ClassTimeout); time.Since(start) > 2*time.Second {
			t.Errorf("%s: %v after %v", rev, e, time.Since(start))
		} else {
			<-e.Cleanup
		}
		d.wg.Wait()
		if strings.Contains(strings.Join(d.log.all(), ""), "cancelled") {
			t.Error("the handshake was cancelled on the wire")
		}
	}
}

type stuckDialer struct{ dialer }

func (*stuckDialer) Dial(ctx context.Context, _ wire.Options) (wire.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

type failingDialer struct {
	dialer
	err error
}

func (d *failingDialer) Dial(context.Context, wire.Options) (wire.Conn, error) { return nil, d.err }

type integrityError struct{}

func (integrityError) Error() string        { return "sha256 differs" }
func (integrityError) FailureClass() string { return string(ClassIntegrity) }

func TestDialErrors(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := Connect(ctx, Options{Dialer: &stuckDialer{}})
	wantClass(t, err, ClassTimeout)
	_, err = Connect(short(t), Options{Dialer: &failingDialer{err: &wire.LaunchError{Command: "nope", Reason: "not found on PATH"}}})
	wantClass(t, err, ClassLaunch)
	_, err = Connect(short(t), Options{Dialer: &failingDialer{err: integrityError{}}})
	wantClass(t, err, ClassIntegrity)
	_, err = Connect(short(t), Options{})
	wantClass(t, err, ClassConfig)
}

func TestPeerThatTakesNoBytes(t *testing.T) {
	t.Parallel()
	start := time.Now()
	d := &dialer{t: t, deaf: 1, serve: func(p *peer) {
		if p.n == 1 {
			<-p.gone
			return
		}
		legacyServer(answering(nil))(p)
	}}
	s, err := tryConnect(t, d, func(o *Options) { o.ProbeTimeout = 20 * time.Millisecond })
	if err != nil || d.count() != 2 || s.Info().Revision != Revision20251125 || time.Since(start) > patience/2 {
		t.Fatalf("%v after %v and %d dials", err, time.Since(start), d.count())
	}
}
