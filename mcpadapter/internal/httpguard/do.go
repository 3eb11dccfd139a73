package httpguard

import (
	"bytes"
	"context"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// Request is one request to the client's origin.
type Request struct {
	Method string
	// URL must be of the client's origin; nil is the base.
	URL *url.URL
	// Header wins over the configured headers.
	Header http.Header
	Body   []byte
	// HeaderTimeout bounds the wait for the answer's headers, connecting
	// included: 0 is the client's, NoTimeout leaves it to the context.
	HeaderTimeout time.Duration
}

// NoTimeout, as a Request's HeaderTimeout, leaves the wait to the context: for
// answers that come when the work is done.
const NoTimeout time.Duration = -1

// Response is an answer whose headers have arrived.
type Response struct {
	Status int
	Header http.Header
	// MediaType is that of the Content-Type, lower case, without parameters.
	MediaType string
	// Length is the length that the server announced, -1 when it did not.
	Length int64
	// Body must be closed, which also ends what the server still sends. Its
	// errors are *ExchangeError and *wire.GuardError.
	Body *Body
}

// Do sends a request, follows redirects within the origin and returns when the
// answer's headers are there. The context bounds the body as well. Errors are
// *ExchangeError and *wire.GuardError, or what the Authorizer returned.
func (c *Client) Do(ctx context.Context, req Request) (*Response, error) {
	target := req.URL
	if target == nil {
		target = c.base
	}
	if !c.SameOrigin(target) || target.User != nil {
		return nil, refused("a request to another origin")
	}
	if err := c.precheck(ctx); err != nil {
		return nil, err
	}
	for attempt := 0; ; attempt++ {
		header, used, err := c.header(ctx, req.Header)
		if err != nil {
			return nil, err
		}
		resp, err := c.follow(ctx, req, target, header)
		if err != nil {
			return nil, err
		}
		unauthorized := resp.Status == http.StatusUnauthorized || resp.Status == http.StatusForbidden
		if c.config.Authorizer == nil || !unauthorized || attempt > 0 {
			return resp, nil
		}
		again, err := c.config.Authorizer.Refused(ctx, resp.Status, Challenge(resp.Header), used)
		if err != nil {
			resp.Body.Discard()
			return nil, err
		}
		if !again {
			return resp, nil
		}
		resp.Body.Discard()
	}
}

// maxChallenge bounds the WWW-Authenticate header that is kept.
const maxChallenge = 8 << 10

// Challenge joins the WWW-Authenticate headers of an answer, raw and bounded.
func Challenge(h http.Header) string {
	text := strings.Join(h.Values("WWW-Authenticate"), ", ")
	return text[:min(len(text), maxChallenge)]
}

// header merges the configured headers, the credentials and the request's own.
func (c *Client) header(ctx context.Context, own http.Header) (h http.Header, used string, err error) {
	h = make(http.Header, len(c.config.Header)+len(own)+3)
	if c.basic != "" {
		h.Set("Authorization", c.basic)
	}
	for name, values := range c.config.Header {
		h[http.CanonicalHeaderKey(name)] = values
	}
	if c.config.Authorizer != nil {
		if used, err = c.config.Authorizer.Authorization(ctx); err != nil {
			return nil, "", err
		}
		if used != "" {
			h.Set("Authorization", used)
		}
	}
	for name, values := range own {
		h[name] = values
	}
	h.Set("Accept-Encoding", "identity")
	if h.Get("User-Agent") == "" {
		h.Set("User-Agent", "looprig")
	}
	return h, used, nil
}

// follow sends a request to where the redirects lead.
func (c *Client) follow(ctx context.Context, req Request, target *url.URL, header http.Header) (*Response, error) {
	for hop := 0; ; hop++ {
		resp, err := c.send(ctx, req, target, header)
		if err != nil {
			return nil, err
		}
		switch resp.Status {
		case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
			http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		default:
			return resp, nil
		}
		resp.Body.Discard()
		if target, err = c.redirect(req.Method, target, resp); err != nil {
			return nil, err
		}
		if hop+1 > MaxRedirects {
			return nil, refused("more than 5 redirects")
		}
	}
}

// redirect is where a redirect leads, if it may be followed.
func (c *Client) redirect(method string, from *url.URL, resp *Response) (*url.URL, error) {
	location := resp.Header.Get("Location")
	if location == "" || len(location) > MaxURLBytes {
		return nil, refused("a redirect without a usable target")
	}
	to, err := from.Parse(location)
	switch {
	case err != nil:
		return nil, refused("a redirect without a usable target")
	case !c.SameOrigin(to):
		if from.Scheme == "http" && to.Scheme == "https" && strings.EqualFold(from.Hostname(), to.Hostname()) {
			return nil, refused("a redirect to another origin: the server wants https")
		}
		return nil, refused("a redirect to another origin")
	case to.User != nil:
		return nil, refused("a redirect to a URL with credentials")
	case method != http.MethodGet && resp.Status != http.StatusTemporaryRedirect && resp.Status != http.StatusPermanentRedirect:
		return nil, refused("a redirect that would turn the request into another one")
	}
	to.Fragment, to.RawFragment = "", ""
	to.Host = from.Host
	return to, nil
}

// send is one exchange.
func (c *Client) send(parent context.Context, req Request, target *url.URL, header http.Header) (*Response, error) {
	ctx, cancel := context.WithCancelCause(parent)
	stop := context.AfterFunc(c.ctx, func() { cancel(errClosed) })
	release := func() {
		stop()
		cancel(context.Canceled)
	}
	var connected atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	var body io.Reader
	if req.Body != nil {
		body = bytes.NewReader(req.Body)
	}
	out, err := http.NewRequestWithContext(traced, req.Method, target.String(), body)
	if err != nil {
		release()
		return nil, &ExchangeError{Kind: Malformed, Reason: "the request cannot be built"}
	}
	out.Header = header.Clone()
	wait := req.HeaderTimeout
	if wait == 0 {
		wait = c.config.HeaderTimeout
	}
	var late *time.Timer
	if wait > 0 {
		late = time.AfterFunc(wait, func() { cancel(errHeadersLate) })
	}
	answer, err := c.transport.RoundTrip(out)
	if late != nil && !late.Stop() && err == nil {
		_ = answer.Body.Close()
		err = errHeadersLate
	}
	if err != nil {
		err = failure(ctx, err, connected.Load())
		release()
		return nil, err
	}
	if answer.StatusCode == http.StatusSwitchingProtocols {
		// The connection behind it is nobody's any more: no context ends a read.
		_ = answer.Body.Close()
		release()
		return nil, &ExchangeError{Kind: Malformed, Sent: true, Reason: "the server changed to another protocol unasked"}
	}
	return c.response(ctx, answer, cancel, release)
}

func (c *Client) response(ctx context.Context, answer *http.Response, cancel context.CancelCauseFunc, release func()) (*Response, error) {
	b := &Body{ctx: ctx, raw: answer.Body, release: release}
	b.late = time.AfterFunc(time.Hour, func() { cancel(errFrameLate) })
	b.late.Stop()
	b.timeout = c.config.FrameTimeout
	r := &Response{Status: answer.StatusCode, Header: answer.Header, Length: answer.ContentLength, Body: b}
	if media, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type")); err == nil {
		r.MediaType = media
	} else {
		media, _, _ = strings.Cut(answer.Header.Get("Content-Type"), ";")
		r.MediaType = strings.ToLower(strings.TrimSpace(media))
	}
	switch encoding := strings.ToLower(strings.TrimSpace(answer.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		b.compressed, r.Length = true, -1
	default:
		_ = b.Close()
		return nil, refused("an answer in an encoding that was not asked for")
	}
	return r, nil
}

// precheck resolves the name of a place that a server pointed to when a proxy
// will do the connecting: what it resolves to here is the best that is known.
func (c *Client) precheck(ctx context.Context) error {
	if c.from == 0 || c.via == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.config.DialTimeout)
	defer cancel()
	list, err := net.DefaultResolver.LookupNetIP(ctx, "ip", c.base.Hostname())
	if err != nil {
		return nil // the proxy may know the name
	}
	for _, addr := range list {
		if !mayPoint(c.from, ZoneOf(addr)) {
			return refused("the server points to an internal address")
		}
	}
	return nil
}
