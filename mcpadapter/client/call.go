package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/harness/schema"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
)

// RequestCapFactor times RequestTimeout is the hard bound of a request whose
// progress keeps renewing its time.
const RequestCapFactor = 10

// Progress is one progress report; Message is raw.
type Progress = protocol.Progress

// Result is a tool's answer as received.
type Result = protocol.Result

// Invocation is one logical tool call.
type Invocation struct {
	// ID joins the call with the questions that arise from it.
	ID   string
	Name string
	// Args is sent byte for byte: one compact JSON object.
	Args     json.RawMessage
	Progress func(Progress)
}

// Reply is what came of an Invocation, also when it failed.
type Reply struct {
	Result *Result
	// Attempts counts the sends, Sent says that there was one.
	Attempts int
	Sent     bool
	// Waited is the time spent on the server, questions excluded.
	Waited time.Duration
}

// Fresh waits, at most FreshWait, while the tool listing is known to be stale.
// It fails with ErrStale, or an *Error when calls are not served at all.
func (c *Client) Fresh(ctx context.Context) error {
	conn, err := c.serving("tools/call")
	if err != nil {
		return err
	}
	return conn.fresh(ctx)
}

// serving returns the connection that requests go to.
func (c *Client) serving(op string) (*connection, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.refusing:
		return nil, closedError(op)
	case c.conn == nil && serving(c.st.State):
		return nil, &protocol.Error{Class: protocol.ClassClosed, Op: op, Message: "the connection has just ended"}
	case !serving(c.st.State):
		return nil, &protocol.Error{Class: protocol.ClassClosed, Op: op, Message: fmt.Sprintf("the binding is %s", c.st.State)}
	}
	return c.conn, nil
}

// Invoke makes one call. It is never sent again by itself; errors are *Error,
// and Reply.Sent tells whether the server may have seen it.
func (c *Client) Invoke(ctx context.Context, inv Invocation) (Reply, error) {
	var reply Reply
	var attempts atomic.Int32 // a send may be told of while the call is given up
	err := c.do(ctx, "tools/call", inv.ID, &reply.Waited, func(ctx context.Context, sess Session, clk *clock) error {
		req := protocol.CallRequest{
			ID: inv.ID, Name: inv.Name, Args: inv.Args,
			Attempt: func(n int) { attempts.Store(int32(n)) },
		}
		if inv.Progress != nil {
			req.Progress = func(p protocol.Progress) {
				clk.renew()
				inv.Progress(p)
			}
		}
		var err error
		reply.Result, err = sess.CallTool(ctx, req)
		return err
	})
	var pe *protocol.Error
	reply.Attempts = int(attempts.Load())
	if err == nil || errors.As(err, &pe) && pe.Sent {
		reply.Attempts = max(reply.Attempts, 1)
	}
	reply.Sent = reply.Attempts > 0
	return reply, err
}

// do runs one request under the clocks, the slots and the states.
func (c *Client) do(ctx context.Context, op, id string, waited *time.Duration, f func(context.Context, Session, *clock) error) error {
	conn, err := c.enter(op)
	if err != nil {
		return err
	}
	defer c.leave()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(conn.ctx, func() { cancel(context.Cause(conn.ctx)) })
	defer stop()
	clk := conn.clocks.start(id, c.def.RequestTimeout, RequestCapFactor*c.def.RequestTimeout, func() { cancel(errTimeout) })
	defer func() {
		d := clk.stop()
		if waited != nil {
			*waited = d
		}
	}()
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return c.explain(ctx, op, &protocol.Error{Class: protocol.ClassCancelled, Op: op, Message: "ended before it was sent"})
	}
	if err := f(ctx, conn.session(), clk); err != nil {
		switch protocol.ClassOf(err) {
		case protocol.ClassLost:
			// The connection may live although this request is lost; whether the
			// server does as well is asked at once.
			signal(conn.doubt)
		case protocol.ClassAuth:
			c.Notice("auth_required", "warn", "the server asks for authorisation that this binding does not have (%s)", safetext.ToLineN(op, 80))
		default:
		}
		err = c.explain(ctx, op, err)
		var pe *protocol.Error
		if errors.As(err, &pe) && pe.Class == protocol.ClassTimeout && clk.worn() {
			pe.Message = fmt.Sprintf("the server's questions kept it open for %s (setting fixed)", RequestCapFactor*c.def.ElicitTimeout)
		}
		return err
	}
	return nil
}

func (c *Client) enter(op string) (*connection, error) {
	conn, err := c.serving(op)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refusing {
		return nil, closedError(op)
	}
	c.inflight++
	return conn, nil
}

func (c *Client) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inflight--
	c.wake()
}

// explain gives a request that ended with its context the class of why.
func (c *Client) explain(ctx context.Context, op string, err error) error {
	var pe *protocol.Error
	if !errors.As(err, &pe) {
		pe = &protocol.Error{Class: protocol.ClassProtocol, Op: op, Message: "failed", Err: err, Sent: true}
	}
	if ctx.Err() == nil {
		return pe
	}
	switch pe.Class {
	case protocol.ClassCancelled, protocol.ClassTimeout, protocol.ClassClosed, protocol.ClassProtocol:
	default:
		return pe
	}
	out := *pe
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errTimeout):
		out.Class = protocol.ClassTimeout
		out.Message = fmt.Sprintf("no answer within %s (setting requestTimeout)", c.def.RequestTimeout)
	case errors.Is(cause, errLost):
		out.Class, out.Message = protocol.ClassLost, "the connection ended"
	case errors.Is(cause, errClosed):
		out.Class, out.Message = protocol.ClassClosed, "the binding was closed"
	case errors.Is(cause, context.DeadlineExceeded):
		out.Class, out.Message = protocol.ClassTimeout, "the caller's time ran out"
	default:
		out.Class, out.Message = protocol.ClassCancelled, "cancelled"
	}
	return &out
}

// ListTools lists the tools of the newest generation that are not withheld.
func (c *Client) ListTools(context.Context) ([]ToolDescriptor, error) {
	g := c.Generation()
	if g == nil {
		return nil, &protocol.Error{Class: protocol.ClassClosed, Op: "tools/list", Message: "nothing was discovered yet"}
	}
	var out []ToolDescriptor
	for _, t := range g.Tools {
		if t.Withheld == "" {
			out = append(out, ToolDescriptor{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema})
		}
	}
	return out, nil
}

// CallTool calls a tool for a host that uses a Client alone and returns the raw
// result. The arguments are compacted; duplicate keys are refused.
func (c *Client) CallTool(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	compact, err := schema.Compact(args)
	if err != nil {
		return nil, &protocol.Error{Class: protocol.ClassConfig, Op: "tools/call", Message: "the arguments are not usable: " + err.Error(), Err: err}
	}
	reply, err := c.Invoke(ctx, Invocation{Name: name, Args: compact})
	if err != nil {
		return nil, err
	}
	return reply.Result.Raw, nil
}

// Serving reports whether calls are served now, and the state.
func (c *Client) Serving() (State, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refusing && serving(c.st.State) {
		return integration.StateRetiring, false
	}
	return c.st.State, serving(c.st.State) && c.conn != nil
}
