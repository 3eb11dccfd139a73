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
	"fmt"
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

// endpoint has what Transport says of its server.
type endpoint = httpguard.Endpoint

// Transport reaches one endpoint. Every Dial is a connection with a session of
// its own. It is safe for concurrent use.
type Transport struct {
	*endpoint
	timing timing
}

var (
	_ transport.Transport = (*Transport)(nil)
	_ wire.Dialer         = (*Transport)(nil)
)

// New checks a configuration. It does not touch the network; its errors are
// *ConfigError.
func New(c Config) (*Transport, error) {
	e, err := httpguard.NewEndpoint(c.URL, c.Headers, httpguard.Config{
		Authorizer: c.Authorizer, HostEnv: c.HostEnv, PlainHTTP: c.PlainHTTP, RootCAs: c.RootCAs,
		DialTimeout: c.DialTimeout, TLSTimeout: c.TLSTimeout, HeaderTimeout: c.HeaderTimeout, FrameTimeout: c.FrameTimeout,
	})
	if field, reason, ok := httpguard.FieldOf(err); ok {
		return nil, &ConfigError{field, reason}
	}
	if err != nil {
		return nil, err
	}
	return &Transport{endpoint: e, timing: standardTiming}, nil
}

// Kind is "http".
func (*Transport) Kind() string { return "http" }

// Dialer is the transport itself.
func (t *Transport) Dialer() wire.Dialer { return t }

// Dial makes a connection. It sends nothing: the first request shows whether
// somebody is there. Its error is the context's.
func (t *Transport) Dial(ctx context.Context, opt wire.Options) (wire.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	client, err := httpguard.Open(t.endpoint)
	if err != nil {
		return nil, err
	}
	return newConn(t, client, opt), nil
}
