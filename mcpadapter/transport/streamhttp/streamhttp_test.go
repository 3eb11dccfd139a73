package streamhttp

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/httpguard"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

func TestNew(t *testing.T) {
	t.Parallel()
	good, err := New(Config{
		URL: "https://user:canary@Example.com/canary?key=canary#canary", Headers: map[string]string{"x-key": "canary", "Authorization": "canary"},
		HostEnv: []string{"HTTPS_PROXY=http://canary:canary@proxy:1", "SECRET=canary"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if good.Kind() != "http" || good.Origin() != "https://example.com" || good.Dialer() != wire.Dialer(good) {
		t.Errorf("%s %s", good.Kind(), good.Origin())
	}
	if good.URL() != "https://Example.com/canary?key=canary#canary" || good.Path() != "/canary" || fmt.Sprint(good.HeaderNames()) != "[Authorization X-Key]" {
		t.Errorf("%s %s %v", good.URL(), good.Path(), good.HeaderNames())
	}
	var keys []string
	for _, s := range good.Declared() {
		keys = append(keys, s.Key)
		if strings.Contains(s.Value, "canary") && !s.Secret {
			t.Errorf("%s is not marked secret", s.Key)
		}
	}
	if got := strings.Join(keys, " "); got != "header.Authorization header.X-Key plainHTTP url.origin url.path url.query url.userinfo" {
		t.Error(got)
	}
	for name, c := range map[string]Config{
		"no URL":            {},
		"bad URL":           {URL: "https://canary:\x7f"},
		"long URL":          {URL: "https://a.example/" + strings.Repeat("canary", 2000)},
		"plain HTTP":        {URL: "http://a.example/canary"},
		"scheme":            {URL: "ftp://a.example/canary"},
		"own header":        {URL: "https://a.example", Headers: map[string]string{"MCP-session-ID": "canary"}},
		"same header twice": {URL: "https://a.example", Headers: map[string]string{"x-a": "canary", "X-A": "canary"}},
		"header name":       {URL: "https://a.example", Headers: map[string]string{"x\x1b[2J": "canary"}},
		"header value":      {URL: "https://a.example", Headers: map[string]string{"X-A": "canary\n"}},
		"proxy":             {URL: "https://a.example", HostEnv: []string{"https_proxy=gopher://canary"}},
	} {
		var bad *ConfigError
		if _, err := New(c); !errors.As(err, &bad) || strings.ContainsAny(err.Error(), "\x1b\x7f") || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	render := func(h http.Header) string {
		var out []string
		for _, name := range []string{headerRevision, headerSession, headerMethod, headerName, "Mcp-Param-Region", headerLastEvent} {
			if v, ok := h[name]; ok {
				out = append(out, name+"="+v[0])
			}
		}
		return strings.Join(out, " ")
	}
	call := wire.Outgoing{ID: 1, Method: "tools/call", Name: "naïve", Params: []wire.Param{{Name: "Region", Value: "a b"}}}
	for _, c := range []struct {
		revision, method, want string
	}{
		{"2025-11-25", "initialize", ""},
		{"2025-11-25", "tools/call", "Mcp-Protocol-Version=2025-11-25 Mcp-Session-Id=s"},
		{"2025-06-18", "notifications/initialized", "Mcp-Protocol-Version=2025-06-18 Mcp-Session-Id=s"},
		{"2025-03-26", "tools/call", "Mcp-Session-Id=s"},
		{"2024-11-05", "tools/call", "Mcp-Session-Id=s"},
		{"2026-07-28", "server/discover", "Mcp-Protocol-Version=2026-07-28 Mcp-Method=server/discover Mcp-Name==?base64?bmHDr3Zl?= Mcp-Param-Region=a b"},
	} {
		out := call
		out.Revision, out.Method = c.revision, c.method
		h, err := postHeader(out, "s")
		if err != nil || render(h) != c.want {
			t.Errorf("%s %s: %s, %v", c.revision, c.method, render(h), err)
		}
		if h.Get("Accept") != "application/json, text/event-stream" || h.Get("Content-Type") != "application/json" {
			t.Errorf("%v", h)
		}
	}
	if got := render(streamHeader("2025-11-25", "s", "7")); got != "Mcp-Protocol-Version=2025-11-25 Mcp-Session-Id=s Last-Event-Id=7" {
		t.Error(got)
	}
	for _, p := range []wire.Param{{Name: "A\r\nB", Value: "x"}, {Name: "", Value: "x"}, {Name: "A", Value: strings.Repeat("x", maxParamBytes+1)}} {
		var guard *wire.GuardError
		if _, err := postHeader(wire.Outgoing{ID: 1, Method: "tools/call", Revision: "2026-07-28", Params: []wire.Param{p}}, ""); !errors.As(err, &guard) {
			t.Errorf("parameter %q: %v", p.Name, err)
		}
	}
}

func TestEncodeValue(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"us-west1": "us-west1", "a b": "a b", "~!": "~!", "Hello, 世界": "=?base64?SGVsbG8sIOS4lueVjA==?=", " padded ": "=?base64?IHBhZGRlZCA=?=",
		"line1\nline2": "=?base64?bGluZTEKbGluZTI=?=", "=?base64?literal?=": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=", "=?base64?open": "=?base64?open",
		"tab\tin": "=?base64?dGFiCWlu?=", "": "=?base64??=", "\x7f": "=?base64?fw==?=",
	} {
		if got := encodeValue(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

func TestValidSession(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{"a": true, "!~": true, strings.Repeat("x", maxSessionID): true, strings.Repeat("x", maxSessionID+1): false,
		"": false, "a b": false, "a\tb": false, "a\x00": false, "é": false, "\x7f": false} {
		if validSession(id) != want {
			t.Errorf("%.20q: %v", id, !want)
		}
	}
}

func TestErrorFrame(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"m"}}` + "\n":                           `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"m"}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-1,"data":9007199254740993,"message":"a","code":-2}}`: `{"jsonrpc":"2.0","id":7,"error":{"code":-1,"data":9007199254740993,"message":"a","code":-2}}`,
		`{"jsonrpc":"2.0","error":{"code":-1}}`:                                                           `{"jsonrpc":"2.0","id":7,"error":{"code":-1}}`,
		`{"jsonrpc":"2.0","id":8,"error":{}}`:                                                             "", `{"jsonrpc":"2.0","id":"7","error":{}}`: "", `{"id":7,"result":{}}`: "", `{"id":7,"error":"text"}`: "",
		`{"id":7,"method":"m","error":{}}`: "", `[{"id":7,"error":{}}]`: "", `not json`: "", ``: "", `{"error":null}`: "",
		`{"ID":7,"error":{}}`: "", `{"id":7,"id":7,"error":{}}`: "",
	} {
		if got := string(errorFrame([]byte(body), 7)); got != want {
			t.Errorf("%s:\n got %s\nwant %s", body, got, want)
		}
	}
	over := `{"error":{"x":"` + strings.Repeat("x", maxErrorBody) + `"}}`
	if errorFrame([]byte(over), 7) != nil {
		t.Error("an error over the bound")
	}
}

// FuzzErrorFrame: what is made of a body is one frame with the request's id.
func FuzzErrorFrame(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-1}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":7,"error":{"code":-1}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		frame := errorFrame(body, 7)
		if frame == nil {
			return
		}
		if id, method := httpguard.Peek(frame); !wire.IsFrame(frame) || string(id) != "7" || method != "" {
			t.Fatalf("%q became %q", body, frame)
		}
	})
}

func TestSessionGone(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		`{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`: true,
		`{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}`:       true,
		`{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"}}`:                                   true,
		"Invalid session id": true, "session has expired": true,
		`{"jsonrpc":"2.0","error":{"code":-32602,"message":"session not found"},"id":3}`: false,
		`{"jsonrpc":"2.0","error":{"code":-32602,"message":"bad argument"},"id":null}`:   false,
		"<html>session not found</html>":                                                 false, "no such table": false, "bad session cookie": false, "": false,
	} {
		if got := sessionGone([]byte(body)); got != want {
			t.Errorf("%s: %v", body, got)
		}
	}
}

func TestStatusError(t *testing.T) {
	t.Parallel()
	resp := &httpguard.Response{Status: 429, MediaType: "text/plain", Header: http.Header{"Retry-After": {"7"}, "Www-Authenticate": {"Basic"}}}
	e := statusError(resp, []byte(strings.Repeat("x", wire.MaxStatusBody-1)+"é and more"))
	if e.RetryAfter != 7*time.Second || len(e.Body) != wire.MaxStatusBody-1 || e.Challenge != "" || e.MediaType != "text/plain" {
		t.Errorf("%+v", e)
	}
	resp.Status, resp.MediaType = 401, "application/octet-stream"
	if e = statusError(resp, []byte("text")); e.Challenge != "Basic" || e.Body != "" {
		t.Errorf("%+v", e)
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for value, want := range map[string]time.Duration{"": 0, "0": 0, "-1": 0, "x": 0, "90": 90 * time.Second, "999999": maxRetryAfter,
		now.Add(2 * time.Minute).Format(http.TimeFormat): 2 * time.Minute, now.Add(-time.Minute).Format(http.TimeFormat): 0} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q: %s", value, got)
		}
	}
}

func TestRemarksAreBounded(t *testing.T) {
	t.Parallel()
	var r remarks
	for i := range 3 * maxRemarks {
		r.add(fmt.Sprint("remark ", i))
	}
	r.add("remark 1")
	if list := r.list(); len(list) != maxRemarks || list[1] != "remark 1 (2 times)" {
		t.Error(list)
	}
}
