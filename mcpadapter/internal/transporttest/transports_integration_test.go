//go:build integration

package transporttest_test

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/looprig/looprig/mcpadapter/internal/fixture"
	"github.com/looprig/looprig/mcpadapter/internal/transporttest"
	"github.com/looprig/looprig/mcpadapter/transport"
	"github.com/looprig/looprig/mcpadapter/transport/sse"
	"github.com/looprig/looprig/mcpadapter/transport/stdio"
	"github.com/looprig/looprig/mcpadapter/transport/streamhttp"
)

func TestMain(m *testing.M) {
	if handled, code := stdio.HelperMain(os.Args); handled {
		os.Exit(code)
	}
	// More than there are processors run at once: they wait more than they compute.
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(4*runtime.GOMAXPROCS(0))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		stdio.CloseHelper()
		os.Exit(code)
	}))
}

// The canaries of every configuration.
const (
	canaryArg    = "canary-argument"
	canaryEnv    = "canary-environment"
	canaryHeader = "canary-header"
	canaryQuery  = "canary-query"
	canaryUser   = "canary-user"
	canaryPass   = "canary-password"
)

func TestStdio(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"2024-11-05", "2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			transporttest.Run(t, transporttest.Kit{Revision: revision, Start: startStdio})
		})
	}
}

func startStdio(t *testing.T) transporttest.Server {
	t.Helper()
	log := t.TempDir() + "/" + canaryArg
	tr, err := stdio.New(stdio.Config{
		Command: fixture.Build(t), Args: fixture.Args(transporttest.Scenario, log, nil),
		Env: map[string]string{"CANARY": canaryEnv},
	})
	if err != nil {
		t.Fatal(err)
	}
	return transporttest.Server{Transport: tr, Canaries: []string{canaryArg, canaryEnv}}
}

func TestStreamableHTTP(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, revision string
		set            map[string]string
	}{
		{"2025-03-26", "2025-03-26", nil},
		{"2025-06-18/json", "2025-06-18", map[string]string{"answer": "json"}},
		{"2025-11-25", "2025-11-25", nil},
		{"2025-11-25/ids", "2025-11-25", map[string]string{"ids": "true", "eol": "crlf", "comments": "true", "bom": "true"}},
		{"2025-11-25/no-session", "2025-11-25", map[string]string{"session": "false", "eol": "cr"}},
		{"2026-07-28", "2026-07-28", nil},
		{"2026-07-28/json", "2026-07-28", map[string]string{"answer": "json"}},
		{"2026-07-28/keep-open", "2026-07-28", map[string]string{"keep-open": "true"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			start := overHTTP(c.set, false, func(url string, headers map[string]string) (transport.Transport, error) {
				return streamhttp.New(streamhttp.Config{URL: url, Headers: headers, HostEnv: []string{}})
			})
			transporttest.Run(t, transporttest.Kit{Revision: c.revision, Aside: c.set["answer"] == "json", Start: start})
		})
	}
}

func TestSSE(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]map[string]string{
		"plain":    nil,
		"crlf":     {"eol": "crlf", "comments": "true", "bom": "true"},
		"absolute": {"eol": "cr", "endpoint": "{origin}/message?session={session}#part"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := overHTTP(set, true, func(url string, headers map[string]string) (transport.Transport, error) {
				return sse.New(sse.Config{URL: url, Headers: headers, HostEnv: []string{}})
			})
			transporttest.Run(t, transporttest.Kit{Revision: "2024-11-05", Start: start})
		})
	}
}

// overHTTP serves in this process and reaches the server with a URL and headers
// that are full of secrets.
func overHTTP(set map[string]string, old bool, dial func(string, map[string]string) (transport.Transport, error)) func(*testing.T) transporttest.Server {
	return func(t *testing.T) transporttest.Server {
		t.Helper()
		h := fixture.ServeScenario(t, transporttest.Scenario, set, fixture.HTTPOptions{SSE: old})
		u, err := url.Parse(h.URL)
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.UserPassword(canaryUser, canaryPass)
		u.RawQuery = "token=" + canaryQuery
		tr, err := dial(u.String(), map[string]string{"X-Api-Key": canaryHeader})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { checkSent(t, h) })
		return transporttest.Server{
			Transport: tr, Kill: h.Stop,
			Canaries: []string{canaryHeader, canaryQuery, canaryUser, canaryPass, strings.TrimPrefix(u.Path, "/") + "?"},
		}
	}
}

// checkSent makes sure that the canaries were used at all, so that their
// absence elsewhere means something.
func checkSent(t *testing.T, h *fixture.HTTPServer) {
	t.Helper()
	posts := h.Log().Requests("POST")
	if len(posts) == 0 || posts[0].HTTP.Header["X-Api-Key"] != canaryHeader ||
		!strings.HasPrefix(posts[0].HTTP.Header["Authorization"], "Basic ") {
		t.Errorf("the configured headers were not sent with %d posts", len(posts))
	}
}
