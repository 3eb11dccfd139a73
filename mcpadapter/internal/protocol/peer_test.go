package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 10 * time.Second

// peer is one scripted connection: raw frames, no SDK.
type peer struct {
	t     testing.TB
	n     int // which dial, from 1
	in    chan wire.Frame
	out   chan []byte
	gone  chan struct{}
	once  sync.Once
	cause error
	log   *wireLog
	deaf  bool // takes no bytes: writes hang
}

// failure tells the client that a request of it got no answer.
func (p *peer) failure(m message, err error) {
	id, _ := strconv.ParseInt(string(m.ID), 10, 64)
	p.frame(wire.Frame{Failure: &wire.Failure{ID: id, Sent: true, Err: err}})
}

// wireLog collects everything that the client wrote.
type wireLog struct {
	mu     sync.Mutex
	frames []string
	outs   []wire.Outgoing
	forgot []int64
}

// last is the newest frame with the method, as the transport was given it.
func (l *wireLog) last(method string) (found wire.Outgoing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, o := range l.outs {
		if o.Method == method {
			found = o
		}
	}
	return found
}

func (l *wireLog) forgotten() []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]int64(nil), l.forgot...)
}

func (l *wireLog) add(o wire.Outgoing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frames = append(l.frames, string(o.Frame))
	l.outs = append(l.outs, o)
}

func (l *wireLog) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.frames...)
}

var _ wire.Conn = (*peer)(nil)

func (p *peer) Read(ctx context.Context) (wire.Frame, error) {
	select {
	case f := <-p.in:
		return f, nil
	default:
	}
	select {
	case f := <-p.in:
		return f, nil
	case <-p.gone:
		return wire.Frame{}, p.cause
	case <-ctx.Done():
		return wire.Frame{}, ctx.Err()
	}
}

func (p *peer) Write(ctx context.Context, o wire.Outgoing) error {
	frame := o.Frame
	if !json.Valid(frame) {
		p.t.Errorf("the client wrote an invalid frame: %s", frame)
	}
	p.log.add(o)
	out := p.out
	if p.deaf {
		out = nil
	}
	select {
	case out <- append([]byte(nil), frame...):
		return nil
	case <-p.gone:
		return p.cause
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *peer) Forget(id int64) {
	p.log.mu.Lock()
	defer p.log.mu.Unlock()
	p.log.forgot = append(p.log.forgot, id)
}

func (p *peer) Close() error          { p.end(wire.ErrClosed); return nil }
func (p *peer) Done() <-chan struct{} { return p.gone }
func (p *peer) Diagnostics() wire.Diagnostics {
	return wire.Diagnostics{StderrTail: []string{"last words"}}
}

func (p *peer) end(err error) {
	p.once.Do(func() {
		p.cause = err
		close(p.gone)
	})
}

// message is a frame of the client, decoded.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
	raw    string
}

// next is the client's next frame; ok is false when the connection ended.
func (p *peer) next() (m message, ok bool) {
	select {
	case f := <-p.out:
		if err := json.Unmarshal(f, &m); err != nil {
			p.t.Errorf("client frame %s: %v", f, err)
		}
		m.raw = string(f)
		return m, true
	case <-p.gone:
		return m, false
	}
}

// await skips frames until one has the method.
func (p *peer) await(method string) (message, bool) {
	for {
		m, ok := p.next()
		if !ok || m.Method == method {
			return m, ok
		}
	}
}

func (p *peer) send(format string, args ...any) {
	raw := format
	if len(args) > 0 {
		raw = fmt.Sprintf(format, args...)
	}
	p.frame(wire.Frame{Data: []byte(raw)})
}

func (p *peer) frame(f wire.Frame) {
	select {
	case p.in <- f:
	case <-p.gone:
	}
}

func (p *peer) reply(m message, result string) {
	p.send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func (p *peer) fail(m message, code int, text string) {
	p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, m.ID, code, text)
}

// dialer hands out scripted peers.
type dialer struct {
	t     testing.TB
	serve func(p *peer)
	kind  string
	deaf  int // the dial, from 1, whose peer takes no bytes
	log   wireLog
	mu    sync.Mutex
	dials int
	wg    sync.WaitGroup
}

func (d *dialer) Origin() string { return "test" }

func (d *dialer) Kind() string {
	if d.kind != "" {
		return d.kind
	}
	return "stdio"
}

func (d *dialer) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dials
}

func (d *dialer) Dial(context.Context, wire.Options) (wire.Conn, error) {
	d.mu.Lock()
	d.dials++
	p := &peer{t: d.t, n: d.dials, in: make(chan wire.Frame), out: make(chan []byte, 64), gone: make(chan struct{}), log: &d.log, deaf: d.dials == d.deaf}
	d.mu.Unlock()
	d.wg.Add(1)
	go func() {
		defer d.wg.Done()
		d.serve(p)
	}()
	return p, nil
}

const (
	toolsCaps  = `{"tools":{"listChanged":true},"prompts":{},"resources":{}}`
	initResult = `{"protocolVersion":"2025-11-25","capabilities":` + toolsCaps + `,"serverInfo":{"name":"fake","version":"1"},"instructions":"be kind"}`
	discovered = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":` + toolsCaps +
		`,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fake","version":"2"}}}`
)

// legacyServer performs initialize, refusing the probe, then serves.
func legacyServer(serve func(p *peer)) func(p *peer) {
	return func(p *peer) {
		for {
			m, ok := p.next()
			switch {
			case !ok:
				return
			case m.Method == "server/discover":
				p.fail(m, CodeMethodNotFound, "what?")
			case m.Method == "initialize":
				p.reply(m, initResult)
			case m.Method == "notifications/initialized":
				serve(p)
				return
			}
		}
	}
}

// modernServer answers discover, then serves. The listen stream is answered by
// an acknowledgement unless listen is set.
func modernServer(serve func(p *peer)) func(p *peer) {
	return func(p *peer) {
		m, ok := p.await("server/discover")
		if !ok {
			return
		}
		p.reply(m, discovered)
		serve(p)
	}
}

// answering replies to each method with a fixed result until the end.
func answering(results map[string]string) func(p *peer) {
	return func(p *peer) {
		for {
			m, ok := p.next()
			if !ok {
				return
			}
			if r, known := results[m.Method]; known {
				p.reply(m, r)
			}
		}
	}
}

type fixture struct {
	*Session
	d *dialer
}

// connect opens a session to a scripted server and closes it with the test.
func connect(t testing.TB, serve func(p *peer), edit ...func(*Options)) fixture {
	t.Helper()
	d := &dialer{t: t, serve: serve}
	s, err := tryConnect(t, d, edit...)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	return fixture{s, d}
}

func tryConnect(t testing.TB, d *dialer, edit ...func(*Options)) (*Session, error) {
	t.Helper()
	opt := Options{Dialer: d, Revision: RevisionAuto, ClientVersion: "test", ProbeTimeout: 5 * time.Second}
	opt.Limits.ListenBackoff = time.Millisecond
	for _, e := range edit {
		e(&opt)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s, err := Connect(ctx, opt)
	if s != nil {
		s.stateWait = time.Millisecond
	}
	t.Cleanup(func() {
		if s != nil {
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}
		if e := (*Error)(nil); asError(err, &e) {
			<-e.Cleanup
		}
		d.wg.Wait()
	})
	return s, err
}

func asError(err error, target **Error) bool {
	return errors.As(err, target)
}

func wantClass(t testing.TB, err error, want Class) *Error {
	t.Helper()
	var e *Error
	if !asError(err, &e) {
		t.Fatalf("got %v (%T), want an *Error of class %s", err, err, want)
	}
	if e.Class != want {
		t.Fatalf("got class %s (%v), want %s", e.Class, e, want)
	}
	return e
}

func short(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// eventually polls a condition.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// counter collects Dropped reports.
type counter struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counter) dropped(code string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[code] += n
}

func (c *counter) get(code string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n[code]
}

func (c *counter) option(o *Options) { o.Handlers.Dropped = c.dropped }
