package protocol

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// TestMain lets more tests run at once than there are processors: they wait for
// bounds to pass more than they compute.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(4*runtime.GOMAXPROCS(0))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	goleak.VerifyTestMain(m)
}

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
