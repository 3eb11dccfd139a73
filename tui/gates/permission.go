package gates

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/keymap"
)

// Explicit reports that a call may not be allowed by a preselected choice: its
// server calls it destructive, its pin is not accepted, or policy says so.
func Explicit(c gate.CallPrompt) bool {
	if c.Explicit || c.Hints.Destructive != nil && *c.Hints.Destructive {
		return true
	}
	return c.Trust != tool.TrustAccepted && c.Trust != tool.TrustBuiltin
}

// choice is one way to answer a permission gate.
type choice struct {
	id   keymap.ID
	text string
}

func (g *Gate) choices() []choice {
	once, session := "Allow once", "Allow for this session (until the tool's definition changes)"
	if g.batch() {
		once, session = "Allow the checked calls once", "Allow the checked calls' tools for this session"
	}
	return []choice{
		{keymap.PermitOnce, once},
		{keymap.PermitSession, session},
		{keymap.PermitDeny, "Deny"},
		{keymap.PermitReason, "Deny and tell the model why"},
	}
}

func (g *Gate) batch() bool { return len(g.env.Prompt.Calls) > 1 }

// firstChoice is the row of the first choice; a batch lists its calls before.
func (g *Gate) firstChoice() int {
	if g.batch() {
		return len(g.env.Prompt.Calls)
	}
	return 0
}

func (g *Gate) permissionKey(k tea.KeyPressMsg) Action {
	id, _ := g.o.Keys.Match(k, keymap.GatePermission)
	switch id {
	case keymap.PermitLater:
		if g.full {
			g.full = false
			return Action{}
		}
		return Action{Do: Minimise}
	case keymap.PermitFull:
		g.full = !g.full
		return Action{}
	case keymap.PermitToggle:
		g.toggle()
		return Action{}
	case keymap.PermitChoose:
		return g.choose()
	case keymap.PermitOnce, keymap.PermitSession, keymap.PermitDeny, keymap.PermitReason:
		return g.take(id)
	default:
	}
	switch k.String() {
	case "up":
		g.step(-1)
	case "down":
		g.step(1)
	default:
		g.pager.Key(k, g.o.Keys)
	}
	return Action{}
}

func (g *Gate) step(n int) {
	last := g.firstChoice() + len(g.choices()) - 1
	if g.cursor < 0 && n < 0 {
		g.cursor = last
		return
	}
	g.cursor = min(max(g.cursor+n, 0), last)
}

func (g *Gate) toggle() {
	if g.batch() && g.cursor >= 0 && g.cursor < len(g.checked) {
		g.checked[g.cursor] = !g.checked[g.cursor]
	}
}

// choose takes the row under the cursor; without a selection enter does
// nothing.
func (g *Gate) choose() Action {
	i := g.cursor - g.firstChoice()
	if g.cursor < 0 {
		g.fault = "nothing is selected: choose with ↑ ↓, or press the key of a choice"
		return Action{}
	}
	if i < 0 {
		g.toggle()
		return Action{}
	}
	return g.take(g.choices()[i].id)
}

func (g *Gate) take(id keymap.ID) Action {
	g.fault = ""
	switch id {
	case keymap.PermitOnce:
		return g.allow(gate.ActionOnce)
	case keymap.PermitSession:
		return g.allow(gate.ActionSession)
	case keymap.PermitReason:
		g.writing = true
		return Action{}
	default:
	}
	return answer(gate.ActionDeny)
}

// allow answers a batch call by call: a call that is not checked is denied.
func (g *Gate) allow(a gate.Action) Action {
	out := answer(a)
	if !g.batch() {
		return out
	}
	out.Response.Calls = map[string]gate.Action{}
	some := false
	for i, c := range g.env.Prompt.Calls {
		out.Response.Calls[c.Call] = gate.ActionDeny
		if g.checked[i] {
			out.Response.Calls[c.Call] = a
			some = true
		}
	}
	if !some {
		g.fault = "no call is checked: space checks one, d denies all"
		return Action{}
	}
	return out
}

func (g *Gate) reasonKey(k tea.KeyPressMsg) Action {
	switch k.String() {
	case "esc":
		g.writing = false
	case "enter":
		out := answer(gate.ActionDeny)
		out.Response.Reason = strings.TrimSpace(string(g.reason))
		return out
	case "backspace":
		if n := len(g.reason); n > 0 {
			g.reason = g.reason[:n-1]
		}
	default:
		g.write(k.Text)
	}
	return Action{}
}

func (g *Gate) write(s string) {
	g.reason = append(g.reason, []rune(string(safetext.ToLine(s)))...)
	g.reason = g.reason[:min(len(g.reason), maxReason)]
}
