//go:build integration && linux

package acceptance

import (
	"strings"
	"testing"
	"time"

	"github.com/looprig/looprig/internal/ptytest"
)

// shrink goes through the sizes that a terminal may be dragged to, waits at each
// until the screen was drawn for it, and comes back.
func (x *terminal) shrink(wide, high int, visible string) {
	x.t.Helper()
	for _, size := range [][2]int{{80, 24}, {40, 12}, {20, 5}, {1, 1}, {20, 5}, {40, 12}, {80, 24}, {wide, high}} {
		before := len(x.Bytes())
		x.Resize(size[0], size[1])
		deadline := time.Now().Add(patience)
		for len(x.Bytes()) == before && time.Now().Before(deadline) {
			time.Sleep(pollEvery)
		}
		if size[0] >= 40 {
			x.see(visible)
		}
		for i, l := range strings.Split(x.Screen(), "\n") {
			if i >= size[1] && strings.TrimSpace(l) != "" {
				x.t.Errorf("at %v line %d is %q", size, i+1, l)
			}
		}
	}
}

func TestTerminalResize(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.seed("config.yaml", "policy: {operator: ask}\n")
	x := w.terminal(120, 36)
	x.see("● demo      ready")

	// In the form of a call: what was written stays.
	x.line("/call demo add")
	x.see("call · demo add", "First number")
	x.Type("12345")
	x.see("12345")
	x.shrink(120, 36, "12345")
	x.Type(ptytest.Tab, "5", ptytest.CtrlS)

	// In a permission gate, and in a form that the server asks for.
	x.gate("permission · demo ▸ add")
	x.shrink(120, 36, "demo")
	x.see("permission · demo ▸ add", "Allow once", "12345")
	x.Type("a")
	x.see(`"sum": 12350`)
	x.line("/call demo ask-name {}")
	x.gate("permission · demo ▸ ask-name")
	x.Type("a")
	x.gate("form · demo", "Name *")
	x.Type("Ada L.", ptytest.Tab, "36")
	x.see("Ada L.", "36")
	x.shrink(120, 36, "36")
	x.see("Ada L.", "36")
	x.Type(ptytest.CtrlS)
	x.see(`"name": "Ada L."`, `"age": 36`)
	x.quit()
}

func TestTerminalPaste(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal(80, 24)
	x.see("●1", "gen 1")
	start := time.Now()
	x.Paste(strings.Repeat("line of a paste\r", 10<<20/16))
	x.see("[paste 1:")
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("a paste of 10 MB took %s", took)
	}
	// It was not sent, and the keyboard still works.
	x.Type(" after")
	x.see(" after")
	if n := len(w.events().of("turn.started")); n != 0 {
		t.Errorf("a paste started %d turns", n)
	}
	// Pasted control sequences are text as well.
	x.Type(ptytest.CtrlC)
	x.unsee("[paste 1:")
	x.Paste("one\x1b]0;owned\x07two\x1b[2J")
	x.see("two")
	x.quit()
}
