// Package streamhttp exchanges JSON-RPC frames with an MCP endpoint over
// streamable HTTP: every frame of ours is a POST, answers come as JSON or as an
// event stream, and revisions up to 2025-11-25 have sessions, a standing stream
// for what the server sends unasked, and streams that can be resumed. It knows
// HTTP and frames, and of MCP only the few methods that the transport's own
// rules name. It must import neither the SDK nor the protocol layer.
//
// Invariants:
//   - Every request gets an answer, an *Oversize or a *Failure, unless it was
//     forgotten or the connection ended.
//   - A request that may have reached the server is never sent again.
//   - The standing stream never affects a request: no failure of it ends the
//     connection.
//   - Memory is bounded by the frame limit for each request in flight; every
//     wait that is not the server's work is bounded; when a connection has ended
//     none of its goroutines is left.
//   - No path, query, header value or userinfo appears in an origin, error or
//     diagnostic.
//
// # What ends a connection
//
// A server that refuses the connection, cannot be found or closes it before the
// answer's headers ends it, because the next request would fare no better and
// the client above starts afresh; so does a session that the server no longer
// knows (wire.ReasonSessionExpired). A status such as 500, 502, 503 or 429, a
// request that is not answered in time, a stream that breaks off and an answer
// that is not MCP fail their request alone.
package streamhttp

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/httpguard"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
	"github.com/looprig/looprig/mcpadapter/transport"
)

// ErrClosed is returned by a connection after Close.
var ErrClosed = wire.ErrClosed

// DefaultFrameBytes is the frame limit where wire.Options sets none.
const DefaultFrameBytes = 16 << 20

// Authorizer supplies the Authorization header and learns of its refusal.
type Authorizer = httpguard.Authorizer

// Config describes one endpoint. New copies it.
type Config struct {
	// URL is the endpoint. Userinfo in it is sent as basic authorisation.
	URL string
	// Headers are sent with every request. Those that the transport sets itself
	// are refused.
	Headers map[string]string
	// Authorizer, when set, supplies the Authorization header.
	Authorizer Authorizer
	// HostEnv is the host's environment, in which proxies are looked for; nil
	// means os.Environ.
	HostEnv []string
	// PlainHTTP allows http to other machines than the own one.
	PlainHTTP bool
	// RootCAs are trusted instead of the machine's; nil trusts the machine's.
	RootCAs *x509.CertPool
	// Zero timeouts take the defaults of 10 s, 10 s, 30 s and 60 s.
	// HeaderTimeout bounds the wait for the headers of everything but the answer
	// to a request after the handshake, which comes when the server's work is
	// done: that wait is its caller's. FrameTimeout bounds one frame from its
	// first byte to its last.
	DialTimeout, TLSTimeout, HeaderTimeout, FrameTimeout time.Duration
}

// ConfigError says what is wrong with a Config. It never shows a value.
type ConfigError struct {
	// Field is the Config field, for headers with the name.
	Field string
	// Reason is host-written.
	Reason string
}

func (e *ConfigError) Error() string { return fmt.Sprintf("http %s: %s", e.Field, e.Reason) }

// Transport reaches one endpoint. Every Dial is a connection with a session of
// its own. It is safe for concurrent use.
type Transport struct {
	guard  httpguard.Config
	origin string
	tlsKey atomic.Pointer[string]
	timing timing
}

var (
	_ transport.Transport = (*Transport)(nil)
	_ wire.Dialer         = (*Transport)(nil)
)

// New checks a configuration. It does not touch the network; its errors are
// *ConfigError.
func New(c Config) (*Transport, error) {
	if len(c.URL) > httpguard.MaxURLBytes {
		return nil, &ConfigError{"URL", "is too long"}
	}
	base, err := url.Parse(c.URL)
	if err != nil {
		return nil, &ConfigError{"URL", "is not valid"} // the parser's error repeats it
	}
	header, err := checkHeaders(c.Headers)
	if err != nil {
		return nil, err
	}
	if c.HostEnv == nil {
		c.HostEnv = os.Environ()
	}
	t := &Transport{timing: standardTiming, guard: httpguard.Config{
		Base: base, Header: header, Authorizer: c.Authorizer, HostEnv: proxyEnv(c.HostEnv), PlainHTTP: c.PlainHTTP, RootCAs: c.RootCAs,
		DialTimeout: c.DialTimeout, TLSTimeout: c.TLSTimeout, HeaderTimeout: c.HeaderTimeout, FrameTimeout: c.FrameTimeout,
	}}
	client, err := t.client()
	if err != nil {
		return nil, err
	}
	t.origin = client.Origin()
	client.Close()
	return t, nil
}

// client makes a client with connections of its own.
func (t *Transport) client() (*httpguard.Client, error) {
	client, err := httpguard.New(t.guard)
	var bad *httpguard.ConfigError
	if errors.As(err, &bad) {
		return nil, &ConfigError{bad.Field, bad.Reason}
	}
	return client, err
}

func checkHeaders(headers map[string]string) (http.Header, error) {
	if len(headers) > httpguard.MaxHeaders {
		return nil, &ConfigError{"Headers", fmt.Sprintf("has %d entries (limit %d)", len(headers), httpguard.MaxHeaders)}
	}
	out := make(http.Header, len(headers))
	for name, value := range headers {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		if reason := httpguard.CheckHeader(name, value); reason != "" {
			if !httpguard.IsToken(name) {
				name = "(unprintable)"
			}
			return nil, &ConfigError{"Headers " + name, reason}
		}
		if out[canonical] != nil {
			return nil, &ConfigError{"Headers " + name, "is set twice, in different case"}
		}
		out[canonical] = []string{value}
	}
	return out, nil
}

// proxyEnv keeps of an environment what names proxies.
func proxyEnv(env []string) []string {
	var out []string
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		switch strings.ToLower(name) {
		case "http_proxy", "https_proxy", "no_proxy":
			out = append(out, entry)
		}
	}
	return out
}

// Kind is "http".
func (*Transport) Kind() string { return "http" }

// Origin is the scheme, host and port of the endpoint.
func (t *Transport) Origin() string { return t.origin }

// Dialer is the transport itself.
func (t *Transport) Dialer() wire.Dialer { return t }

// Path is the path of the endpoint, for its fingerprint: it may hold a secret
// and is not to be shown without being asked for.
func (t *Transport) Path() string { return t.guard.Base.EscapedPath() }

// URL is the configured URL without userinfo, for the one who decides whether
// it is to be trusted. It may hold a secret.
func (t *Transport) URL() string {
	u := *t.guard.Base
	u.User = nil
	return u.String()
}

// HeaderNames lists the configured headers, sorted.
func (t *Transport) HeaderNames() []string {
	names := make([]string, 0, len(t.guard.Header))
	for name := range t.guard.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// TLSKey is the SHA-256 of the public key that the server showed on the last
// connection, in hexadecimal digits; "" before it and for plain HTTP.
func (t *Transport) TLSKey() string {
	if key := t.tlsKey.Load(); key != nil {
		return *key
	}
	return ""
}

// Declared lists the settings for the configuration digest. Header values and
// everything in the URL behind the origin are marked secret.
func (t *Transport) Declared() []transport.Setting {
	u := t.guard.Base
	list := []transport.Setting{
		{Key: "plainHTTP", Value: fmt.Sprint(t.guard.PlainHTTP)},
		{Key: "url.origin", Value: t.origin},
		{Key: "url.path", Value: u.EscapedPath(), Secret: true},
		{Key: "url.query", Value: u.RawQuery, Secret: true},
		{Key: "url.userinfo", Value: u.User.String(), Secret: true},
	}
	for name, values := range t.guard.Header {
		list = append(list, transport.Setting{Key: "header." + name, Value: values[0], Secret: true})
	}
	slices.SortFunc(list, func(a, b transport.Setting) int { return strings.Compare(a.Key, b.Key) })
	return list
}

// Dial makes a connection. It sends nothing: the first request shows whether
// somebody is there. Its error is the context's.
func (t *Transport) Dial(ctx context.Context, opt wire.Options) (wire.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	client, err := t.client()
	if err != nil {
		return nil, err
	}
	return newConn(t, client, opt), nil
}
