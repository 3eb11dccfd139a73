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
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
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
	// HostEnv is where proxies are looked for; nil is no proxy.
	HostEnv []string
	// PlainHTTP allows http to other machines than the own one.
	PlainHTTP bool
	// RootCAs are trusted instead of the machine's; nil trusts the machine's.
	RootCAs *x509.CertPool
	// Authorizer, when set, supplies the Authorization header.
	Authorizer Authorizer
	// HeaderTimeout bounds the wait for the headers of the stream and of the
	// answers to posts, and the wait for the endpoint; 0 is httpguard's.
	HeaderTimeout time.Duration
	// FrameTimeout bounds one event from its first byte to its last; 0 is
	// httpguard's.
	FrameTimeout time.Duration
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

// Transport opens connections to one configured server. It is immutable and
// safe for concurrent use.
type Transport struct {
	config Config
	guard  httpguard.Config
	origin string
}

var (
	_ transport.Transport = (*Transport)(nil)
	_ wire.Dialer         = (*Transport)(nil)
)

// New checks a configuration without touching the network; its errors are
// *ConfigError.
func New(c Config) (*Transport, error) {
	if len(c.URL) > httpguard.MaxURLBytes {
		return nil, &ConfigError{"URL", "is longer than " + strconv.Itoa(httpguard.MaxURLBytes) + " bytes"}
	}
	base, err := url.Parse(c.URL)
	if err != nil {
		return nil, &ConfigError{"URL", "is not a URL"} // the parser's error repeats it
	}
	c.Headers = maps.Clone(c.Headers)
	c.HostEnv = slices.Clone(c.HostEnv)
	if c.WriteTimeout <= 0 {
		c.WriteTimeout = wire.WriteTimeout
	}
	if c.HeaderTimeout <= 0 {
		c.HeaderTimeout = httpguard.DefaultHeaderTimeout
	}
	header := http.Header{}
	for name, value := range c.Headers {
		if _, twice := header[http.CanonicalHeaderKey(name)]; twice {
			return nil, &ConfigError{"Headers " + name, "is there twice"}
		}
		header.Set(name, value)
	}
	t := &Transport{config: c, guard: httpguard.Config{
		Base: base, Header: header, Authorizer: c.Authorizer, HostEnv: c.HostEnv, PlainHTTP: c.PlainHTTP,
		RootCAs: c.RootCAs, HeaderTimeout: c.HeaderTimeout, FrameTimeout: c.FrameTimeout,
	}}
	client, err := t.client()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	t.origin = client.Origin()
	return t, nil
}

// client makes the client of one connection.
func (t *Transport) client() (*httpguard.Client, error) {
	client, err := httpguard.New(t.guard)
	if err == nil {
		return client, nil
	}
	if bad, ok := err.(*httpguard.ConfigError); ok { //nolint:errorlint // that is all that New returns
		return nil, &ConfigError{bad.Field, bad.Reason}
	}
	return nil, &ConfigError{"URL", "cannot be used"}
}

// Kind is "sse".
func (*Transport) Kind() string { return "sse" }

// Origin is the scheme and host of the URL.
func (t *Transport) Origin() string { return t.origin }

// Dialer is the transport itself.
func (t *Transport) Dialer() wire.Dialer { return t }

// Declared lists the settings for the configuration digest. The URL, which may
// hold a token, and the values of headers are marked secret.
func (t *Transport) Declared() []transport.Setting {
	list := []transport.Setting{
		{Key: "plainHTTP", Value: strconv.FormatBool(t.config.PlainHTTP)},
		{Key: "url", Value: t.config.URL, Secret: true},
	}
	for name, value := range t.config.Headers {
		list = append(list, transport.Setting{Key: "header." + http.CanonicalHeaderKey(name), Value: value, Secret: true})
	}
	slices.SortFunc(list, func(a, b transport.Setting) int { return strings.Compare(a.Key, b.Key) })
	return list
}

// URL is the configured URL without userinfo and fragment, for whoever shows a
// person what would be reached and takes the endpoint's fingerprint.
func (t *Transport) URL() string {
	u := *t.guard.Base
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	return u.String()
}

// HeaderNames lists the names of the configured headers, sorted.
func (t *Transport) HeaderNames() []string {
	names := make([]string, 0, len(t.config.Headers))
	for name := range t.config.Headers {
		names = append(names, http.CanonicalHeaderKey(name))
	}
	slices.Sort(names)
	return names
}
