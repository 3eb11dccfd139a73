//go:build integration && linux

package acceptance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/looprig/looprig/internal/ptytest"
)

// replayed are the events that a script has to bring about again.
var replayed = []string{
	"turn.started", "turn.completed", "turn.failed", "message.completed", "tool.requested", "tool.started", "tool.completed",
	"gate.opened", "gate.resolved", "binding.reconfigured", "fetch.completed",
}

// passing are the members of events that differ between a session and its
// replay: times, ids of the store, who was there, and what a model reports of
// itself.
var passing = []string{
	"v", "seq", "time", "session", "opened_at", "origin", "by", "answerer", "saved", "usage", "stop", "state", "grant", "considered",
	"duration_ms", "gate_ms", "server_ms", "wait_ms",
}

// essence is what of a journal has to come again, a line for each event.
func (w *world) essence(session string) []string {
	w.t.Helper()
	var out []string
	for line := range bytes.Lines(w.journal(session)) {
		var e map[string]any
		dec := json.NewDecoder(bytes.NewReader(line))
		dec.UseNumber()
		if err := dec.Decode(&e); err != nil {
			w.t.Fatal(err)
		}
		if !slices.Contains(replayed, fmt.Sprint(e["type"])) {
			continue
		}
		b, err := json.Marshal(stripped(e))
		if err != nil {
			w.t.Fatal(err)
		}
		out = append(out, string(b))
	}
	return out
}

func stripped(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			if slices.Contains(passing, k) {
				delete(v, k)
				continue
			}
			v[k] = stripped(inner)
		}
	case []any:
		for i := range v {
			v[i] = stripped(v[i])
		}
	}
	return v
}

// replay runs a recorded script without a person and holds what comes of it to
// what was recorded. before is the session that was.
func (w *world) replay(path, before string) *run {
	w.t.Helper()
	r := w.run("--headless", "--output", "json", "--script", path)
	r.parse()
	if r.code != 0 {
		script, _ := os.ReadFile(path)
		w.t.Fatalf("the replay ended with %d: %s\n%s\n%s", r.code, r.stderr, r.outline(), script)
	}
	was, is := w.essence(before), w.essence(r.events[0].Session)
	for i := range max(len(was), len(is)) {
		a, b := "nothing", "nothing"
		if i < len(was) {
			a = was[i]
		}
		if i < len(is) {
			b = is[i]
		}
		if a != b {
			w.t.Fatalf("event %d was\n%s\nand is\n%s\nin the replay", i, a, b)
		}
	}
	return r
}

// A session with forms, a model, a permission, reconfigurations and a delegate,
// recorded from the interface, does the same again without a person.
func TestRecordedFromTheInterface(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := newBrain(t, func(a asked) thought {
		last := a.Messages[len(a.Messages)-1]
		switch text := plain(last.Content); {
		case last.Role == "user" && strings.Contains(text, "check the sum"):
			return thought{text: "checked"}
		case last.Role == "user" && strings.Contains(text, "hand it on"):
			return thought{calls: []toolUse{{id: "u2", name: "delegate", args: `{"agent":"reviewer","task":"check the sum"}`}}}
		case last.Role == "tool" && last.CallID == "u2":
			return thought{text: fmt.Sprintf("they said so: %t", strings.Contains(text, "checked"))}
		}
		if got := a.results(); len(got) > 0 {
			return thought{text: fmt.Sprintf("it said: declined %t, cancelled %t", strings.Contains(got["u1"], "declined"), strings.Contains(got["u1"], "cancelled"))}
		}
		return thought{calls: []toolUse{{id: "u1", name: "mcp__demo__ask-name", args: "{}"}}}
	})
	w.seed("config.yaml", b.config()+"loops:\n  main: {delegates: [reviewer]}\n  reviewer: {system: You review.}\n")
	path := w.path("rec.yaml")
	x := w.terminal(100, 30, "--record", path)
	x.see("●1", "gen 1")
	x.line("/call demo ask-name")
	x.gate("form · demo", "Name *", "Age")
	x.Type("Ada", ptytest.Tab, "36", ptytest.CtrlS)
	x.see("accepted:", `"age":36`)
	x.line("ask, and mind ${HOME} and $${x}")
	x.gate("permission · demo ▸ ask-name")
	x.Type("s")
	x.gate("form · demo", "Name *")
	x.Type(ptytest.CtrlD)
	x.see("it said: declined true, cancelled false")
	x.line("/call demo evolve")
	x.see("gen 1 → 2")
	x.Type(ptytest.F2)
	x.see("Bindings", "● ready")
	x.Type("e")
	x.see("○ disabled", "disable done")
	x.Type("e")
	x.see("● ready", "enable done")
	x.leave()
	x.line("/read demo demo://readme")
	x.see("Demo server")
	x.escape()
	x.line("ask again")
	x.gate("form · demo", "Name *")
	x.escape()
	x.see("it said: declined false, cancelled true")
	x.line("hand it on")
	x.see("they said so: true")
	x.quit()
	if out := string(x.Bytes()); !strings.Contains(out, "answers in "+path) {
		t.Errorf("nothing says that it was recorded: %q", tailOf(x.Bytes()))
	}
	script := string(must(t, path))
	st, err := os.Stat(path)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", st.Mode(), err)
	}
	for _, part := range []string{"# Recorded by looprig", "model: scripted", "operator: attended", "times: 1", "disable: demo", "$$${x}", "  reviewer:\n    - {say: \"checked\"}"} {
		if !strings.Contains(script, part) {
			t.Errorf("the script lacks %q:\n%s", part, script)
		}
	}
	before := w.sessions()[0]
	for range 2 { // as often as one likes
		w.replay(path, before)
	}
	if n := len(b.asked()); n != 7 {
		t.Errorf("the model was asked %d times", n)
	}
	// The journal of a past session makes the same script but for its servers.
	again := w.run("sessions", "export", before, "--script").want(0)
	w.write("again.yaml", string(again.stdout))
	w.replay(w.path("again.yaml"), before)
	w.verify()
}

// What a person denied because of a destructive tool is denied again: the replay
// never calls it.
func TestRecordedDenialsHold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fixture := w.write("dangerous.yaml", dangerous)
	w.run("mcp", "add", "fx", "--", w.fake, "--script", fixture, "--log", w.path("fx.log")).want(0)
	path := w.path("rec.yaml")
	x := w.terminal(80, 24, "--record", path)
	x.see("●1", "gen 1")
	x.line("/call fx wipe {}")
	x.gate("permission · fx ▸ wipe", "destructive")
	x.Type("d")
	x.see("denied")
	x.line("/call fx alpha {}")
	x.see("alpha answers")
	x.quit()
	w.replay(path, w.sessions()[0])
	if n, m := len(w.log("fx").Calls("wipe")), len(w.log("fx").Calls("alpha")); n != 0 || m != 2 {
		t.Errorf("wipe was called %d times, alpha %d times", n, m)
	}
	// A home that has never seen the server is told of it by the script.
	w.home = w.path("elsewhere")
	w.run("--headless", "--output", "json", "--script", path).want(0)
}
