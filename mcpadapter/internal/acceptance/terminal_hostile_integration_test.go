//go:build integration && linux

package acceptance

import (
	"strings"
	"testing"
	"time"

	"github.com/looprig/looprig/internal/ptytest"
)

// TestTerminalHostileTexts takes a server whose every string would act on a
// terminal through every screen. All bytes are checked at the end, and what the
// server wrote must be visible: as pictures, or quoted where it is a name.
func TestTerminalHostileTexts(t *testing.T) {
	t.Parallel()
	for name, size := range sizes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.seed("config.yaml", "policy: {operator: ask}\n")
			w.install("fx", "dirty", "names=true")
			x := w.terminal(size[0], size[1])
			x.see("●1", "gen 1")
			pictured := func(where string, texts ...string) {
				t.Helper()
				x.Until(patience, where+" with the server's text in pictures", func(s string) bool {
					for _, text := range texts {
						if !strings.Contains(s, text) {
							return false
						}
					}
					return strings.Contains(s, "␛") || strings.Contains(s, "‹U+") || strings.Contains(s, `\x1b`)
				})
			}
			answer := func(key string) {
				t.Helper()
				x.gate("permission · fx")
				x.Type("f")
				time.Sleep(apart)
				x.Type("f", ptytest.Down, key)
				x.unsee("permission · fx")
			}
			for _, tool := range []string{"dirty", "fail", "rpcfail", "log", "link"} {
				x.line("/call fx " + tool + ` {"field":"\u001b[2Jmine\u202e"}`)
				answer("a")
				x.Until(patience, tool+" to end", func(s string) bool {
					at := strings.LastIndex(s, "▸ "+tool)
					return at < 0 || !strings.Contains(s[at:], "running")
				})
				if tool != "log" {
					pictured("the result of " + tool)
				}
			}
			// A form of the call, and one that the server asks for.
			x.line("/call fx dirty")
			pictured("the form of a call", "call · fx dirty")
			x.Type(ptytest.Tab, ptytest.Tab, ptytest.Tab)
			pictured("the form of a call", "call · fx dirty")
			x.escape()
			x.unsee("call · fx dirty")
			x.line(`/call fx ask {}`)
			answer("a")
			x.gate("form · fx")
			pictured("the form of the server", "form · fx")
			x.Type(ptytest.Tab, ptytest.Down, ptytest.Tab, ptytest.CtrlS)
			x.unsee("form · fx")

			x.Type(ptytest.F2)
			pictured("the bindings", "Bindings", "fx")
			x.Type(ptytest.Enter)
			for range 6 {
				x.Type("\x1b[6~") // page down
			}
			pictured("the detail", "fx")
			x.escape()
			x.Type("c")
			x.see("Catalog · fx")
			for range 7 {
				x.Type(ptytest.Enter)
				time.Sleep(apart / 4)
				x.Type("\x1b[6~", ptytest.Escape)
				time.Sleep(apart)
				x.Type(ptytest.Down)
			}
			x.Type(ptytest.F3)
			pictured("the catalog", "Catalog · fx")
			x.Type(ptytest.F7)
			pictured("notices", "stderr and logs")
			x.Type("\x1b[5~", "\x1b[6~")
			x.escape()
			x.Type(ptytest.F3)
			x.escape()
			x.see(">")
			x.Type(ptytest.CtrlP, "fx")
			time.Sleep(apart)
			x.escape()
			x.line("/tools")
			pictured("the list of tools", "fx")
			x.escape()
			x.Type("/call fx ", ptytest.Tab)
			time.Sleep(apart)
			x.Type(ptytest.ShiftTab, "g", "JJJ", ptytest.Enter, "G")
			x.Resize(60, 20)
			x.Resize(size[0], size[1])
			x.quit()
		})
	}
}

// TestTerminalHostileLaunch shows a launch whose arguments would act on a
// terminal, before anything of it runs.
func TestTerminalHostileLaunch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.seed("mcp.json", `{"mcpServers":{"fx":{"command":"/bin/cat","args":["\u001b[2J\u001b]0;owned\u0007\u202egnp.exe\u202c","$(touch `+w.path("ran")+`)"],"env":{"A":"\u009b31mred"}}}}`)
	x := w.terminal(80, 24)
	x.gate("fx", "Accept", "Refuse", "␛[2J", "‹U+202E›")
	x.Type(ptytest.Down, ptytest.Down, "d")
	x.unsee("Refuse")
	x.quit()
	if got := w.homeFile("ran"); got != "" {
		t.Error("a shell ran")
	}
}
