package httpguard

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/looprig/looprig/mcpadapter/transport"
)

// Endpoint is one configured server as every transport over HTTP describes it.
// It is immutable but for the last TLS key, and safe for concurrent use.
type Endpoint struct {
	config Config
	origin string
	tlsKey atomic.Pointer[string]
}

// NewEndpoint checks a configuration without touching the network: an address
// and headers as they are written in it, and c for everything but Base and
// Header. A nil c.HostEnv means os.Environ; of an environment nothing is kept
// but what names proxies. Errors are *ConfigError.
func NewEndpoint(address string, headers map[string]string, c Config) (*Endpoint, error) {
	if len(address) > MaxURLBytes {
		return nil, &ConfigError{"URL", "is too long"}
	}
	var err error
	if c.Base, err = url.Parse(address); err != nil {
		return nil, &ConfigError{"URL", "is not valid"} // the parser's error repeats it
	}
	if c.Header, err = checkHeaders(headers); err != nil {
		return nil, err
	}
	if c.HostEnv == nil {
		c.HostEnv = os.Environ()
	}
	c.HostEnv = proxyEnv(c.HostEnv)
	e := &Endpoint{config: c}
	client, err := Open(e)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	e.origin = client.Origin()
	return e, nil
}

// Open makes a client of an endpoint with connections of its own. Errors are
// *ConfigError.
func Open(e *Endpoint) (*Client, error) {
	c, err := New(e.config)
	if err != nil {
		return nil, err
	}
	c.endpoint = e
	return c, nil
}

// FieldOf takes an error of NewEndpoint apart, for a transport that has its own
// kind of configuration error; ok is false for other errors.
func FieldOf(err error) (field, reason string, ok bool) {
	var bad *ConfigError
	if !errors.As(err, &bad) {
		return "", "", false
	}
	return bad.Field, bad.Reason, true
}

// checkHeaders makes HTTP headers of the configured ones.
func checkHeaders(headers map[string]string) (http.Header, error) {
	if len(headers) > MaxHeaders {
		return nil, &ConfigError{"Headers", fmt.Sprintf("has %d entries (limit %d)", len(headers), MaxHeaders)}
	}
	out := make(http.Header, len(headers))
	for name, value := range headers {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		if reason := CheckHeader(name, value); reason != "" {
			if !IsToken(name) {
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
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		switch strings.ToLower(name) {
		case "http_proxy", "https_proxy", "no_proxy":
			return false
		}
		return true
	})
}

// Origin is the scheme, host and port of the URL.
func (e *Endpoint) Origin() string { return e.origin }

// Path is the path of the URL, for its fingerprint: it may hold a secret and is
// not to be shown without being asked for.
func (e *Endpoint) Path() string { return e.config.Base.EscapedPath() }

// URL is the configured URL without userinfo, for the one who decides whether
// it is to be trusted. It may hold a secret.
func (e *Endpoint) URL() string {
	u := *e.config.Base
	u.User = nil
	return u.String()
}

// HeaderNames lists the configured headers, sorted.
func (e *Endpoint) HeaderNames() []string { return slices.Sorted(maps.Keys(e.config.Header)) }

// TLSKey is the SHA-256 of the public key that the server showed on the last
// connection, in hexadecimal digits; "" before it and for plain HTTP.
func (e *Endpoint) TLSKey() string {
	if key := e.tlsKey.Load(); key != nil {
		return *key
	}
	return ""
}

// Declared lists the settings for the configuration digest. Header values and
// everything in the URL behind the origin are marked secret.
func (e *Endpoint) Declared() []transport.Setting {
	u := e.config.Base
	list := []transport.Setting{
		{Key: "plainHTTP", Value: strconv.FormatBool(e.config.PlainHTTP)},
		{Key: "url.origin", Value: e.origin},
		{Key: "url.path", Value: u.EscapedPath(), Secret: true},
		{Key: "url.query", Value: u.RawQuery, Secret: true},
		{Key: "url.userinfo", Value: u.User.String(), Secret: true},
	}
	for name, values := range e.config.Header {
		list = append(list, transport.Setting{Key: "header." + name, Value: values[0], Secret: true})
	}
	slices.SortFunc(list, func(a, b transport.Setting) int { return strings.Compare(a.Key, b.Key) })
	return list
}
