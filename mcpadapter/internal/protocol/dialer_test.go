package protocol

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

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
