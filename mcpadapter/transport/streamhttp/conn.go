package streamhttp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/httpguard"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// Conn is one connection: a session on the revisions that have them. It
// implements wire.Conn. It owns a goroutine for each request in flight, for each
// notification or answer that is being sent, for the standing stream, and one
// that sees to its end; Close awaits them all.
type Conn struct {
	transport *Transport
	client    *httpguard.Client
	opt       wire.Options
	limit     int
	timing    timing

	ctx    context.Context // ends with the connection
	cancel context.CancelFunc
	in     chan wire.Frame
	aside  chan struct{} // one token per notification or answer being sent
	ending chan struct{} // closed when the connection begins to end
	done   chan struct{}

	mu       sync.Mutex
	closing  bool  // under mu, with the closing of ending and additions to work
	byCaller bool  // Close was called
	cause    error // why the connection failed, nil if it did not
	work     sync.WaitGroup
	flights  map[int64]context.CancelFunc
	session  string
	revision string // of the last accepted notifications/initialized
	standing bool   // the standing stream was started
	remarks  remarks
	garbage  int
	stood    chan struct{} // made with the standing stream; closed when it need not be waited for
}

var _ wire.Conn = (*Conn)(nil)

func newConn(t *Transport, client *httpguard.Client, opt wire.Options) *Conn {
	c := &Conn{
		transport: t, client: client, opt: opt, limit: opt.FrameBytes, timing: t.timing,
		in:    make(chan wire.Frame, inboundFrames),
		aside: make(chan struct{}, maxAside), ending: make(chan struct{}), done: make(chan struct{}),
		flights: map[int64]context.CancelFunc{},
	}
	if c.limit <= 0 {
		c.limit = DefaultFrameBytes
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	go c.supervise()
	return c
}

// Read returns the next frame, of whichever exchange it came. After the
// connection failed it still returns what had arrived, then the failure; after
// Close, ErrClosed.
func (c *Conn) Read(ctx context.Context) (wire.Frame, error) {
	select {
	case <-c.ending:
		if c.closedByCaller() {
			return wire.Frame{}, ErrClosed
		}
	default:
	}
	select {
	case f := <-c.in:
		return c.traced(f), nil
	default:
	}
	select {
	case f := <-c.in:
		return c.traced(f), nil
	case <-ctx.Done():
		return wire.Frame{}, ctx.Err()
	case <-c.ending:
	}
	select {
	case f := <-c.in:
		if !c.closedByCaller() {
			return c.traced(f), nil
		}
	default:
	}
	return wire.Frame{}, c.reason()
}

func (c *Conn) traced(f wire.Frame) wire.Frame {
	if c.opt.Trace != nil && f.Data != nil {
		c.opt.Trace(wire.Inbound, f.Data)
	}
	return f
}

// deliver hands a frame to Read; false says that the connection ended first.
func (c *Conn) deliver(f wire.Frame) bool {
	select {
	case c.in <- f:
		return true
	case <-c.ending:
		return false
	}
}

// spawn runs f on a goroutine that Close awaits; false says that the connection
// is ending and f will not run.
func (c *Conn) spawn(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return false
	}
	c.work.Go(f)
	return true
}

// Write sends one frame. A request is handed to a goroutine, and what becomes of
// it is told by Read. Answers and notifications are handed over as well, at most
// maxAside at once; only notifications/initialized is waited for, because what
// follows relies on it. On 2026-07-28 a notifications/cancelled is not sent:
// there the end of the response stream says it (Forget).
func (c *Conn) Write(ctx context.Context, out wire.Outgoing) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.isEnding() {
		return c.reason()
	}
	if out.Method == methodCancelled && modern(out.Revision) {
		return nil
	}
	if c.opt.Trace != nil {
		c.opt.Trace(wire.Outbound, out.Frame)
	}
	out.Frame = append([]byte(nil), out.Frame...)
	switch {
	case out.ID != 0 && out.Method != "":
		return c.request(out)
	case out.Method == methodInitialized:
		return c.initialized(ctx, out)
	}
	return c.sendAside(ctx, out)
}

// sendAside sends a notification or an answer in the background.
func (c *Conn) sendAside(ctx context.Context, out wire.Outgoing) error {
	timer := time.NewTimer(c.timing.aside)
	defer timer.Stop()
	select {
	case c.aside <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.ending:
		return c.reason()
	case <-timer.C:
		lost := &wire.LossError{Reason: "write timed out", ExitCode: -1}
		c.fail(lost)
		return lost
	}
	if !c.spawn(func() {
		defer func() { <-c.aside }()
		c.notify(c.ctx, out)
	}) {
		return c.reason()
	}
	return nil
}

// Forget ends the exchange of a request: its response is closed, which on
// 2026-07-28 tells the server that the request is cancelled.
func (c *Conn) Forget(id int64) {
	c.mu.Lock()
	cancel := c.flights[id]
	delete(c.flights, id)
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// fail ends the connection from the inside; the first cause counts.
func (c *Conn) fail(cause error) { c.end(cause, false) }

func (c *Conn) end(cause error, byCaller bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byCaller = c.byCaller || byCaller
	if c.closing {
		return
	}
	c.closing, c.cause = true, cause
	close(c.ending)
}

func (c *Conn) isEnding() bool {
	select {
	case <-c.ending:
		return true
	default:
		return false
	}
}

func (c *Conn) closedByCaller() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byCaller
}

// reason is why the connection cannot be used any more.
func (c *Conn) reason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause != nil && !c.byCaller {
		return c.cause
	}
	return ErrClosed
}

// Close ends the connection: what is under way is cancelled, the session is
// ended with a DELETE whose failure does not matter, and every goroutine is
// awaited. It is idempotent; every caller waits.
func (c *Conn) Close() error {
	c.end(nil, true)
	<-c.done
	return nil
}

// supervise sees to the end of the connection.
func (c *Conn) supervise() {
	defer close(c.done)
	<-c.ending
	c.cancel()
	c.goodbye()
	c.work.Wait()
	c.client.Close()
}

// goodbye ends the session, unless it or the server is gone.
func (c *Conn) goodbye() {
	c.mu.Lock()
	session, revision, failed := c.session, c.revision, c.cause != nil
	c.mu.Unlock()
	if session == "" || failed {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.timing.goodbye)
	defer cancel()
	header := streamHeader(revision, session, "")
	header.Del("Accept")
	resp, err := c.client.Do(ctx, httpguard.Request{Method: "DELETE", Header: header})
	if err == nil {
		_ = resp.Body.Close()
	}
}

// Done is closed when the connection has ended and none of its goroutines is
// left. Frames that had arrived before can still be read until Close.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Diagnostics holds what was remarkable about the server; there is no process.
func (c *Conn) Diagnostics() wire.Diagnostics {
	c.mu.Lock()
	defer c.mu.Unlock()
	return wire.Diagnostics{ExitCode: -1, NoiseLines: c.garbage, Warnings: c.remarks.list()}
}

// remark keeps a host-written warning.
func (c *Conn) remark(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remarks.add(text)
}

// remarks are warnings, each with how often it came.
type remarks struct {
	texts  []string
	counts map[string]int
}

func (r *remarks) add(text string) {
	if r.counts == nil {
		r.counts = map[string]int{}
	}
	if r.counts[text] == 0 {
		if len(r.texts) >= maxRemarks {
			return
		}
		r.texts = append(r.texts, text)
	}
	r.counts[text]++
}

func (r *remarks) list() []string {
	var out []string
	for _, text := range r.texts {
		if n := r.counts[text]; n > 1 {
			text = fmt.Sprintf("%s (%d times)", text, n)
		}
		out = append(out, text)
	}
	return out
}

// expired ends the connection because the server no longer knows the session.
func (c *Conn) expired() {
	c.fail(&wire.LossError{Reason: wire.ReasonSessionExpired, ExitCode: -1})
}

// lossOf tells the failure of an exchange as a loss.
func lossOf(e *httpguard.ExchangeError) *wire.LossError {
	return &wire.LossError{Reason: e.Reason, ExitCode: -1, Err: e.Err}
}

// asExchange is the failure of an exchange behind an error, nil if there is
// none.
func asExchange(err error) *httpguard.ExchangeError {
	var e *httpguard.ExchangeError
	if errors.As(err, &e) {
		return e
	}
	return nil
}
