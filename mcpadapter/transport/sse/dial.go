package sse

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/httpguard"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// Limits of an opening.
const (
	// maxEndpoint bounds the data of the endpoint event.
	maxEndpoint = httpguard.MaxURLBytes
	// maxForeignEvents bounds the events that may come before the endpoint.
	maxForeignEvents = 64
	eventStream      = "text/event-stream"
)

// Dial opens the stream and waits for the endpoint that it names. Errors:
// *wire.StatusError, *wire.NotEndpointError, *wire.GuardError,
// *wire.LossError, or the context's.
func (t *Transport) Dial(ctx context.Context, opt wire.Options) (wire.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	client, err := httpguard.Open(t.endpoint)
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	unbind := context.AfterFunc(ctx, end)
	c := newConn(t, opt, client, life, end)
	err = c.open()
	if !unbind() {
		err = ctx.Err() // it ended first, and took the stream along
	}
	if err != nil {
		end()
		if c.body != nil {
			_ = c.body.Close()
		}
		client.Close()
		return nil, err
	}
	c.run()
	return c, nil
}

// open opens the stream and reads up to the endpoint event.
func (c *Conn) open() error {
	resp, err := c.client.Do(c.life, httpguard.Request{
		Method: http.MethodGet,
		Header: http.Header{"Accept": {eventStream}, "Cache-Control": {"no-store"}},
	})
	if err != nil {
		return refusal(err)
	}
	if offersNoStream(resp.Status) {
		resp.Body.Discard()
		return &wire.NotEndpointError{Status: resp.Status, MediaType: resp.MediaType, Reason: "the address offers no event stream"}
	}
	if resp.Status != http.StatusOK {
		return statusError(resp)
	}
	if resp.MediaType != eventStream {
		resp.Body.Discard()
		return &wire.NotEndpointError{Status: resp.Status, MediaType: resp.MediaType, Reason: "the answer is no event stream"}
	}
	c.body = resp.Body
	late := time.AfterFunc(c.headerTimeout, func() { _ = resp.Body.Close() })
	c.events = httpguard.NewEvents(resp.Body, c.limit)
	err = c.awaitEndpoint()
	if !late.Stop() {
		return &wire.NotEndpointError{Status: resp.Status, MediaType: resp.MediaType, Reason: "no endpoint event in time"}
	}
	return err
}

// offersNoStream says whether a status means that the address is none of this
// transport: endpoints of the newer one answer so to a request without a session.
func offersNoStream(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed,
		http.StatusNotAcceptable, http.StatusGone, http.StatusUnsupportedMediaType:
		return true
	}
	return false
}

// awaitEndpoint reads events until the one that names the endpoint.
func (c *Conn) awaitEndpoint() error {
	for range maxForeignEvents {
		event, err := c.events.Next()
		if err != nil || event.Torn {
			return &wire.NotEndpointError{Status: http.StatusOK, MediaType: eventStream, Reason: "the stream ended before the endpoint event"}
		}
		if event.Type != "endpoint" {
			continue
		}
		if event.Oversize != nil || len(event.Data) > maxEndpoint {
			return refused("an endpoint longer than " + strconv.Itoa(maxEndpoint) + " bytes")
		}
		c.endpoint, err = c.resolve(string(event.Data))
		return err
	}
	return &wire.NotEndpointError{Status: http.StatusOK, MediaType: eventStream, Reason: "no endpoint event among the first events"}
}

// resolve makes the URL that an endpoint event names, which must be of the
// origin of the stream. The client checks addresses when it connects.
func (c *Conn) resolve(reference string) (*url.URL, error) {
	ref, err := url.Parse(strings.TrimSpace(reference))
	if err != nil || ref.Opaque != "" {
		return nil, refused("an endpoint that is not a URL")
	}
	u := c.client.URL().ResolveReference(ref)
	u.Fragment, u.RawFragment = "", ""
	switch {
	case u.User != nil:
		return nil, refused("an endpoint with credentials in it")
	case !c.client.SameOrigin(u):
		return nil, refused("an endpoint of another origin")
	}
	return u, nil
}

func refused(reason string) *wire.GuardError { return &wire.GuardError{Reason: reason} }

// refusal is the typed error of a request that had no answer.
func refusal(err error) error {
	var guard *wire.GuardError
	var exchange *httpguard.ExchangeError
	switch {
	case errors.As(err, &guard):
		return guard
	case errors.As(err, &exchange) && exchange.Kind == httpguard.Malformed:
		return &wire.NotEndpointError{Reason: exchange.Reason}
	case errors.As(err, &exchange):
		return lost(exchange.Reason, exchange)
	}
	return err // the Authorizer's own
}

func lost(reason string, err error) *wire.LossError {
	return &wire.LossError{Reason: reason, ExitCode: -1, Err: err}
}

// statusError is the error of an answer whose status is no success.
func statusError(resp *httpguard.Response) *wire.StatusError {
	e := &wire.StatusError{
		Status: resp.Status, MediaType: resp.MediaType,
		Challenge: httpguard.Challenge(resp.Header), RetryAfter: retryAfter(resp.Header.Get("Retry-After"), time.Now()),
	}
	if isText(resp.MediaType) {
		e.Body = string(resp.Body.Head(wire.MaxStatusBody))
	} else {
		resp.Body.Discard()
	}
	return e
}

func isText(media string) bool {
	return strings.HasPrefix(media, "text/") || media == "application/json" || strings.HasSuffix(media, "+json")
}

// maxRetryAfter bounds what a server may ask to wait.
const maxRetryAfter = time.Hour

// retryAfter reads the header of that name: seconds or a date.
func retryAfter(value string, now time.Time) time.Duration {
	wait := time.Duration(0)
	if n, err := strconv.ParseUint(value, 10, 31); err == nil {
		wait = time.Duration(n) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), maxRetryAfter)
}
