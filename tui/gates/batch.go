package gates

import (
	"fmt"

	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/policy"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/keymap"
)

// own is the answer that one call of a batch was given for itself. The zero value
// is none: the call goes with the others that are checked, or is denied.
type own struct {
	action gate.Action
	exact  bool // the grant is for these arguments alone
	read   bool // the grant is for the server's read-only tools
	reason string
}

// batchChoices are the ways to answer for all calls. Those that are marked keep
// what they are marked with, except where all are denied.
func (g *Gate) batchChoices() []choice {
	marked, rest := 0, 0
	for i, o := range g.own {
		switch {
		case o.action != "":
			marked++
		case g.checked[i]:
			rest++
		}
	}
	grants := g.grantable()
	out := []choice{{keymap.PermitOnce, "Allow the checked calls once"}}
	session, always := "Allow the checked calls' tools for this session", "Always, these exact tools, until they change"
	switch {
	case marked > 0 && rest == 0:
		out[0].text, grants = "Answer each call as it is marked", false
	case marked > 0:
		out[0].text = fmt.Sprintf("As marked, and the other %d checked once", rest)
		session, always = "As marked, and the others' tools for this session", "As marked, and the others' tools always"
	}
	if grants {
		out = append(out, choice{keymap.PermitSession, session}, choice{keymap.PermitAlways, always})
	}
	return append(out, choice{keymap.PermitDeny, "Deny all"}, choice{keymap.PermitReason, "Deny all and tell the model why"})
}

// mark gives the call under the cursor an answer of its own, which goes out with
// those of the others. It reports whether the key was one for that.
func (g *Gate) mark(i int, id keymap.ID) bool {
	c, next := g.env.Prompt.Calls[i], own{}
	switch id {
	case keymap.PermitOnce:
		next.action = gate.ActionOnce
	case keymap.PermitSession:
		next.action = gate.ActionSession
	case keymap.PermitAlways:
		next.action = gate.ActionAlways
	case keymap.PermitRead:
		next.action, next.read = gate.ActionSession, true
	case keymap.PermitDeny:
		next.action = gate.ActionDeny
	case keymap.PermitReason:
		g.fault, g.writing, g.about, g.reason = "", true, i, []rune(g.own[i].reason)
		return true
	case keymap.PermitExact:
		g.fault = g.narrow(i)
		return true
	default:
		return false
	}
	g.fault = ""
	if next.grants() && (!grantable(c) || next.read && len(c.ReadOnly) == 0) {
		g.fault = fmt.Sprintf("call %d cannot be granted that: allow it once, or deny it", i+1)
		return true
	}
	g.own[i] = next
	return true
}

// narrow switches a marked grant between any arguments and exactly these, and
// says why it cannot.
func (g *Gate) narrow(i int) string {
	o := &g.own[i]
	if !o.grants() || o.read {
		return "what is narrowed to these arguments is a grant: mark the call for the session, or always, first"
	}
	if _, ok := policy.ExactArgs(g.env.Prompt.Calls[i].Args); !ok {
		return "these arguments are too long to narrow a grant to them"
	}
	o.exact = !o.exact
	return ""
}

func (o own) grants() bool { return o.action == gate.ActionSession || o.action == gate.ActionAlways }

// terms puts what goes with the call's answer into the response.
func (o own) terms(c gate.CallPrompt, r *gate.Response) {
	t := gate.Terms{Reason: o.reason}
	if o.exact {
		t.When, _ = policy.ExactArgs(c.Args)
	}
	if o.read {
		t.Cover = gate.CoverReadOnly
	}
	if t == (gate.Terms{}) {
		return
	}
	if r.Terms == nil {
		r.Terms = map[string]gate.Terms{}
	}
	r.Terms[c.Call] = t
}

// say tells what a call is marked with, in a few words.
func (o own) say() string {
	switch {
	case o.read:
		return "session, read-only tools"
	case o.exact:
		return string(o.action) + ", these arguments"
	case o.reason != "":
		return "deny: " + safetext.ToLineN(o.reason, 40).String()
	}
	return string(o.action)
}

// box is the check of a call: whether it is going to be allowed.
func (g *Gate) box(i int) string {
	if allowed := g.own[i].action; allowed != "" && allowed != gate.ActionDeny || allowed == "" && g.checked[i] {
		return "[x] "
	}
	return "[ ] "
}
