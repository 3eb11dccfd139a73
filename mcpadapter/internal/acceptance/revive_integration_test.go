//go:build integration && linux

package acceptance

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/looprig/looprig/internal/ptytest"
)

func must(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// observed is how long a binding that must stay as it is is looked at.
const observed = 700 * time.Millisecond

// What a person has disabled or refused, and what has no authorisation, stays
// so when somebody edits mcp.json while the session runs; and what was refused
// is asked about again by the next session, and not started before.
func TestTerminalNothingIsRevivedByAnEdit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var tried atomic.Int64
	closed := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		tried.Add(1)
		rw.Header().Set("WWW-Authenticate", "Bearer")
		rw.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(closed.Close)
	off := w.site("basic", ways["http 2025-11-25"])
	refused := w.site("basic", ways["http 2026-07-28"])
	entry := func(name, url, more string) string { return fmt.Sprintf(`%q: {"url": %q%s}`, name, url, more) }
	file := func(more string) string {
		return `{"mcpServers": {` + strings.Join([]string{
			entry("off", off.URL, more), entry("no", refused.URL, more), entry("token", closed.URL, more), quoted(w.server("kid", "basic", "")),
		}, ", ") + `}}`
	}
	w.seed("mcp.json", file(""))
	x := w.terminal(120, 36)
	for range 4 { // each is asked about, in an order of its own
		s := x.gate("Accept", "Refuse")
		flat := strings.NewReplacer("│", "", "\n", "", " ", "").Replace(s)
		answer, host := "a", strings.TrimPrefix(refused.URL, "http://")
		if strings.Contains(flat, host) || !strings.Contains(flat, "http://127.0.0.1") {
			answer = "d" // the second endpoint, and the process
		}
		x.Type(answer)
		x.Until(patience, "the next question", func(next string) bool {
			return next != s && (!strings.Contains(next, "Refuse") || fingerprintOf(next) != fingerprintOf(s))
		})
	}
	x.Until(patience, "the states", func(s string) bool {
		return strings.Contains(s, "● off       ready") && strings.Count(s, "untrusted") >= 2 && strings.Contains(s, "token")
	})
	x.Type(ptytest.F2)
	x.see("Bindings")
	for !strings.Contains(x.Screen(), "▸ off") {
		x.Type("k")
		time.Sleep(apart / 4)
	}
	x.Type("e")
	x.see("off: disable done")
	x.leave()
	before := [3]int{off.requests(), refused.requests(), int(tried.Load())}
	if before[2] == 0 || before[1] != 0 || len(w.log("kid")) != 0 {
		t.Errorf("requests %v, process %d", before, len(w.log("kid")))
	}

	// Behind the person's back.
	w.seed("mcp.json", file(`, "enabled": true, "required": true, "headers": {"Authorization": "Bearer x"}`))
	end := time.Now().Add(observed)
	for time.Now().Before(end) {
		if s := x.Screen(); !strings.Contains(s, "disabled") || strings.Contains(s, "● no        ready") || strings.Contains(s, "● token     ready") {
			t.Fatalf("the screen is\n%s", s)
		}
		time.Sleep(pollEvery)
	}
	x.line("/call off alpha {}")
	x.Until(patience, "a refusal", func(s string) bool { return strings.Contains(s, "no tool") || strings.Contains(s, "unavailable") })
	if after := [3]int{off.requests(), refused.requests(), int(tried.Load())}; after != before || len(w.log("kid")) != 0 {
		t.Errorf("requests %v before the edit, %v after, the process wrote %d entries", before, after, len(w.log("kid")))
	}
	x.quit()

	// A new session: what was refused is not started, nor is it with --tofu.
	for _, name := range []string{"no", "kid"} {
		for _, tofu := range [][]string{nil, {"--tofu"}} {
			w.run(append([]string{"call", name, "alpha"}, tofu...)...).want(6)
		}
	}
	if refused.requests() != 0 || len(w.log("kid")) != 0 {
		t.Error("what was refused was reached by another session")
	}
}

// requests counts what was asked of the site.
func (s *site) requests() int {
	return len(s.Log().Requests(http.MethodPost)) + len(s.Log().Requests(http.MethodGet))
}

// fingerprintOf is the fingerprint that a screen shows.
func fingerprintOf(s string) string {
	_, rest, _ := strings.Cut(strings.NewReplacer("│", "", "\n", "", " ", "").Replace(s), "sha256:")
	return rest[:min(len(rest), 64)]
}
