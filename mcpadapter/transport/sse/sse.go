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
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
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

// Transport opens connections to one configured server. It is immutable and
// safe for concurrent use.
type Transport struct {
	guard         httpguard.Config
	writeTimeout  time.Duration
	headerTimeout time.Duration
	origin        string
	tlsKey        atomic.Pointer[string]
}

var (
	_ transport.Transport = (*Transport)(nil)
	_ wire.Dialer         = (*Transport)(nil)
)

// New checks a configuration without touching the network; its errors are
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
	if c.WriteTimeout <= 0 {
		c.WriteTimeout = wire.WriteTimeout
	}
	if c.HeaderTimeout <= 0 {
		c.HeaderTimeout = httpguard.DefaultHeaderTimeout
	}
	t := &Transport{writeTimeout: c.WriteTimeout, headerTimeout: c.HeaderTimeout, guard: httpguard.Config{
		Base: base, Header: header, Authorizer: c.Authorizer, HostEnv: proxies(c.HostEnv), PlainHTTP: c.PlainHTTP, RootCAs: c.RootCAs,
		DialTimeout: c.DialTimeout, TLSTimeout: c.TLSTimeout, HeaderTimeout: c.HeaderTimeout, FrameTimeout: c.FrameTimeout,
	}}
	client, err := t.client()
	if err != nil {
		return nil, err
	}
	defer client.Close()
	t.origin = client.Origin()
	return t, nil
}

// checkHeaders makes HTTP headers of the configured ones.
func checkHeaders(headers map[string]string) (http.Header, error) {
	if len(headers) > httpguard.MaxHeaders {
		return nil, &ConfigError{"Headers", "has more than " + strconv.Itoa(httpguard.MaxHeaders) + " entries"}
	}
	out := http.Header{}
	for name, value := range headers {
		shown := name
		if !httpguard.IsToken(name) {
			shown = "(unprintable)"
		}
		if reason := httpguard.CheckHeader(name, value); reason != "" {
			return nil, &ConfigError{"Headers " + shown, reason}
		}
		if out.Get(name) != "" {
			return nil, &ConfigError{"Headers " + shown, "is there twice, in different case"}
		}
		out.Set(name, value)
	}
	return out, nil
}

// proxies keeps of an environment what names proxies.
func proxies(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		switch strings.ToLower(name) {
		case "http_proxy", "https_proxy", "no_proxy":
			return false
		}
		return true
	})
}

// client makes the client of one connection.
func (t *Transport) client() (*httpguard.Client, error) {
	client, err := httpguard.New(t.guard)
	var bad *httpguard.ConfigError
	if errors.As(err, &bad) {
		return nil, &ConfigError{bad.Field, bad.Reason}
	}
	return client, err
}

// Kind is "sse".
func (*Transport) Kind() string { return "sse" }

// Origin is the scheme and host of the URL.
func (t *Transport) Origin() string { return t.origin }

// Dialer is the transport itself.
func (t *Transport) Dialer() wire.Dialer { return t }

// Declared lists the settings for the configuration digest. Header values and
// everything in the URL behind the origin are marked secret.
func (t *Transport) Declared() []transport.Setting {
	u := t.guard.Base
	list := []transport.Setting{
		{Key: "plainHTTP", Value: strconv.FormatBool(t.guard.PlainHTTP)},
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

// Path is the path of the stream, for its fingerprint: it may hold a secret and
// is not to be shown without being asked for.
func (t *Transport) Path() string { return t.guard.Base.EscapedPath() }

// URL is the configured URL without userinfo, for the one who decides whether
// it is to be trusted. It may hold a secret.
func (t *Transport) URL() string {
	u := *t.guard.Base
	u.User = nil
	return u.String()
}

// HeaderNames lists the configured headers, sorted.
func (t *Transport) HeaderNames() []string { return slices.Sorted(maps.Keys(t.guard.Header)) }

// TLSKey is the SHA-256 of the public key that the server showed on the last
// connection, in hexadecimal digits; "" before it and for plain HTTP.
func (t *Transport) TLSKey() string {
	if key := t.tlsKey.Load(); key != nil {
		return *key
	}
	return ""
}
