//go:build integration

package httpguard

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

func serve(t testing.TB, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func client(t testing.TB, base string, change func(*Config)) *Client {
	t.Helper()
	config := Config{Base: parse(t, base)}
	if change != nil {
		change(&config)
	}
	c, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func post(ctx context.Context, c *Client) (string, error) {
	resp, err := c.Do(ctx, Request{Method: "POST", Body: []byte("body")})
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	return fmt.Sprintf("%d %s", resp.Status, all), err
}

func wantGuard(t *testing.T, err error, reason string) {
	t.Helper()
	var guard *wire.GuardError
	if !errors.As(err, &guard) || !strings.Contains(guard.Reason, reason) {
		t.Errorf("got %v, want a refusal with %q", err, reason)
	}
}

func wantKind(t *testing.T, err error, kind Kind, sent bool) {
	t.Helper()
	var e *ExchangeError
	if !errors.As(err, &e) || e.Kind != kind || e.Sent != sent {
		t.Errorf("got %#v, want kind %d sent %v", err, kind, sent)
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	var other atomic.Int64
	foreign := serve(t, func(w http.ResponseWriter, r *http.Request) { other.Add(1) })
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var status, left int
		if n, _ := fmt.Sscanf(r.URL.Path, "/hop/%d/%d", &status, &left); n == 2 && left > 0 {
			w.Header().Set("Location", fmt.Sprintf("/hop/%d/%d", status, left-1))
			w.WriteHeader(status)
			return
		}
		if n, _ := fmt.Sscanf(r.URL.Path, "/away/%d", &status); n == 1 {
			w.Header().Set("Location", foreign.URL+"/canary")
			w.WriteHeader(status)
			return
		}
		if r.URL.Path == "/nowhere" {
			w.WriteHeader(308)
			return
		}
		fmt.Fprintf(w, "%s %s %s", r.Method, body, r.Header.Get("Authorization"))
	})
	auth := func(c *Config) { c.Header = http.Header{"authorization": {"Bearer secret"}} }
	for path, reason := range map[string]string{
		"/hop/307/5": "", "/hop/308/1": "", "/hop/307/6": "more than 5", "/hop/302/1": "another one", "/hop/301/1": "another one", "/hop/303/1": "another one",
		"/away/307": "another origin", "/away/308": "another origin", "/away/302": "another origin", "/nowhere": "usable target",
	} {
		got, err := post(t.Context(), client(t, s.URL+path, auth))
		if reason != "" {
			wantGuard(t, err, reason)
			continue
		}
		if err != nil || got != "200 POST body Bearer secret" {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	resp, err := client(t, s.URL+"/hop/302/5", nil).Do(t.Context(), Request{Method: "GET"})
	if err != nil || resp.Status != 200 {
		t.Fatalf("a GET: %v", err)
	}
	_ = resp.Body.Close()
	if other.Load() != 0 {
		t.Error("a request reached the other origin")
	}
}

func TestHeadersLateAndLarge(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 8)
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch r.URL.Path {
		case "/late":
			arrived <- struct{}{}
			<-r.Context().Done()
		case "/fits":
			w.Header().Set("X-Big", strings.Repeat("x", MaxHeaderBytes-1024))
		case "/large":
			w.Header().Set("X-Big", strings.Repeat("x", MaxHeaderBytes+1))
		}
	})
	_, err := post(t.Context(), client(t, s.URL+"/late", func(c *Config) { c.HeaderTimeout = 500 * time.Millisecond }))
	wantKind(t, err, Slow, true)
	<-arrived
	when := func(do func()) {
		go func() {
			<-arrived
			do()
		}()
	}
	if _, err := post(t.Context(), client(t, s.URL+"/fits", nil)); err != nil {
		t.Error(err)
	}
	_, err = post(t.Context(), client(t, s.URL+"/large", nil))
	wantKind(t, err, Malformed, true)

	ctx, cancel := context.WithCancel(t.Context())
	when(cancel)
	_, err = post(ctx, client(t, s.URL+"/late", nil))
	wantKind(t, err, Cancelled, true)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v is not the context's error", err)
	}
	c := client(t, s.URL+"/late", nil)
	when(c.Close)
	_, err = post(t.Context(), c)
	wantKind(t, err, Cancelled, true)
}

// TestUnreachableAndBroken: what is known about a failure is told: nothing was
// sent to a closed port; something may have been where the connection died.
func TestUnreachableAndBroken(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	_, err := post(t.Context(), client(t, gone.URL, nil))
	wantKind(t, err, Unreachable, false)
	for name, answer := range map[string]string{"nothing": "", "half a head": "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n", "half a body": "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"} {
		_, err = post(t.Context(), client(t, raw(t, answer), nil))
		var e *ExchangeError
		if !errors.As(err, &e) || !e.Sent || e.Kind != Broken {
			t.Errorf("%s: %#v", name, err)
		}
	}
	_, err = post(t.Context(), client(t, raw(t, "canary this is not HTTP\r\n\r\n"), nil))
	wantKind(t, err, Malformed, true)
	if strings.Contains(fmt.Sprintf("%v %#v", err, err), "canary") {
		t.Errorf("the error repeats the server: %v", err)
	}
	// Behind a change of protocols no context would end a read.
	_, err = post(t.Context(), client(t, raw(t, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"), nil))
	wantKind(t, err, Malformed, true)
}

// raw answers each connection with the same bytes and closes it.
func raw(t testing.TB, answer string) (base string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			buf := make([]byte, 4096)
			_, _ = conn.Read(buf)
			_, _ = io.WriteString(conn, answer)
			_ = conn.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, conn)
			_ = conn.Close()
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	return "http://" + l.Addr().String()
}

func TestSlowDrip(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, ": a comment is no frame\n\n")
		if r.URL.Path == "/idle" {
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
			case <-time.After(300 * time.Millisecond):
			}
			fmt.Fprint(w, "data: {}\n\n")
			return
		}
		fmt.Fprint(w, "data: {")
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, " "); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			time.Sleep(5 * time.Millisecond)
		}
	})
	quick := func(c *Config) { c.FrameTimeout = 100 * time.Millisecond }
	resp, err := client(t, s.URL+"/drip", quick).Do(t.Context(), Request{Method: "GET"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = NewEvents(resp.Body, 1<<20).Next()
	wantKind(t, err, Slow, true)
	_ = resp.Body.Close()

	resp, err = client(t, s.URL+"/idle", quick).Do(t.Context(), Request{Method: "GET"})
	if err != nil {
		t.Fatal(err)
	}
	if ev, err := NewEvents(resp.Body, 1<<20).Next(); err != nil || string(ev.Data) != "{}" {
		t.Errorf("a stream that is silent between frames: %+v, %v", ev, err)
	}
	_ = resp.Body.Close()
}

func TestCompression(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	for range 64 {
		_, _ = zip.Write(bytes.Repeat([]byte("x"), 1<<20))
	}
	_ = zip.Close()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "identity" {
			t.Errorf("asks for %q", r.Header.Get("Accept-Encoding"))
		}
		w.Header().Set("Content-Encoding", strings.TrimPrefix(r.URL.Path, "/"))
		_, _ = w.Write(packed.Bytes())
	})
	resp, err := client(t, s.URL+"/gzip", nil).Do(t.Context(), Request{Method: "GET"})
	if err != nil {
		t.Fatal(err)
	}
	// A bomb yields no more than its reader asks for.
	head := resp.Body.Head(1 << 10)
	if string(head) != strings.Repeat("x", 1<<10) || resp.Length != -1 {
		t.Errorf("%d bytes, length %d", len(head), resp.Length)
	}
	for _, encoding := range []string{"br", "gzip, gzip", "deflate"} {
		_, err := client(t, s.URL+"/"+encoding, nil).Do(t.Context(), Request{Method: "GET"})
		wantGuard(t, err, "encoding")
	}
}

// certificate makes a key pair that is signed by itself.
func certificate(t testing.TB, change func(*x509.Certificate)) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "canary"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"canary.example"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	change(template)
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func TestTLS(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change  func(*x509.Certificate)
		trusted bool
		version uint16
		refuse  string
	}{
		"sound":        {func(*x509.Certificate) {}, true, 0, ""},
		"self-signed":  {func(*x509.Certificate) {}, false, 0, "signed by nobody"},
		"expired":      {func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }, true, 0, "expired"},
		"another host": {func(c *x509.Certificate) { c.IPAddresses = nil }, true, 0, "another host"},
		"TLS 1.1":      {func(*x509.Certificate) {}, true, tls.VersionTLS11, "TLS"},
	} {
		pair, pool := certificate(t, c.change)
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) }))
		s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
		s.EnableHTTP2 = true
		s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS10, MaxVersion: c.version}
		s.StartTLS()
		guard := client(t, s.URL, func(config *Config) {
			config.RootCAs = x509.NewCertPool()
			if c.trusted {
				config.RootCAs = pool
			}
		})
		got, err := post(t.Context(), guard)
		switch {
		case c.refuse == "":
			if err != nil || got != "200 HTTP/2.0" || len(guard.TLSKey()) != 64 {
				t.Errorf("%s: %q %v, key %q", name, got, err, guard.TLSKey())
			}
		case c.version != 0:
			wantKind(t, err, Unreachable, false)
		default:
			wantGuard(t, err, c.refuse)
		}
		if strings.Contains(fmt.Sprint(err), "canary") {
			t.Errorf("%s: the error repeats the certificate: %v", name, err)
		}
		guard.Close()
		s.Close()
	}
	// TLS where plain HTTP answers.
	plain := serve(t, func(http.ResponseWriter, *http.Request) {})
	_, err := post(t.Context(), client(t, strings.Replace(plain.URL, "http:", "https:", 1), nil))
	wantKind(t, err, Unreachable, false)
}

// TestForeignAddressAtConnect: a name that resolves to the own machine is
// refused at the moment of connecting when a public server points to it.
func TestForeignAddressAtConnect(t *testing.T) {
	t.Parallel()
	var seen atomic.Int64
	s := serve(t, func(http.ResponseWriter, *http.Request) { seen.Add(1) })
	port := s.Listener.Addr().(*net.TCPAddr).Port
	own := client(t, s.URL, nil)
	if _, err := post(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	for _, from := range []Zone{Public, Private} {
		c, err := build(Config{Base: parse(t, fmt.Sprintf("http://rebound.invalid:%d/", port)), PlainHTTP: true}, from)
		if err != nil {
			t.Fatal(err)
		}
		// The resolver is the system's; what it answers is stood in for here.
		err = c.control("tcp", fmt.Sprintf("127.0.0.1:%d", port), nil)
		wantGuard(t, err, "internal address")
		c.Close()
	}
	before := seen.Load()
	c, err := build(Config{Base: parse(t, fmt.Sprintf("http://localhost:%d/", port))}, Public)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = post(t.Context(), c)
	wantGuard(t, err, "internal address")
	if seen.Load() != before {
		t.Error("the request arrived")
	}
	again, err := own.ForURL(parse(t, s.URL+"/oauth"))
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got, err := post(t.Context(), again); err != nil || got != "200 " {
		t.Errorf("from the own machine to it: %q, %v", got, err)
	}
}

func TestProxyIsUsed(t *testing.T) {
	t.Parallel()
	var saw atomic.Value
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		saw.Store(r.Method + " " + r.Host + " " + r.Header.Get("Proxy-Authorization"))
		w.WriteHeader(http.StatusProxyAuthRequired)
	})
	env := []string{"HTTPS_PROXY=" + strings.Replace(proxy.URL, "http://", "http://user:canary@", 1)}
	_, err := post(t.Context(), client(t, "https://mcp.invalid/canary", func(c *Config) { c.HostEnv = env }))
	wantKind(t, err, Unreachable, false)
	if strings.Contains(fmt.Sprintf("%v %#v", err, err), "canary") {
		t.Error(err)
	}
	if saw.Load() != "CONNECT mcp.invalid:443 Basic dXNlcjpjYW5hcnk=" {
		t.Errorf("the proxy saw %v", saw.Load())
	}
}

// authorizer hands out numbered tokens and asks for one more try.
type authorizer struct {
	n         atomic.Int64
	challenge atomic.Value
	again     bool
}

func (a *authorizer) Authorization(context.Context) (string, error) {
	return fmt.Sprintf("Bearer %d", a.n.Load()), nil
}

func (a *authorizer) Refused(_ context.Context, _ int, challenge, used string) (bool, error) {
	a.n.Add(1)
	a.challenge.Store(challenge + "|" + used)
	return a.again, nil
}

func TestAuthorizerIsAskedOnce(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.Header.Get("Authorization") == "Bearer 1" && r.URL.Path == "/once" {
			fmt.Fprint(w, "in")
			return
		}
		w.Header().Set("WWW-Authenticate", `Bearer realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	a := &authorizer{again: true}
	got, err := post(t.Context(), client(t, s.URL+"/once", func(c *Config) { c.Authorizer = a }))
	if err != nil || got != "200 in" || a.challenge.Load() != `Bearer realm="x"|Bearer 0` {
		t.Errorf("%q, %v, %v", got, err, a.challenge.Load())
	}
	requests.Store(0)
	storm := &authorizer{again: true}
	got, err = post(t.Context(), client(t, s.URL+"/never", func(c *Config) { c.Authorizer = storm }))
	if err != nil || got != "401 " || requests.Load() != 2 {
		t.Errorf("%q, %v after %d requests", got, err, requests.Load())
	}
}

// TestNoCanary: nothing of a URL but its origin, no header and no text of the
// server is in any error.
func TestNoCanary(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if user, password, _ := r.BasicAuth(); user != "canary" || password != "canary" {
			t.Errorf("userinfo arrived as %q", user)
		}
		switch r.URL.Path {
		case "/canary/away":
			http.Redirect(w, r, "http://canary:canary@127.0.0.2:1/canary?canary", http.StatusTemporaryRedirect)
		case "/canary/encoding":
			w.Header().Set("Content-Encoding", "canary")
		case "/canary/late":
			<-r.Context().Done()
		case "/canary/short":
			w.Header().Set("Content-Length", "10")
			fmt.Fprint(w, "canary")
		}
	})
	secret := func(base string) string {
		return strings.Replace(base, "http://", "http://canary:canary@", 1) + "/canary"
	}
	for _, base := range []string{secret(gone.URL), secret(s.URL) + "/away", secret(s.URL) + "/encoding", secret(s.URL) + "/late", secret(s.URL) + "/short", secret("http://canary.invalid:1")} {
		c := client(t, base+"?canary=canary", func(c *Config) {
			c.Header = http.Header{"X-Key": {"canary"}}
			c.HeaderTimeout, c.PlainHTTP = 200*time.Millisecond, true
		})
		_, err := post(t.Context(), c)
		if err == nil {
			t.Errorf("%s: no error", base)
		}
		text := fmt.Sprintf("%v %+v %#v", err, err, err)
		for inner := err; inner != nil; inner = errors.Unwrap(inner) {
			text += " " + inner.Error()
		}
		if !strings.Contains(base, "canary.invalid") {
			text += c.Origin()
		}
		if strings.Contains(text, "canary") {
			t.Errorf("%s", text)
		}
	}
}
