package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/mcpadapter/catalog"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// The bounds of the earlier generations that can be looked up: how many there
// are with the newest, and what all of them take up.
const (
	keptGenerations = 16
	keptBytes       = 8 << 20
)

// Why a client's context ended.
var (
	errTimeout = errors.New("the time for it ran out")
	errLost    = errors.New("the connection ended")
	errClosed  = errors.New("the client is closed")
)

// Client is one server. All methods are safe for concurrent use.
type Client struct {
	def  Definition
	deps Deps

	ctx    context.Context
	cancel context.CancelCauseFunc
	kick   chan struct{} // asks for a new connection at once
	slots  chan struct{}
	done   chan struct{} // closed when the run has ended
	limit  noticeLimit
	subs   subscriptions

	order   sync.Mutex // held while a change is made and told, so that both orders agree
	telling sync.Mutex // held while the server is told of its roots

	mu       sync.Mutex
	started  bool
	refusing bool // retiring or closing: no new calls
	st       Status
	lastErr  error         // of the latest attempt, nil when it succeeded
	attempts int           // finished attempts to connect
	changed  chan struct{} // closed and replaced at each change
	conn     *connection
	gens     []*catalog.Generation
	seen     *protocol.Info // what the server was when it last connected
	probe    bool           // the era is to be found anew
	roots    []string
	inflight int
}

// New checks a definition and returns a Client that is not started. It fails
// with an *Error of class "config".
func New(def Definition, deps Deps) (*Client, error) {
	def = def.WithDefaults()
	if err := def.Check(); err != nil {
		return nil, err
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	if deps.Connect == nil {
		deps.Connect = Connect
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	return &Client{
		def: def, deps: deps, ctx: ctx, cancel: cancel,
		kick: make(chan struct{}, 1), slots: make(chan struct{}, def.Limits.ConcurrentRequests),
		done: make(chan struct{}), changed: make(chan struct{}), roots: def.Roots,
		st: Status{State: integration.StateConfigured, Since: deps.Now()},
	}, nil
}

// Definition is what the client was made of, defaults filled in.
func (c *Client) Definition() Definition { return c.def }

// Start begins to connect, in the background. Only the first call counts.
func (c *Client) Start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.started || c.ctx.Err() != nil {
		return
	}
	c.started = true
	go c.deps.Crash.Guard(c.run)
}

// Reconnect drops the connection, if there is one, and connects at once. Which
// revision the server speaks is found anew.
func (c *Client) Reconnect() {
	c.mu.Lock()
	c.probe = true
	c.mu.Unlock()
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// Retire refuses new calls, waits for those in flight until ctx ends, then
// closes; what is still in flight ends with its outcome unknown.
func (c *Client) Retire(ctx context.Context) error {
	c.mu.Lock()
	c.refusing = true
	busy := c.inflight > 0
	c.mu.Unlock()
	if busy {
		c.setState(integration.StateRetiring, CodeRetiring, "", "waiting for calls in flight", time.Time{})
	}
	for c.Inflight() > 0 && ctx.Err() == nil {
		c.waitChange(ctx, func() bool { return c.inflight == 0 })
	}
	return c.Close()
}

// Close ends the connection and everything that runs within CloseTimeout. It is
// idempotent.
func (c *Client) Close() error {
	c.mu.Lock()
	c.refusing = true
	first := c.ctx.Err() == nil
	c.cancel(errClosed)
	c.wake()
	started := c.started
	c.mu.Unlock()
	if !started {
		if first {
			c.setState(integration.StateClosed, CodeClosed, "", "", time.Time{})
		}
		return nil
	}
	t := time.NewTimer(c.def.CloseTimeout)
	defer t.Stop()
	select {
	case <-c.done:
		return nil
	case <-t.C:
		return &protocol.Error{
			Class: protocol.ClassTimeout, Op: "close",
			Message: fmt.Sprintf("the connection did not end within %s", c.def.CloseTimeout),
		}
	}
}

// Done is closed when the client has ended after Close.
func (c *Client) Done() <-chan struct{} { return c.done }

// Inflight counts the calls that wait for the server.
func (c *Client) Inflight() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inflight
}

// Status is a snapshot; it never blocks on the server.
func (c *Client) Status() Status {
	c.mu.Lock()
	st, conn := c.st, c.conn
	st.Inflight = c.inflight
	if c.seen != nil {
		st.Revision, st.Probe = c.seen.Revision, c.seen.ProbeFailed
		st.Server = catalog.Server{Name: c.seen.ServerName, Version: c.seen.ServerVersion}
	}
	c.mu.Unlock()
	if conn != nil {
		if sess := conn.session(); sess != nil {
			st.Peer = sess.Diagnostics()
		}
		st.Tolerances = conn.toleranceList()
	}
	return st
}

// Generation returns the newest generation, nil before discovery.
func (c *Client) Generation() *catalog.Generation {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.st.Generation
}

// Kept returns an earlier generation (0 = the newest) that is still held.
func (c *Client) Kept(number uint64) *catalog.Generation {
	c.mu.Lock()
	defer c.mu.Unlock()
	if number == 0 {
		return c.st.Generation
	}
	for _, g := range c.gens {
		if g.Number == number {
			return g
		}
	}
	return nil
}

// Wait waits until the client serves calls. It fails when ctx ends, and with the
// last failure once nothing will follow it.
func (c *Client) Wait(ctx context.Context) error {
	var err error
	return c.await(ctx, &err, func() bool {
		if c.st.State == integration.StateFailed && c.st.NextTry.IsZero() {
			err = c.lastErr
			return true
		}
		return serving(c.st.State)
	})
}

// Attempts counts the attempts to connect that have ended.
func (c *Client) Attempts() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.attempts
}

// WaitAttempt waits until more than after attempts to connect have ended and
// returns the latest one's failure, nil when it succeeded.
func (c *Client) WaitAttempt(ctx context.Context, after int) error {
	var err error
	return c.await(ctx, &err, func() bool {
		err = c.lastErr
		return c.attempts > after
	})
}

// await waits for cond, which sets *err, or for the client's end or ctx's.
func (c *Client) await(ctx context.Context, err *error, cond func() bool) error {
	settled := func() bool {
		if c.ctx.Err() != nil {
			*err = closedError("connect")
			return true
		}
		return cond()
	}
	if !c.waitChange(ctx, settled) {
		return &protocol.Error{Class: protocol.ClassTimeout, Op: "connect", Message: "not ready in time", Err: context.Cause(ctx)}
	}
	return *err
}

// waitChange waits until cond holds, which is asked under the lock.
func (c *Client) waitChange(ctx context.Context, cond func() bool) bool {
	for {
		c.mu.Lock()
		ok, ch := cond(), c.changed
		c.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-ch:
		case <-ctx.Done():
			return false
		}
	}
}

// wake tells waiters to look again. The lock is held.
func (c *Client) wake() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// serving reports the states in which calls are served.
func serving(s State) bool { return s == integration.StateReady || s == integration.StateDegraded }

// setState makes and tells a change. Text is host-written.
func (c *Client) setState(state State, code string, class Class, text string, next time.Time) {
	c.setStateIf(func(State) bool { return true }, state, code, class, text, next)
}

// setStateIf is setState where the present state permits it.
func (c *Client) setStateIf(permits func(State) bool, state State, code string, class Class, text string, next time.Time) {
	c.order.Lock()
	defer c.order.Unlock()
	c.mu.Lock()
	if !permits(c.st.State) {
		c.mu.Unlock()
		return
	}
	change := StateChange{
		Previous: c.st.State, State: state, Code: code, Class: class,
		Text: safetext.ToLine(text).String(), Time: c.deps.Now(), NextTry: next,
	}
	if c.st.Generation != nil {
		change.Generation = c.st.Generation.Number
	}
	same := c.st.State == state && c.st.Code == code && c.st.Class == class && c.st.Text == change.Text && next.IsZero()
	c.st.State, c.st.Code, c.st.Class, c.st.Text = state, code, class, change.Text
	c.st.Since, c.st.NextTry = change.Time, next
	c.wake()
	c.mu.Unlock()
	if f := c.deps.Observer.State; f != nil && !same {
		f(change)
	}
}

// setGeneration publishes a generation that differs from the one before.
func (c *Client) setGeneration(g *catalog.Generation) {
	c.order.Lock()
	defer c.order.Unlock()
	c.mu.Lock()
	prev := c.st.Generation
	c.st.Generation = g
	c.gens = append(c.gens, g)
	c.gens = trimmed(c.gens)
	c.wake()
	c.mu.Unlock()
	if f := c.deps.Observer.Candidate; f != nil {
		f(prev, g)
	}
}

// trimmed drops the oldest generations over the bounds, never the newest.
func trimmed(gens []*catalog.Generation) []*catalog.Generation {
	first, size := len(gens)-1, 0
	for first > 0 && len(gens)-first < keptGenerations {
		if size += gens[first-1].Bytes; size > keptBytes {
			break
		}
		first--
	}
	return slices.Delete(gens, 0, first)
}

// setPeer keeps what was last known of a peer that is gone.
func (c *Client) setPeer(d wire.Diagnostics) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.st.Peer = d
}

// Notice passes a remark to the observer, cleaned and held back when there are too
// many of one code.
func (c *Client) Notice(code, level, format string, args ...any) {
	f := c.deps.Observer.Notice
	if f == nil {
		return
	}
	text := safetext.ToLine(fmt.Sprintf(format, args...)).String()
	switch c.limit.allow(code, c.deps.Now()) {
	case noticeShown:
		f(code, level, text)
	case noticeLast:
		f(code, level, text+" (further notices of this kind are held back for a minute)")
	default:
	}
}

func closedError(op string) *protocol.Error {
	return &protocol.Error{Class: protocol.ClassClosed, Op: op, Message: "the binding is closed", Err: errClosed}
}

// ToolDescriptor is one tool of a server, for hosts that use a Client alone.
type ToolDescriptor struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
}
