package streamhttp

import (
	"context"
	"fmt"
	"net/http"

	"github.com/looprig/looprig/mcpadapter/internal/httpguard"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// initialized sends notifications/initialized, waits until it is accepted and
// opens the standing stream. A server that does not accept it is remarked; the
// requests that follow show whether it minds.
func (c *Conn) initialized(ctx context.Context, out wire.Outgoing) error {
	own, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	accepted := c.notify(own, out)
	switch {
	case c.isEnding():
		return c.reason()
	case ctx.Err() != nil:
		return ctx.Err()
	case accepted && !modern(out.Revision):
		c.openStanding(out.Revision)
	}
	return nil
}

// notify sends a notification or an answer. Its failure concerns nobody but the
// server, except that it may tell that the session is gone.
func (c *Conn) notify(ctx context.Context, out wire.Outgoing) (accepted bool) {
	what := "an answer"
	if out.Method != "" {
		what = "a notification"
	}
	c.mu.Lock()
	session := c.session
	c.mu.Unlock()
	header, err := postHeader(out, session)
	if err != nil {
		c.remark(what + " could not be sent")
		return false
	}
	resp, err := c.client.Do(ctx, httpguard.Request{
		Method: http.MethodPost, Header: header, Body: out.Frame, HeaderTimeout: c.timing.aside,
	})
	if err != nil {
		if ctx.Err() == nil {
			c.remark(what + " could not be sent: " + err.Error())
		}
		return false
	}
	if resp.Status >= 200 && resp.Status < 300 {
		if resp.MediaType == mediaEvents {
			_ = resp.Body.Close()
		} else {
			resp.Body.Discard()
		}
		return true
	}
	body := resp.Body.Head(wire.MaxStatusBody)
	gone := resp.Status == http.StatusNotFound || resp.Status == http.StatusBadRequest && sessionGone(body)
	if gone && session != "" && !modern(out.Revision) {
		c.expired()
		return false
	}
	c.remark(fmt.Sprintf("%s was not accepted (status %d)", what, resp.Status))
	return false
}
