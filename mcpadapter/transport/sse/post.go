package sse

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/httpguard"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

const (
	// orderWait is how long a post waits for the answer to the one before it.
	// Servers that answer at once see messages in the order in which they were
	// written; one that answers when the work is done holds nobody else up.
	orderWait = 250 * time.Millisecond
	// forgetWait is how long the post of a request that nobody waits for may
	// still take, so that its connection can be used again.
	forgetWait = time.Second
)

// post is one message on its way.
type post struct {
	out    wire.Outgoing
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}
}

// Write hands a frame over; what becomes of a request is told by Read. Errors
// are ErrClosed, the connection's cause, a *wire.LossError when the server
// takes nothing in time, or the context's.
func (c *Conn) Write(ctx context.Context, out wire.Outgoing) error {
	if err := c.over(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	out.Frame = append([]byte(nil), out.Frame...) // the caller's may change
	life, cancel := context.WithCancel(c.life)
	p := &post{out: out, ctx: life, cancel: cancel, done: make(chan struct{})}
	if out.ID > 0 {
		c.mu.Lock()
		c.posts[out.ID] = p
		c.mu.Unlock()
	}
	late := time.NewTimer(c.writeTimeout)
	defer late.Stop()
	var err error
	select {
	case c.queue <- p:
		return nil
	case <-ctx.Done():
		err = ctx.Err()
	case <-late.C:
		c.fail(lost("write timed out", nil))
		err = *c.cause.Load()
	case <-c.lost:
		err = *c.cause.Load()
	case <-c.closeReq:
		err = wire.ErrClosed
	}
	c.drop(p)
	return err
}

// over is the error of a connection that has ended.
func (c *Conn) over() error {
	if c.byCaller.Load() {
		return wire.ErrClosed
	}
	if cause := c.cause.Load(); cause != nil {
		return *cause
	}
	return nil
}

// Forget lets the post of a request go that is still under way.
func (c *Conn) Forget(id int64) {
	c.mu.Lock()
	p := c.posts[id]
	c.mu.Unlock()
	if p == nil {
		return
	}
	stop := time.AfterFunc(forgetWait, p.cancel)
	context.AfterFunc(p.ctx, func() { stop.Stop() })
}

// drop forgets a post that has ended.
func (c *Conn) drop(p *post) {
	c.mu.Lock()
	if c.posts[p.out.ID] == p {
		delete(c.posts, p.out.ID)
	}
	c.mu.Unlock()
	p.cancel()
}

// send starts the posts in order.
func (c *Conn) send() {
	slots := make(chan struct{}, MaxPosts)
	for {
		select {
		case p := <-c.queue:
			select {
			case slots <- struct{}{}:
			case <-c.life.Done():
				c.drop(p)
				return
			}
			if c.opt.Trace != nil {
				c.opt.Trace(wire.Outbound, p.out.Frame)
			}
			c.work.Go(func() {
				c.deliver(p)
				<-slots
			})
			c.keepOrder(p)
		case <-c.life.Done():
			return
		}
	}
}

// keepOrder waits for the end of a post, but not for long.
func (c *Conn) keepOrder(p *post) {
	timer := time.NewTimer(orderWait)
	defer timer.Stop()
	select {
	case <-p.done:
	case <-timer.C:
	case <-c.life.Done():
	}
}

// deliver sends one post and tells what became of it.
func (c *Conn) deliver(p *post) {
	defer c.drop(p)
	defer close(p.done)
	req := httpguard.Request{
		Method: http.MethodPost, URL: c.endpoint, Body: p.out.Frame,
		Header: http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, " + eventStream}},
	}
	if p.out.ID > 0 {
		// Some servers answer the post when the work is done. The caller's own
		// bound ends it, by Forget.
		req.HeaderTimeout = httpguard.NoTimeout
	}
	resp, err := c.client.Do(p.ctx, req)
	if err != nil {
		c.undelivered(p, err)
		return
	}
	if resp.Status >= http.StatusOK && resp.Status < http.StatusMultipleChoices {
		resp.Body.Discard()
		return
	}
	status := statusError(resp)
	switch {
	case status.Status == http.StatusNotFound || status.Status == http.StatusGone:
		c.fail(lost(wire.ReasonSessionExpired, status))
	case p.out.ID > 0:
		c.push(wire.Frame{Failure: &wire.Failure{ID: p.out.ID, Sent: true, Err: status}})
	default:
		c.warn("the server refused a message with status " + strconv.Itoa(status.Status))
	}
}

// undelivered tells of a post that had no answer.
func (c *Conn) undelivered(p *post, err error) {
	if p.ctx.Err() != nil {
		return // given up, or the connection is over
	}
	sent := true
	var e *httpguard.ExchangeError
	if errors.As(err, &e) {
		sent = e.Sent
	}
	if p.out.ID > 0 {
		c.push(wire.Frame{Failure: &wire.Failure{ID: p.out.ID, Sent: sent, Err: refusal(err)}})
		return
	}
	// Nobody waits for the fate of an answer or a notification, so the loss of
	// one must not pass unnoticed.
	c.fail(lost("a message could not be delivered", err))
}
