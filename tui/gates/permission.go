package gates

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/policy"
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

// careful says in a few words why nothing is preselected.
func (g *Gate) careful() string {
	for _, c := range g.env.Prompt.Calls {
		switch {
		case c.Hints.Destructive != nil && *c.Hints.Destructive:
			return "a destructive tool"
		case c.Trust != tool.TrustAccepted && c.Trust != tool.TrustBuiltin:
			return "its server is not pinned"
		}
	}
	return "a rule asks for a choice"
}

// choice is one way to answer a permission gate.
type choice struct {
	id   keymap.ID
	text string
}

// choices are the ways to answer, each saying exactly what it grants.
func (g *Gate) choices() []choice {
	if g.batch() {
		return g.batchChoices()
	}
	out := []choice{{keymap.PermitOnce, "Allow once"}}
	if g.grantable() {
		session, always := "Allow this tool for this session", "Always, this exact tool, until its definition changes"
		if g.exact {
			session, always = "These arguments only, for this session", "Always these arguments only, until the tool changes"
		}
		out = append(out, choice{keymap.PermitSession, session})
		if c := g.env.Prompt.Calls; len(c) == 1 && len(c[0].ReadOnly) > 0 && !g.exact {
			out = append(out, choice{keymap.PermitRead, fmt.Sprintf("The %d read-only tools of %s, for this session", len(c[0].ReadOnly), server(c[0].Tool))})
		}
		out = append(out, choice{keymap.PermitAlways, always})
	}
	return append(out, choice{keymap.PermitDeny, "Deny"}, choice{keymap.PermitReason, "Deny and tell the model why"})
}

// grantable reports that more than one call can be allowed.
func (g *Gate) grantable() bool {
	return len(g.env.Prompt.Calls) > 0 && !slices.ContainsFunc(g.env.Prompt.Calls, func(c gate.CallPrompt) bool { return !grantable(c) })
}

// grantable reports that a call's tool has a definition to bind a grant to, and
// that its server is accepted.
func grantable(c gate.CallPrompt) bool {
	return c.ToolDigest != "" && (c.Trust == tool.TrustAccepted || c.Trust == tool.TrustBuiltin || c.Trust == tool.TrustOnce)
}

// server is the binding of an identity, clean.
func server(identity string) string {
	parts := strings.SplitN(identity, ":", 3)
	if len(parts) != 3 {
		return identity
	}
	return string(safetext.Ident(parts[1]))
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
	if g.batch() && g.cursor >= 0 && g.cursor < len(g.own) && g.mark(g.cursor, id) {
		return Action{}
	}
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
	case keymap.PermitExact:
		g.toggleExact()
		return Action{}
	case keymap.PermitOnce, keymap.PermitSession, keymap.PermitRead, keymap.PermitAlways, keymap.PermitDeny, keymap.PermitReason:
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
	if !g.batch() || g.cursor < 0 || g.cursor >= len(g.checked) {
		return
	}
	if o := &g.own[g.cursor]; o.action != "" { // what is left is the check
		*o = own{}
		return
	}
	g.checked[g.cursor] = !g.checked[g.cursor]
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
	case keymap.PermitSession, keymap.PermitRead, keymap.PermitAlways:
		return g.grant(id)
	case keymap.PermitReason:
		g.writing, g.about = true, -1
		return Action{}
	default:
	}
	return answer(gate.ActionDeny)
}

// grant allows more than the call, as far as that is offered.
func (g *Gate) grant(id keymap.ID) Action {
	if !slices.ContainsFunc(g.choices(), func(c choice) bool { return c.id == id }) {
		g.fault = "this cannot be granted: only what is listed"
		return Action{}
	}
	action := gate.ActionSession
	if id == keymap.PermitAlways {
		action = gate.ActionAlways
	}
	out := g.allow(action)
	switch {
	case out.Do == Nothing:
	case id == keymap.PermitRead:
		out.Response.Cover = gate.CoverReadOnly
	case g.exact:
		out.Response.When, _ = policy.ExactArgs(g.env.Prompt.Calls[0].Args)
	}
	return out
}

// toggleExact narrows what session and always grant to these very arguments.
func (g *Gate) toggleExact() {
	g.fault = ""
	if g.batch() || !g.grantable() {
		g.fault = "only a grant for one call can be narrowed to its arguments"
		return
	}
	if _, ok := policy.ExactArgs(g.env.Prompt.Calls[0].Args); !ok {
		g.fault = "these arguments are too long to narrow a grant to them"
		return
	}
	g.exact = !g.exact
	if g.cursor >= 0 {
		g.cursor = g.firstChoice() // the rows are others now
	}
}

// allow answers a batch call by call: as a call is marked, else as all that are
// checked; a call that is neither is denied.
func (g *Gate) allow(a gate.Action) Action {
	out := answer(a)
	if !g.batch() {
		return out
	}
	out.Response.Calls = map[string]gate.Action{}
	some := false
	for i, c := range g.env.Prompt.Calls {
		out.Response.Calls[c.Call] = gate.ActionDeny
		switch o := g.own[i]; {
		case o.action != "":
			out.Response.Calls[c.Call] = o.action
			o.terms(c, &out.Response)
			some = true
		case g.checked[i]:
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

// lineBreaks turns the line breaks of a paste, which a terminal sends as CR,
// into the spaces of a sentence.
var lineBreaks = strings.NewReplacer("\r\n", " ", "\r", " ", "\n", " ")

func (g *Gate) reasonKey(k tea.KeyPressMsg) Action {
	switch k.String() {
	case "esc":
		g.writing = false
	case "enter":
		reason := strings.TrimSpace(string(g.reason))
		if g.about >= 0 {
			g.own[g.about] = own{action: gate.ActionDeny, reason: reason}
			g.writing, g.reason = false, nil
			return Action{}
		}
		out := answer(gate.ActionDeny)
		out.Response.Reason = reason
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
	s = lineBreaks.Replace(s)
	g.reason = append(g.reason, []rune(string(safetext.ToLine(s)))...)
	g.reason = g.reason[:min(len(g.reason), maxReason)]
}
