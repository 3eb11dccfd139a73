// Package sse reaches MCP servers over the HTTP transport of revision
// 2024-11-05: one stream of server-sent events for all that the server says,
// and a POST for every message to it. It knows streams and frames; it knows no
// MCP method and must import neither the MCP SDK nor the protocol layer.
//
// Invariants:
//   - The stream belongs to the connection, never to the context that opened
//     it. It is not opened again: its end is the end of the connection.
//   - Messages go to the origin of the configured URL alone, whatever the
//     server names as its endpoint.
//   - Memory is bounded by the frame limit and by MaxPosts; every wait has a
//     bound, and Close awaits every goroutine.
//   - No path, query, header or userinfo appears in an origin, error or
//     diagnostic.
package sse

import (
	"crypto/x509"
	"fmt"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/httpguard"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
	"github.com/looprig/looprig/mcpadapter/transport"
)

// ErrClosed is returned by a connection after Close.
var ErrClosed = wire.ErrClosed

// Authorizer supplies credentials; see httpguard.
type Authorizer = httpguard.Authorizer

// Config describes one server. New copies it.
type Config struct {
	// URL is where the stream of events is, http or https. Userinfo in it is
	// sent as basic authorisation.
	URL string
	// Headers are sent with every request. Names that HTTP or the protocol set
	// themselves are refused.
	Headers map[string]string
	// HostEnv is the host's environment, in which proxies are looked for; nil
	// means os.Environ.
	HostEnv []string
	// PlainHTTP allows http to other machines than the own one.
	PlainHTTP bool
	// RootCAs are trusted instead of the machine's; nil trusts the machine's.
	RootCAs *x509.CertPool
	// Authorizer, when set, supplies the Authorization header.
	Authorizer Authorizer
	// Zero timeouts take the defaults of 10 s, 10 s, 30 s and 60 s.
	// HeaderTimeout bounds the wait for the headers of the stream and of the
	// answers to notifications and answers, and the wait for the endpoint. A
	// post that carries a request may be answered when the work is done: that
	// wait is its caller's. FrameTimeout bounds one event from its first byte to
	// its last.
	DialTimeout, TLSTimeout, HeaderTimeout, FrameTimeout time.Duration
	// WriteTimeout overrides wire.WriteTimeout; 0 keeps it.
	WriteTimeout time.Duration
}

// ConfigError says what is wrong with a Config. It never shows a value.
type ConfigError struct {
	// Field is the Config field, for headers with the name.
	Field string
	// Reason is host-written.
	Reason string
}

func (e *ConfigError) Error() string { return fmt.Sprintf("sse %s: %s", e.Field, e.Reason) }

// endpoint has what Transport says of its server.
type endpoint = httpguard.Endpoint

// Transport opens connections to one configured server. It is safe for
// concurrent use.
type Transport struct {
	*endpoint
	writeTimeout  time.Duration
	headerTimeout time.Duration
}

var (
	_ transport.Transport = (*Transport)(nil)
	_ wire.Dialer         = (*Transport)(nil)
)

// New checks a configuration without touching the network; its errors are
// *ConfigError.
func New(c Config) (*Transport, error) {
	if c.WriteTimeout <= 0 {
		c.WriteTimeout = wire.WriteTimeout
	}
	if c.HeaderTimeout <= 0 {
		c.HeaderTimeout = httpguard.DefaultHeaderTimeout
	}
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
	return &Transport{endpoint: e, writeTimeout: c.WriteTimeout, headerTimeout: c.HeaderTimeout}, nil
}

// Kind is "sse".
func (*Transport) Kind() string { return "sse" }

// Dialer is the transport itself.
func (t *Transport) Dialer() wire.Dialer { return t }
