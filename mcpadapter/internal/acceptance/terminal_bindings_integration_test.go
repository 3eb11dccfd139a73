//go:build integration && linux

package acceptance

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/looprig/looprig/internal/ptytest"
)

// configured are the servers of the home's mcp.json, by name, with their
// arguments.
func (w *world) configured() map[string][]string {
	w.t.Helper()
	out := map[string][]string{}
	text := w.homeFile("mcp.json")
	if text == "" {
		return out
	}
	var f struct {
		Servers map[string]struct {
			Args []string `json:"args"`
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		w.t.Fatalf("mcp.json: %v\n%s", err, text)
	}
	for name, s := range f.Servers {
		out[name] = s.Args
	}
	return out
}

func TestTerminalBindings(t *testing.T) {
	t.Parallel()
	for name, size := range sizes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			x := w.terminal(size[0], size[1])
			x.see("●1", "gen 1")
			basic := w.fakeCommand("fx", "basic")

			// Add. The person confirms what will be done, and where it is kept.
			x.Type(ptytest.F2)
			x.see("Bindings", "● ready")
			x.Type("a")
			x.see("what to add", "stdio", "http", "sse")
			x.Type(ptytest.Enter)
			x.see("add ·", "Name *", "Command *")
			x.Type("fx", ptytest.Tab, strings.Join(basic, " "), ptytest.CtrlS)
			x.see("Add fx?", "executable", "kept in")
			if _, ok := w.configured()["fx"]; ok || len(w.log("fx")) > 0 {
				t.Error("a server was added before it was confirmed")
			}
			x.Type("y")
			x.see("fx: add done", "●2")
			if got := w.configured()["fx"]; !slices.Equal(got, basic[1:]) {
				t.Errorf("mcp.json has fx with %q", got)
			}
			x.leave()
			x.line(`/call fx alpha {"n":1}`)
			x.see(`{"n":1}`, "✔ ok", "fx ▸ alpha")

			// Replace, for this session only: the file stays as it is.
			before := w.homeFile("mcp.json")
			x.Type(ptytest.F2)
			x.see("Bindings")
			x.Type(ptytest.Down)
			x.see("▸ fx")
			x.Type("r")
			x.see("replace · fx", "Name *", "Command *")
			x.Type(ptytest.Tab)
			x.see("basic")
			lookup := strings.Join(w.fakeCommand("fx2", "lookup"), " ")
			x.Type("\x15", lookup, ptytest.CtrlS)
			x.see("Replace fx?", "[x] kept in")
			x.Type("s")
			x.see("[ ] kept in")
			x.Type("y")
			x.see("fx: replace done", "●2")
			if after := w.homeFile("mcp.json"); after != before {
				t.Errorf("a change for this session only was saved:\n%s", after)
			}
			w.await("the old server's end", killWait, func() bool { return len(alive(w.log("fx").PIDs())) == 0 })
			x.leave()
			x.line(`/call fx lookup {"key":"found me"}`)
			x.see("fx ▸ lookup", "found me", "✔ ok")

			// Remove, after a confirmation.
			x.Type(ptytest.F2)
			x.see("▸ fx")
			x.Type("x")
			x.see("Remove fx?", "removes it from")
			x.Type("n")
			x.unsee("Remove fx?")
			x.see("▸ fx")
			x.Type("x")
			x.see("Remove fx?")
			x.Type("y")
			x.see("fx: remove done", "●1")
			if _, ok := w.configured()["fx"]; ok {
				t.Errorf("mcp.json still has fx:\n%s", w.homeFile("mcp.json"))
			}
			w.await("the removed server's end", killWait, func() bool { return len(alive(w.log("fx2").PIDs())) == 0 })
			x.leave()
			x.line(`/call fx lookup {"key":"again"}`)
			x.Until(patience, "a refusal", func(s string) bool { return strings.Contains(s, "no tool") || strings.Contains(s, "unavailable") })
			x.quit()
		})
	}
}
