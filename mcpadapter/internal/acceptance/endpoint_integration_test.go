//go:build integration && linux

package acceptance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/looprig/looprig/internal/ptytest"
	"github.com/looprig/looprig/mcpadapter/internal/fixture"
)

// A way is how a server is reached and which era it speaks.
type way struct {
	sse bool
	era string
}

// ways are all ways over a network.
var ways = map[string]way{
	"http 2025-11-25": {era: fixture.EraLegacy},
	"http 2026-07-28": {era: fixture.EraModern},
	"sse":             {sse: true, era: fixture.EraLegacy},
}

// site is a fixture server over HTTP; it runs in the test process and can be
// killed and started again on its port.
type site struct {
	*fixture.HTTPServer
	sse bool
}

func (w *world) site(scenario string, y way, settings ...string) *site {
	w.t.Helper()
	set := map[string]string{"era": y.era}
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		set[key] = value
	}
	return &site{w.serve(scenario, set, y.sse), y.sse}
}

func (w *world) serve(scenario string, set map[string]string, sse bool) *fixture.HTTPServer {
	w.t.Helper()
	return fixture.ServeScenario(w.t.(*testing.T), scenario, maps.Clone(set), fixture.HTTPOptions{SSE: sse})
}

// entry is the site as an entry of a script's servers.
func (s *site) entry(name, extra string) string {
	if extra != "" {
		extra = ", " + extra
	}
	return fmt.Sprintf("%s: {type: %s, url: %q%s}", name, s.kind(), s.URL, extra)
}

func (s *site) kind() string {
	if s.sse {
		return "sse"
	}
	return "http"
}

// install adds the site to the home as a person would, which pins it.
func (s *site) install(w *world, name string) {
	w.t.Helper()
	args := []string{"mcp", "add", name, "--url", s.URL}
	if s.sse {
		args = append(args, "--transport", "sse")
	}
	w.run(args...).want(0)
}

// watchers counts how often somebody asked for the changes of fixture://one.
func (s *site) watchers() int {
	n := len(s.Log().Received("resources/subscribe"))
	for _, e := range s.Log().Received("subscriptions/listen") {
		if strings.Contains(string(e.Params), "fixture://one") {
			n++
		}
	}
	return n
}

// down kills the server until the callback has returned.
func (s *site) down(t testing.TB, meanwhile func()) {
	t.Helper()
	s.Stop()
	meanwhile()
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
}

// live is a run whose events can be read while it runs.
type live struct {
	w      *world
	cmd    *exec.Cmd
	cancel context.CancelFunc
	stderr bytes.Buffer

	mu  sync.Mutex
	out []byte
}

func (l *live) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out = append(l.out, p...)
	return len(p), nil
}

// watched begins a script and returns while it runs.
func (w *world) watched(text string, flags ...string) *live {
	w.t.Helper()
	path := w.write("script.yaml", text)
	ctx, cancel := context.WithTimeout(context.Background(), runWait)
	l := &live{w: w, cancel: cancel}
	l.cmd = w.command(ctx, append([]string{"--headless", "--tofu", "--output", "json", "--script", path}, flags...)...)
	l.cmd.Stdout, l.cmd.Stderr = l, &l.stderr
	if err := l.cmd.Start(); err != nil {
		cancel()
		w.t.Fatal(err)
	}
	return l
}

// find is the first event so far that is as wanted.
func (l *live) find(is func(event) bool) (event, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range bytes.Lines(l.out) {
		var e event
		if !bytes.HasSuffix(line, []byte("\n")) || json.Unmarshal(line, &e) != nil {
			continue
		}
		if e.line = string(bytes.TrimSpace(line)); is(e) {
			return e, true
		}
	}
	return event{}, false
}

// see waits for an event.
func (l *live) see(what string, is func(event) bool) event {
	l.w.t.Helper()
	var found event
	l.w.await(what, patience, func() bool {
		e, ok := l.find(is)
		found = e
		return ok
	})
	return found
}

// finish waits for the run's end.
func (l *live) finish() *run {
	l.w.t.Helper()
	defer l.cancel()
	err := l.cmd.Wait()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		l.w.t.Fatal(err)
	}
	r := &run{t: l.w.t, code: l.cmd.ProcessState.ExitCode(), stdout: l.out, stderr: l.stderr.Bytes()}
	r.parse()
	return r
}

// states are those that a binding went through, in order.
func (r *run) states(binding string) []string {
	var out []string
	for _, e := range r.of("binding.changed") {
		if e.Binding == binding {
			out = append(out, e.State)
		}
	}
	return out
}

// lines are the events of some types as they are written.
func (r *run) lines(types ...string) string {
	var b strings.Builder
	for _, e := range r.events {
		if slices.Contains(types, e.Type) {
			b.WriteString(e.line + "\n")
		}
	}
	return b.String()
}

// A server over HTTP that is killed and started again on its port in the middle
// of a call: the call's outcome is unknown and it is not made again, the binding
// comes back by itself, and the next call works.
func TestEndpointComesBackInAScript(t *testing.T) {
	t.Parallel()
	for name, y := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := w.site("everything", y, "ms=60000")
			l := w.watched("version: 1\nservers: {" + s.entry("fx", "") + ", " + w.server("good", "basic", "") + `}
steps:
  - call: {tool: mcp__fx__slow, args: {n: 1}}
    expect: ['.outcome == "indeterminate"', '.tools[0].sent']
  - call: {tool: mcp__good__alpha, args: {n: 1}}
    expect: ['.outcome == "ok"']
  - wait: {binding: fx, state: reconnecting, timeout: 20s}
  - wait: {binding: fx, state: ready, timeout: 20s}
  - call: {tool: mcp__fx__echo, args: {text: after}}
    expect: ['.outcome == "ok"', '.text | contains("after")']
`)
			w.await("the call", patience, func() bool { return len(s.Log().Calls("slow")) == 1 })
			s.down(t, func() {
				l.see("the loss", func(e event) bool { return e.Binding == "fx" && e.State == "reconnecting" })
				l.see("the other server's answer", func(e event) bool {
					return e.Type == "tool.completed" && e.Tool == "mcp:good:alpha" && e.Outcome == "ok"
				})
			})
			r := l.finish().want(0)
			if n := len(s.Log().Calls("slow")); n != 1 {
				t.Errorf("the call in flight was received %d times", n)
			}
			path := strings.Join(r.states("fx"), " ")
			if !strings.Contains(path, "ready degraded reconnecting") || !strings.HasSuffix(path, "ready closing closed") {
				t.Errorf("the states are %s", path)
			}
			if rep := w.verify(); rep.Intents != 3 || rep.Outcomes != 3 || rep.OpenTotal != 0 {
				t.Errorf("the ledger has %+v", rep)
			}
			w.gone("good", killWait)
		})
	}
}

// The same in the interface, with a resource whose changes are reported: it
// goes on being reported without anybody's doing.
func TestTerminalEndpointComesBack(t *testing.T) {
	t.Parallel()
	for name, y := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := w.site("everything", y, "ms=60000")
			s.install(w, "fx")
			x := w.terminal(120, 36)
			x.see("● fx        ready")
			x.Type(ptytest.F3)
			x.see("Catalog · fx")
			x.Type("]", "]")
			x.see("fixture://one")
			x.Type("s")
			x.see("changes of", "are reported")
			x.leave()
			x.line("/call fx touch {}")
			x.see("resource changed: ")

			x.line("/call fx slow {}")
			w.await("the call", patience, func() bool { return len(s.Log().Calls("slow")) == 1 })
			s.down(t, func() {
				x.see("outcome unknown")
				x.Until(patience, "when it is tried again", func(s string) bool {
					return strings.Contains(s, "again in ") || strings.Contains(s, "trying")
				})
			})
			x.see("● fx        ready")
			w.await("the changes to be reported again", patience, func() bool { return s.watchers() == 2 })
			before := strings.Count(x.Screen(), "resource changed: ")
			x.line("/call fx touch {}")
			x.Until(patience, "a change after the restart", func(s string) bool {
				return strings.Count(s, "resource changed: ") > before && strings.Count(s, "✔ ok") == 2
			})
			x.quit()
			if n := len(s.Log().Calls("slow")); n != 1 {
				t.Errorf("the call in flight was received %d times", n)
			}
			outcomes := map[string]int{}
			for _, e := range w.events().of("tool.completed") {
				outcomes[e.Outcome]++
			}
			if outcomes["indeterminate"] != 1 || outcomes["ok"] != 2 {
				t.Errorf("the outcomes are %v\n%s", outcomes, w.events().lines("binding.changed", "tool.completed"))
			}
		})
	}
}

// An optional server that is down at the start joins by itself once it is up;
// until then the event and the screen say when it is tried again.
func TestEndpointJoinsLater(t *testing.T) {
	t.Parallel()
	for name, y := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := w.site("basic", y)
			entry := s.entry("fx", "")
			s.Stop()
			l := w.watched("version: 1\nservers: {" + entry + `}
steps:
  - wait: {binding: fx, state: ready, timeout: 30s}
  - call: {tool: mcp__fx__alpha, args: {n: 2}}
    expect: ['.outcome == "ok"']
`)
			failed := l.see("the failure", func(e event) bool { return e.Binding == "fx" && e.State == "failed" })
			var says struct {
				NextTryMS int64 `json:"next_try_ms"`
			}
			if err := json.Unmarshal([]byte(failed.line), &says); err != nil || says.NextTryMS <= 0 {
				t.Errorf("the event does not say when it is tried again: %s", failed.line)
			}
			if err := s.Restart(); err != nil {
				t.Fatal(err)
			}
			l.finish().want(0)
			if n := len(s.Log().Calls("alpha")); n != 1 {
				t.Errorf("it was called %d times", n)
			}
		})
	}
}

func TestTerminalEndpointJoinsLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.site("basic", ways["http 2025-11-25"])
	s.install(w, "fx")
	s.Stop()
	x := w.terminal(120, 36)
	x.Until(patience, "when it is tried again", func(s string) bool {
		return strings.Contains(s, "fx") && strings.Contains(s, "again in ")
	})
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	x.see("● fx        ready")
	x.line(`/call fx alpha {"n":1}`)
	x.see(`{"n":1}`, "✔ ok")
	x.quit()
}
