package record

import (
	"slices"

	"github.com/looprig/looprig/compose/headless"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/integration"
)

// change is one reconfiguration.
type change struct {
	op, binding string
	def         *Definition
	// state that the binding came to, once it has settled.
	state string
}

// starting says that a binding is on its way.
func starting(state string) bool {
	switch integration.State(state) {
	case "", integration.StateConfigured, integration.StateStarting, integration.StateAuthenticating,
		integration.StateDiscovering, integration.StateReconnecting:
		return true
	default:
		return false
	}
}

// settled says that a binding stays as it is until something happens.
func settled(state, code string) bool {
	switch integration.State(state) {
	case integration.StateReady, integration.StateDegraded, integration.StateDisabled, integration.StateFailed, integration.StateInvalid:
		return true
	case integration.StateUntrusted:
		return code != "trust_asked"
	default:
		return false
	}
}

func (r *Recorder) changed(e *event.BindingChanged) {
	r.states[e.Binding] = e.State
	if c := r.changes[e.Binding]; c != nil && c.state == "" && settled(e.State, e.Code) {
		c.state = e.State
	}
}

// byItself is who a reconfiguration is by that a session does of itself: a
// delegate's own servers come and go with it, and do so again in the script.
var byItself = []string{"delegate", "loop closed"}

func (r *Recorder) reconfigured(e *event.BindingReconfigured) {
	if slices.Contains(byItself, e.By) {
		return
	}
	for _, t := range r.order {
		if !t.ended && t.parent == nil {
			r.note("server %s was changed while turn %s ran; the script changes it after that", ident(e.Binding), ident(t.id))
		}
	}
	c := &change{op: e.Op, binding: e.Binding}
	switch e.Op {
	case "add", "replace":
		i := slices.IndexFunc(r.defs, func(d Definition) bool { return d.Op == e.Op && d.Name == e.Binding })
		if i >= 0 {
			c.def = &r.defs[i]
			r.defs = slices.Delete(slices.Clone(r.defs), i, i+1)
			def := *c.def
			c.def = &def
		}
	case "reconnect":
		c.state = r.states[e.Binding] // its states come first
	}
	if e.Op == "add" && e.Saved {
		r.note("server %s was added and kept in mcp.json: run the script in a home that does not have it yet", ident(e.Binding))
	}
	r.changes[e.Binding] = c
	r.items = append(r.items, item{change: c, waits: r.waits()})
}

// changeStep renders a reconfiguration, "" where it cannot be done again.
func (r *Recorder) changeStep(c *change) string {
	step := "  - " + c.op + ": " + name(c.binding) + "\n"
	if c.op == "add" || c.op == "replace" {
		if c.def == nil {
			r.note("how server %s was defined by %s is not on record, so that the step is not in the script", ident(c.binding), c.op)
			return ""
		}
		entry, ok := r.entry(c.def.Server, false)
		if !ok {
			return ""
		}
		step = "  - " + c.op + ": {" + name(c.binding) + ": " + entry + "}\n"
	}
	of := "[.bindings[] | select(.name == " + jq(c.binding) + ") | .state]"
	switch integration.State(c.state) {
	case integration.StateReady, integration.StateDegraded, integration.StateDisabled:
		step += "    expect: [" + expr(`.outcome == "ok"`) + ", " + expr(of+" == "+jq([]string{c.state})) + "]\n"
	case integration.StateFailed, integration.StateInvalid, integration.StateUntrusted:
		step += "    expect: [" + expr(of+` != ["ready"]`) + "]\n"
	default: // it had not settled: that it is done is all that is expected
	}
	return step
}

// fetched keeps a read or a prompt.
func (r *Recorder) fetched(e *event.FetchCompleted) {
	if e.GivenUp {
		r.note("somebody did not wait for %s %s of server %s, and it is not in the script", ident(e.What), ident(e.Name), ident(e.Binding))
		return
	}
	step := "  - read: {binding: " + name(e.Binding) + ", uri: " + quote(headless.Literal(e.Name)) + "}\n"
	if e.What == "prompt" {
		step = "  - prompt: {binding: " + name(e.Binding) + ", name: " + name(e.Name) + ", args: " + texts(e.Args) + "}\n"
	}
	want := `.outcome == "ok"`
	if !e.OK {
		want = `.outcome != "ok"`
	}
	r.items = append(r.items, item{step: step + "    expect: [" + expr(want) + "]\n", waits: r.waits()})
}
