package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/looprig/looprig/harness/model"
	"github.com/looprig/looprig/internal/safetext"
)

// Bounds of one request.
const (
	dialTimeout = 10 * time.Second
	tlsTimeout  = 10 * time.Second
	// DefaultIdle is how long an answer may be silent, its headers included:
	// a local server loads its model first, and some reason without a word.
	DefaultIdle = 5 * time.Minute
	// MaxAnswerBytes bounds an answer.
	MaxAnswerBytes = 64 << 20
	// MaxErrorBytes bounds what is read of a failure.
	MaxErrorBytes = 64 << 10
	maxRedirects  = 3
	maxKeyBytes   = 16 << 10
	// minSecretBytes spares words that happen to be a header's value.
	minSecretBytes = 4
)

// Auth puts a key into a request.
type Auth func(http.Header, string)

// Bearer is the usual way.
func Bearer(h http.Header, key string) { h.Set("Authorization", "Bearer "+key) }

// Header makes an Auth of a header.
func Header(name string) Auth { return func(h http.Header, key string) { h.Set(name, key) } }

// Client sends the requests of one Config. It is safe for concurrent use.
type Client struct {
	cfg  Config
	base *url.URL
	auth Auth
	http *http.Client
	idle time.Duration
	// key is the last that was sent, to be taken out of what comes back.
	key atomic.Pointer[string]
}

// New makes a client. It fails with a *ConfigError.
func New(cfg Config, auth Auth) (*Client, error) {
	if cfg.Model == "" {
		return nil, &ConfigError{"model", "is not given"}
	}
	switch cfg.Effort {
	case "", "low", "medium", "high":
	default:
		return nil, &ConfigError{"effort", "is none of low, medium and high"}
	}
	base, err := cfg.endpoint()
	if err != nil {
		return nil, err
	}
	if cfg.Key != nil && base.Scheme == "http" && !closeBy(base.Hostname()) {
		return nil, &ConfigError{"base_url", "would send the key without encryption: use https://"}
	}
	c := &Client{cfg: cfg, base: base, auth: auth, idle: cfg.IdleTimeout}
	if c.idle <= 0 {
		c.idle = DefaultIdle
	}
	h := http.Client{Transport: transport()}
	if cfg.HTTP != nil {
		h = *cfg.HTTP
	}
	h.CheckRedirect = sameOrigin
	c.http = &h
	return c, nil
}

// transport is shared by all clients without one of their own, so that
// connections are.
var transport = sync.OnceValue(func() http.RoundTripper {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout:    tlsTimeout,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    8,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
})

func sameOrigin(req *http.Request, via []*http.Request) error {
	from := via[0].URL
	if req.URL.Scheme != from.Scheme || !strings.EqualFold(req.URL.Host, from.Host) || len(via) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// Base is the endpoint.
func (c *Client) Base() *url.URL { u := *c.base; return &u }

// Config is what the client was made of.
func (c *Client) Config() Config { return c.cfg }

// Post sends a JSON body to a path below the base URL; see Do.
func (c *Client) Post(ctx context.Context, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base.String()+path, strings.NewReader(string(body)))
	if err != nil {
		return nil, &model.Error{Code: "invalid_request", Message: "the request cannot be made", Err: err}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream, application/json")
	return c.Do(req)
}

// Get asks for a path below the base URL; see Do.
func (c *Client) Get(ctx context.Context, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base.String()+path, nil)
	if err != nil {
		return nil, &model.Error{Code: "invalid_request", Message: "the request cannot be made", Err: err}
	}
	req.Header.Set("Accept", "application/json")
	return c.Do(req)
}

// Do sends a request with the key and the configured headers. A status other
// than 2xx is a *model.Error, as is a request that could not be sent. The body
// of an answer ends with an error where it is too large or too long silent. It
// fails with the cause of the context where that ended.
func (c *Client) Do(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	req = req.WithContext(ctx)
	key, err := c.authorise(req)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	watch := time.AfterFunc(c.idle, func() { cancel(errIdle) })
	resp, err := c.http.Do(req)
	if err != nil {
		watch.Stop()
		err = c.unsent(ctx, err)
		cancel(nil)
		return nil, err
	}
	resp.Body = &body{
		src: resp.Body, ctx: ctx, cancel: cancel, watch: watch, idle: c.idle,
		left: MaxAnswerBytes,
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer resp.Body.Close()
		return nil, refused(resp, c.secrets(key))
	}
	return resp, nil
}

func (c *Client) authorise(req *http.Request) (key string, err error) {
	req.Header.Set("User-Agent", "looprig")
	if c.cfg.Key != nil {
		if key, err = c.cfg.Key(req.Context()); err != nil {
			return "", &model.Error{Code: "auth", Message: "the key of the model cannot be had: " + safetext.ToLineN(err.Error(), maxQuoted).String()}
		}
		key = strings.TrimSpace(key)
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) || len(key) > maxKeyBytes {
		return "", &model.Error{Code: "auth", Message: "the key of the model is no key: it is too long or has characters that no header takes"}
	}
	if key != "" && c.auth != nil {
		c.auth(req.Header, key)
		c.key.Store(&key)
	}
	for _, name := range slices.Sorted(maps.Keys(c.cfg.Headers)) {
		req.Header.Set(name, c.cfg.Headers[name])
	}
	return key, nil
}

// Clean takes the key and the configured headers out of an error that quotes an
// endpoint. It returns err itself where there is nothing to take out.
func (c *Client) Clean(err error) error {
	failed, ok := errors.AsType[*model.Error](err)
	if !ok {
		return err
	}
	key := ""
	if k := c.key.Load(); k != nil {
		key = *k
	}
	clean := hide(failed.Message, c.secrets(key))
	if clean == failed.Message {
		return err
	}
	out := *failed
	out.Message = clean
	return &out
}

// hide takes secrets out of a text.
func hide(s string, secrets []string) string {
	for _, x := range secrets {
		if len(x) >= minSecretBytes {
			s = strings.ReplaceAll(s, x, "‹key›")
		}
	}
	return s
}

func (c *Client) secrets(key string) []string {
	all := []string{key}
	for _, v := range c.cfg.Headers {
		all = append(all, v)
	}
	return all
}

var errIdle = errors.New("no byte came in time")

// unsent explains a request without an answer.
func (c *Client) unsent(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if cause != nil && !errors.Is(cause, errIdle) {
		return cause
	}
	if cause != nil {
		return &model.Error{Code: "network", Message: fmt.Sprintf("%s did not answer within %s", c.host(), c.idle), Retryable: true}
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // the URL may be a private one
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &model.Error{Code: "network", Message: c.host() + " closed the connection without an answer", Retryable: true}
	}
	return &model.Error{Code: "network", Message: c.host() + " cannot be reached: " + safetext.ToLineN(err.Error(), maxQuoted).String(), Retryable: true}
}

func (c *Client) host() string { return safetext.ToLineN(c.base.Host, 256).String() }

// body bounds an answer in size and silence, and ends its context at Close. It
// is read by one goroutine.
type body struct {
	src    io.ReadCloser
	ctx    context.Context
	cancel context.CancelCauseFunc
	watch  *time.Timer
	idle   time.Duration
	left   int64
}

func (b *body) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, &model.Error{Code: "stream_broken", Message: fmt.Sprintf("the answer is over the limit of %d bytes", int64(MaxAnswerBytes))}
	}
	b.watch.Reset(b.idle)
	n, err := b.src.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	if err == nil || err == io.EOF {
		return n, err
	}
	cause := context.Cause(b.ctx)
	switch {
	case errors.Is(cause, errIdle):
		return n, &model.Error{Code: "stream_broken", Message: fmt.Sprintf("the answer was silent for %s", b.idle), Retryable: true}
	case cause != nil:
		return n, cause
	}
	return n, &model.Error{Code: "stream_broken", Message: "the answer broke off: " + safetext.ToLineN(err.Error(), maxQuoted).String(), Retryable: true}
}

func (b *body) Close() error {
	b.watch.Stop()
	err := b.src.Close()
	b.cancel(nil)
	return err
}
