package httpguard

import (
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

func parse(t testing.TB, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestZones(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Zone{
		"8.8.8.8": Public, "2606:4700::1": Public, "64:ff9b::808:808": Public,
		"127.0.0.1": Loopback, "127.255.0.9": Loopback, "::1": Loopback, "::ffff:127.0.0.1": Loopback, "64:ff9b::7f00:1": Loopback, "2002:7f00:1::": Loopback,
		"10.0.0.1": Private, "172.16.3.4": Private, "192.168.1.1": Private, "fd12::1": Private, "100.64.0.1": Private, "::ffff:10.1.1.1": Private, "fec0::1": Private,
		"169.254.169.254": Forbidden, "::ffff:169.254.169.254": Forbidden, "fe80::1%eth0": Forbidden, "0.0.0.0": Forbidden, "::": Forbidden, "0.1.2.3": Forbidden,
		"224.0.0.1": Forbidden, "ff02::1": Forbidden, "255.255.255.255": Forbidden, "100.100.100.200": Forbidden, "168.63.129.16": Forbidden, "fd00:ec2::254": Forbidden,
		"64:ff9b::a9fe:a9fe": Forbidden, "2002:a9fe:a9fe::": Forbidden, "::169.254.169.254": Forbidden,
	} {
		if got := ZoneOf(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: zone %d, want %d", text, got, want)
		}
	}
	for _, c := range []struct {
		from, to Zone
		want     bool
	}{
		{Public, Public, true}, {Public, Private, false}, {Public, Loopback, false}, {Private, Loopback, false}, {Private, Private, true},
		{Loopback, Private, true}, {Loopback, Loopback, true}, {Loopback, Forbidden, false}, {Forbidden, Forbidden, false},
	} {
		if got := mayPoint(c.from, c.to); got != c.want {
			t.Errorf("from %d to %d: %v", c.from, c.to, got)
		}
	}
}

func TestProxies(t *testing.T) {
	t.Parallel()
	env := []string{"HTTPS_PROXY=http://upper:1", "https_proxy=proxy:3128", "http_proxy=socks5://s:1080",
		"NO_PROXY=direct.example, .sub.example,*.star.example,10.0.0.0/8,192.168.1.7,other.example:8443,[2001:470::1]"}
	for raw, want := range map[string]string{
		"https://a.example/":          "http://proxy:3128",
		"http://a.example/":           "socks5://s:1080",
		"https://direct.example/":     "",
		"https://x.direct.example/":   "",
		"https://notdirect.example/":  "http://proxy:3128",
		"https://sub.example/":        "http://proxy:3128",
		"https://x.sub.example/":      "",
		"https://star.example/":       "http://proxy:3128",
		"https://x.star.example/":     "",
		"https://10.2.3.4/":           "",
		"https://192.168.1.7/":        "",
		"https://192.168.1.8/":        "http://proxy:3128",
		"https://other.example/":      "http://proxy:3128",
		"https://other.example:8443/": "",
		"https://[2001:470::1]/":      "",
		"https://localhost:1/":        "",
		"https://127.0.0.1/":          "",
	} {
		got := ""
		u, err := proxyFor(env, parse(t, raw))
		if u != nil {
			got = u.String()
		}
		if err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", raw, got, err, want)
		}
	}
	if u, err := proxyFor(nil, parse(t, "https://a.example")); u != nil || err != nil {
		t.Errorf("without an environment: %v, %v", u, err)
	}
	if u, _ := proxyFor(append(env, "no_proxy=*"), parse(t, "https://a.example")); u != nil {
		t.Error("* exempts nothing")
	}
	var bad *ConfigError
	if _, err := proxyFor([]string{"HTTPS_PROXY=ftp://u:canary@p"}, parse(t, "https://a.example")); !errors.As(err, &bad) || strings.Contains(err.Error(), "canary") {
		t.Errorf("a proxy of another kind: %v", err)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"https://Example.COM:443/a?b#c": "https://example.com", "https://example.com:8443": "https://example.com:8443",
		"http://127.0.0.1:80/x": "http://127.0.0.1", "http://[::1]:8080/x": "http://[::1]:8080", "http://localhost/x": "http://localhost",
		"https://user:canary@example.com/": "https://example.com", "https://bücher.example/": "https://xn--bcher-kva.example", "https://my_host/": "https://my_host",
	} {
		c, err := New(Config{Base: parse(t, raw)})
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		if c.Origin() != want {
			t.Errorf("%s: origin %s", raw, c.Origin())
		}
		c.Close()
	}
	for _, raw := range []string{"http://example.com/canary", "http://10.0.0.1/", "ftp://example.com/", "/canary", "https:///canary", "https:canary", "https://a:65536/canary", "https://a:0/canary", "https://exa mple.com/"} {
		u, err := url.Parse(raw)
		if err != nil {
			u = &url.URL{Scheme: "https", Host: "exa mple.com"}
		}
		var bad *ConfigError
		if _, err := New(Config{Base: u}); !errors.As(err, &bad) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", raw, err)
		}
	}
	if _, err := New(Config{Base: parse(t, "http://example.com/"), PlainHTTP: true}); err != nil {
		t.Errorf("plain HTTP that was asked for: %v", err)
	}
	for name, value := range map[string]string{"X Y": "a", "": "a", "Host": "a", "mcp-session-id": "a", "Mcp-Param-X": "a", "Accept": "a", "X-Ok": "canary\r\nB: c", "X-Long": strings.Repeat("v", maxHeaderValue+1)} {
		var bad *ConfigError
		if _, err := New(Config{Base: parse(t, "https://a.example"), Header: http.Header{name: {value}}}); !errors.As(err, &bad) || strings.Contains(err.Error(), "canary") {
			t.Errorf("header %q: %v", name, err)
		}
	}
}

func TestForURL(t *testing.T) {
	t.Parallel()
	public, err := New(Config{Base: parse(t, "https://mcp.example/x"), Header: http.Header{"Authorization": {"canary"}}, PlainHTTP: true})
	if err != nil {
		t.Fatal(err)
	}
	own, _ := New(Config{Base: parse(t, "http://127.0.0.1:1/x")})
	for raw, c := range map[string]*Client{
		"https://127.0.0.1/": public, "https://[::1]/": public, "https://localhost/": public, "https://10.0.0.1/": public, "https://169.254.169.254/latest": public,
		"https://[::ffff:10.0.0.1]/": public, "http://auth.example/": public, "https://u:p@auth.example/": public, "https://0.0.0.0/": public, "file:///etc/passwd": public,
		"http://169.254.169.254/": own, "http://other.example/": own,
	} {
		var guard *wire.GuardError
		if _, err := c.ForURL(parse(t, raw)); !errors.As(err, &guard) {
			t.Errorf("%s from %s: %v", raw, c.Origin(), err)
		}
	}
	other, err := public.ForURL(parse(t, "https://auth.example/.well-known"))
	if err != nil || len(other.config.Header) != 0 || other.basic != "" || other.from != Public {
		t.Fatalf("%+v, %v", other, err)
	}
	if _, err := own.ForURL(parse(t, "http://localhost:2/")); err != nil {
		t.Errorf("from the own machine to it: %v", err)
	}
	for _, raw := range []string{"https://mcp.example:444/", "http://mcp.example/", "https://mcp.example.evil/", "https://u@mcp.example/"} {
		var guard *wire.GuardError
		if _, err := public.Do(t.Context(), Request{Method: "GET", URL: parse(t, raw)}); !errors.As(err, &guard) {
			t.Errorf("a request to %s: %v", raw, err)
		}
	}
}
