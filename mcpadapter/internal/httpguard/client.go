package httpguard

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/idna"
)

// Bounds of every client.
const (
	DefaultDialTimeout   = 10 * time.Second
	DefaultTLSTimeout    = 10 * time.Second
	DefaultHeaderTimeout = 30 * time.Second
	DefaultFrameTimeout  = 60 * time.Second
	// MaxRedirects bounds the redirects that one request follows.
	MaxRedirects = 5
	// MaxHeaderBytes bounds the headers of an answer.
	MaxHeaderBytes = 64 << 10
	// MaxURLBytes bounds the URL of a server.
	MaxURLBytes = 8 << 10

	// idleConnTimeout is shorter than the 5 s after which popular servers drop a
	// connection: a request that meets the end of one is lost.
	idleConnTimeout = 4 * time.Second
	keepAlive       = 15 * time.Second
	maxConns        = 64
	maxIdleConns    = 16
	// streamBuffer is what an HTTP/2 server may send ahead on one stream.
	streamBuffer = 1 << 20
	// errorBodyBytes is read of a body that is thrown away, so that its
	// connection can be used again.
	errorBodyBytes = 16 << 10
)

// Config describes one client. New copies it.
type Config struct {
	// Base is the server's URL. Its origin is the only one that requests go to;
	// it is also where a Request without a URL goes. Userinfo in it is sent as
	// basic authorisation.
	Base *url.URL
	// Header is added to every request. Names that the client or the protocol
	// sets itself are refused (CheckHeader).
	Header http.Header
	// Authorizer, when set, supplies the Authorization header.
	Authorizer Authorizer
	// HostEnv is where proxies are looked for; nil is no proxy.
	HostEnv []string
	// PlainHTTP allows http to other machines. To the own one it is always
	// allowed.
	PlainHTTP bool
	// RootCAs are trusted instead of the machine's; nil trusts the machine's.
	RootCAs *x509.CertPool
	// Zero timeouts take the defaults. DialTimeout bounds resolving and
	// connecting, HeaderTimeout the wait for an answer's headers,
	// FrameTimeout one frame from its first byte to its last.
	DialTimeout, TLSTimeout, HeaderTimeout, FrameTimeout time.Duration
}

// Authorizer supplies credentials. It is called concurrently.
type Authorizer interface {
	// Authorization is the value of the Authorization header, "" for none.
	Authorization(ctx context.Context) (string, error)
	// Refused tells that a request which carried used was answered with 401 or
	// 403 and this challenge. When again is true the request is sent once more,
	// with what Authorization then says.
	Refused(ctx context.Context, status int, challenge, used string) (again bool, err error)
}

// Client sends requests to one origin. It is safe for concurrent use.
type Client struct {
	config Config
	base   *url.URL
	origin string
	basic  string // the Authorization header from userinfo
	via    *url.URL
	// from is the zone of the server that pointed here, 0 for the user's own
	// choice.
	from          Zone
	plainLoopback bool
	transport     *http.Transport
	ctx           context.Context
	cancel        context.CancelCauseFunc
	zone          atomic.Uint32 // Zone of the first connection
	tlsKey        atomic.Pointer[string]
	endpoint      *Endpoint // that the client was opened for, nil for others
}

// New checks a configuration. It does not touch the network. Errors are
// *ConfigError.
func New(c Config) (*Client, error) { return build(c, 0) }

// ForURL makes a client for a place that a document of this client's server
// named (authorisation metadata, a redirected endpoint). It carries none of the
// headers and credentials, and refuses internal addresses that are closer to
// the user's machine than the server itself. Errors are *wire.GuardError.
func (c *Client) ForURL(u *url.URL) (*Client, error) {
	if u.User != nil {
		return nil, refused("the server points to a URL with credentials")
	}
	from := Zone(c.zone.Load())
	if from == 0 {
		from = max(hostZone(c.base.Hostname()), Public)
	}
	if from == Forbidden {
		from = Public
	}
	if zone := hostZone(u.Hostname()); zone != 0 && !mayPoint(from, zone) {
		return nil, refused("the server points to an internal address")
	}
	other := c.config
	other.Base, other.Header, other.Authorizer, other.PlainHTTP = u, nil, nil, false
	client, err := build(other, from)
	if err != nil {
		return nil, refused("the server points to a URL that cannot be used: " + err.Error())
	}
	return client, nil
}

func build(config Config, from Zone) (*Client, error) {
	base, err := checkBase(config.Base)
	if err != nil {
		return nil, err
	}
	for name, values := range config.Header {
		for _, value := range values {
			if reason := CheckHeader(name, value); reason != "" {
				return nil, &ConfigError{"Header " + printableName(name), reason}
			}
		}
	}
	c := &Client{config: config, base: base, origin: OriginOf(base), from: from}
	c.config.Header = config.Header.Clone()
	if base.User != nil {
		password, _ := base.User.Password()
		c.basic = "Basic " + base64.StdEncoding.EncodeToString([]byte(base.User.Username()+":"+password))
		base.User = nil
	}
	if base.Scheme == "http" && !config.PlainHTTP {
		if hostZone(base.Hostname()) != Loopback {
			return nil, &ConfigError{"URL", "is plain HTTP to another machine: use https, or allow plain HTTP for this server"}
		}
		c.plainLoopback = true
	}
	if c.via, err = proxyFor(config.HostEnv, base); err != nil {
		return nil, err
	}
	setDefault(&c.config.DialTimeout, DefaultDialTimeout)
	setDefault(&c.config.TLSTimeout, DefaultTLSTimeout)
	setDefault(&c.config.HeaderTimeout, DefaultHeaderTimeout)
	setDefault(&c.config.FrameTimeout, DefaultFrameTimeout)
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.transport = c.newTransport()
	return c, nil
}

func setDefault(d *time.Duration, standard time.Duration) {
	if *d <= 0 {
		*d = standard
	}
}

func (c *Client) newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: c.config.DialTimeout, KeepAlive: keepAlive}
	if c.via == nil {
		dialer.Control = c.control
	}
	t := &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err == nil && c.via == nil {
				c.noteZone(conn.RemoteAddr())
			}
			return conn, err
		},
		TLSClientConfig: &tls.Config{
			MinVersion: tls.VersionTLS12, RootCAs: c.config.RootCAs, VerifyConnection: c.noteKey,
		},
		TLSHandshakeTimeout:    c.config.TLSTimeout,
		MaxResponseHeaderBytes: MaxHeaderBytes,
		DisableCompression:     true,
		ForceAttemptHTTP2:      true,
		MaxConnsPerHost:        maxConns,
		MaxIdleConnsPerHost:    maxIdleConns,
		IdleConnTimeout:        idleConnTimeout,
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerStream: streamBuffer,
			SendPingTimeout:           keepAlive,
			PingTimeout:               keepAlive,
		},
	}
	if c.via != nil {
		t.Proxy = http.ProxyURL(c.via)
	}
	return t
}

// noteZone remembers where the server really is: the first connection decides,
// so that a name which changes its address later opens nothing.
func (c *Client) noteZone(addr net.Addr) {
	if to, err := netip.ParseAddrPort(addr.String()); err == nil {
		c.zone.CompareAndSwap(0, uint32(ZoneOf(to.Addr())))
	}
}

func (c *Client) noteKey(state tls.ConnectionState) error {
	if c.via != nil && state.ServerName != c.base.Hostname() {
		return nil // the proxy's own certificate
	}
	if len(state.PeerCertificates) > 0 {
		sum := sha256.Sum256(state.PeerCertificates[0].RawSubjectPublicKeyInfo)
		key := hex.EncodeToString(sum[:])
		c.tlsKey.Store(&key)
		if c.endpoint != nil {
			c.endpoint.tlsKey.Store(&key)
		}
	}
	return nil
}

// TLSKey is the SHA-256 of the public key of the last verified certificate, in
// lower-case hexadecimal digits; "" before the first connection and for plain
// HTTP.
func (c *Client) TLSKey() string {
	if key := c.tlsKey.Load(); key != nil {
		return *key
	}
	return ""
}

// Origin is the scheme, host and port of the server, for people.
func (c *Client) Origin() string { return c.origin }

// URL is a copy of the base, without userinfo.
func (c *Client) URL() *url.URL {
	u := *c.base
	return &u
}

// FrameTimeout is how long one frame may take from its first byte to its last.
func (c *Client) FrameTimeout() time.Duration { return c.config.FrameTimeout }

// Close cancels what is under way and drops the connections. It does not wait;
// callers of Do see their error at once.
func (c *Client) Close() {
	c.cancel(errClosed)
	c.transport.CloseIdleConnections()
}

// checkBase copies and normalises the URL of a server.
func checkBase(u *url.URL) (*url.URL, error) {
	switch {
	case u == nil || u.Host == "" || u.Opaque != "" || u.Hostname() == "":
		return nil, &ConfigError{"URL", "has no host"}
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, &ConfigError{"URL", "is neither http nor https"}
	case !validPort(u.Port()):
		return nil, &ConfigError{"URL", "has a port that is not from 1 to 65535"}
	case len(u.String()) > MaxURLBytes:
		return nil, &ConfigError{"URL", "is too long"}
	}
	base := *u
	base.Fragment, base.RawFragment = "", ""
	host := strings.ToLower(u.Hostname())
	if _, err := netip.ParseAddr(host); err != nil {
		ascii, err := idna.Lookup.ToASCII(host)
		if err != nil && !plainName(host) {
			return nil, &ConfigError{"URL", "has a host that is no valid name"}
		}
		if err == nil {
			host = ascii
		}
	} else if strings.Contains(host, ":") {
		host = "[" + strings.ReplaceAll(host, "%", "%25") + "]"
	}
	base.Host = host
	if port := u.Port(); port != "" && port != portOf(&url.URL{Scheme: u.Scheme}) {
		base.Host += ":" + port
	}
	return &base, nil
}

// validPort accepts what may stand behind the colon of a host, nothing included.
func validPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return text == "" || err == nil && n > 0
}

// plainName accepts names that internal networks use though no registry would,
// with an underscore for instance.
func plainName(host string) bool {
	for _, r := range host {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '.' && r != '_' {
			return false
		}
	}
	return true
}

// OriginOf is the scheme, the host and, where it is not the scheme's own, the
// port of a URL: nothing else of it.
func OriginOf(u *url.URL) string {
	host := strings.ToLower(u.Host)
	if port := u.Port(); port != "" && port == portOf(&url.URL{Scheme: u.Scheme}) {
		host = strings.TrimSuffix(host, ":"+port)
	}
	return u.Scheme + "://" + host
}

// SameOrigin says whether a URL has the client's origin.
func (c *Client) SameOrigin(u *url.URL) bool {
	return u.Opaque == "" && strings.EqualFold(u.Scheme, c.base.Scheme) &&
		strings.EqualFold(u.Hostname(), c.base.Hostname()) && portOf(u) == portOf(c.base)
}
