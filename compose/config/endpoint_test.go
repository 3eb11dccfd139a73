package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/looprig/looprig/compose/config"
)

func TestEndpointsAndCapabilities(t *testing.T) {
	t.Parallel()
	f := load(t, `{"mcpServers": {
		"web": {"url": "https://mcp.example/a?k=${TOKEN}", "headers": {"Authorization": "Bearer ${TOKEN}", "X-Team": "a"}},
		"old": {"type": "sse", "url": "http://127.0.0.1:8080/sse", "discovery": "lazy", "logLevel": "warning",
			"capabilities": {"sampling": true, "roots": ["/srv/project"]},
			"sampling": {"model": "operator", "tokenBudget": 20000, "approve": "reply", "maxTokens": 100, "depth": 1, "concurrency": 1, "tools": true}},
		"lan": {"type": "http", "url": "http://10.0.0.7/mcp", "plainHttp": true},
		"six": {"url": "http://[::1]:9/mcp"},
		"demo": {"builtin": "demo"}}}`)
	for _, s := range f.Servers {
		if !s.Valid() {
			t.Errorf("%s: %v", s.Name, s.Faults)
		}
	}
	web, old, lan, demo := f.Servers[0], f.Servers[1], f.Servers[2], f.Servers[4]
	if web.Type != "http" || web.URL != "https://mcp.example/a?k=t0" || web.Headers["Authorization"] != "Bearer t0" || !web.Endpoint() || web.Sampling {
		t.Errorf("web is %+v", web)
	}
	want := config.SamplingPolicy{Model: "operator", Approve: "reply", TokenBudget: 20000, MaxTokens: 100, Depth: 1, Concurrency: 1, Tools: true}
	if old.Type != "sse" || old.Discovery != "lazy" || old.LogLevel != "warning" || !old.Sampling || old.SamplingPolicy != want || !slices.Equal(old.Roots, []string{"/srv/project"}) {
		t.Errorf("old is %+v", old)
	}
	if !lan.PlainHTTP || !demo.Sampling || demo.Endpoint() {
		t.Errorf("lan %+v, demo %+v", lan, demo)
	}
}

// What is wrong with an address or a header is said without repeating it: both
// may carry secrets.
func TestEndpointFaults(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		`{"type": "http"}`:                                                                          "needs a url",
		`{"url": "mcp.example/s3cret"}`:                                                             "must be whole",
		`{"url": "ftp://mcp.example/s3cret"}`:                                                       "http:// or https://",
		`{"url": "https://mcp.example:65536/s3cret"}`:                                               "from 1 to 65535",
		`{"url": "http://127.0.0.1:0/s3cret"}`:                                                      "from 1 to 65535",
		`{"url": "https:///s3cret"}`:                                                                "names no host",
		`{"url": "https://u:s3cret@mcp.example/"}`:                                                  "does not belong into the address",
		`{"url": "https://mcp.example/#s3cret"}`:                                                    "fragment",
		`{"url": "https://mcp.example/s3cret%zz"}`:                                                  "cannot be read",
		`{"url": "https://mcp.example/s3cret x"}`:                                                   "cannot be read",
		`{"url": "http://mcp.example/s3cret"}`:                                                      `"plainHttp": true`,
		`{"url": "http://127.0.0.1.example/s3cret"}`:                                                `"plainHttp": true`,
		`{"url": "http://${NOT_SET_S3}/${"}`:                                                        "NOT_SET_S3 is not set",
		`{"url": "http://mcp.example/${"}`:                                                          `"plainHttp": true`,
		`{"url": "https://x/", "command": "y"}`:                                                     "url does not belong",
		`{"type": "http", "url": "https://x/", "env": {"K": "s3cret"}}`:                             "env does not belong",
		`{"url": "https://x/", "headers": {"a: s3cret": "x"}}`:                                      "cannot be the name",
		`{"url": "https://x/", "headers": {"X": "s3cret\r\nY: 1"}}`:                                 "line break",
		`{"url": "https://x/", "headers": {"connection": "s3cret"}}`:                                "own to send",
		`{"url": "https://x/", "headers": {"Mcp-Session-Id": "s3cret"}}`:                            "own to send",
		`{"url": "https://x/", "headers": {"Host": "s3cret"}}`:                                      "own to send",
		`{"url": "https://x/", "headers": {"X-A": "s3cret", "x-a": "1"}}`:                           "are the same",
		`{"url": "https://x/", "headers": {"X-A": "${NOT_SET_ANYWHERE}"}}`:                          "NOT_SET_ANYWHERE",
		`{"url": "https://x/", "capabilities": {"roots": ["rel"]}}`:                                 "not an absolute path",
		`{"url": "https://x/", "capabilities": {"roots": ["/a/../b"]}}`:                             `"/b"`,
		`{"url": "https://x/", "capabilities": {"roots": ["/a", "/a"]}}`:                            "named twice",
		`{"url": "https://x/", "plainHttp": "yes"}`:                                                 "expected a boolean",
		`{"url": "https://x/", "sampling": {"tokenBudget": 0}}`:                                     "from 1 to",
		`{"url": "https://x/", "sampling": {"model": "g pt"}}`:                                      "printable ASCII",
		`{"url": "https://x/", "oauth": {"clientId": "a"}}`:                                         "take a header",
		`{"url": "https://x/` + strings.Repeat("s3cret", 2000) + `"}`:                               "limit 8192",
		`{"url": "https://x/", "headers": {"X-A": "` + strings.Repeat("s3cret", 4000) + `"}}`:       "limit 16384",
		`{"url": "https://x/", "headers": {"X-A": "` + strings.Repeat("s", 4000) + `"}, "urll": 1}`: `did you mean "url"`,
	} {
		f := load(t, `{"mcpServers": {"x": `+entry+`}}`)
		s := f.Servers[0]
		if s.Valid() || !strings.Contains(s.Faults.Error(), want) {
			t.Errorf("%.100s: %v, want %s", entry, s.Faults, want)
			continue
		}
		if strings.Contains(s.Faults.Error(), "s3cret") {
			t.Errorf("%.100s: the fault repeats a value: %v", entry, s.Faults)
		}
		if !strings.Contains(s.Faults.Error(), "mcp.json:1:") {
			t.Errorf("%.100s: no position: %v", entry, s.Faults)
		}
	}
}

// A form is filled with an entry as it is written.
func TestVariablesOfAnEndpointStayAsWritten(t *testing.T) {
	t.Parallel()
	s, err := config.ParseServer("x", []byte(`{"url": "https://${HOST}/mcp", "capabilities": {"roots": ["${ROOT}/a"]}}`), nil)
	if err != nil || s.URL != "https://${HOST}/mcp" || s.Roots[0] != "${ROOT}/a" {
		t.Errorf("%+v, %v", s, err)
	}
}
