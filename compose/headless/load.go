package headless

import (
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/compose/config/doc"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/harness/model/operator"
)

func (l *loader) step(o *doc.Obj, n *doc.Node) Step {
	s := Step{Line: n.Pos.Line}
	for _, k := range stepKinds {
		if !o.Has(string(k)) {
			continue
		}
		if s.Kind != "" {
			o.Fail(string(k), "a step does one thing; this one has %s already", s.Kind)
			o.Node(string(k))
			continue
		}
		s.Kind = k
		l.body(o, &s)
	}
	if s.Kind == "" {
		names := make([]string, len(stepKinds))
		for i, k := range stepKinds {
			names[i] = string(k)
		}
		for _, m := range n.Members {
			o.Fail(m.Key, "no step is called that%s", doc.DidYouMean(m.Key, names))
			o.Node(m.Key)
			break
		}
		if len(n.Members) == 0 && n.Kind == doc.Object {
			o.Fail("", "a step does something: %s", strings.Join(names, ", "))
		}
	}
	s.Loop = o.String("loop", "")
	if t := o.Duration("timeout", 0, MaxWait); t > 0 {
		s.Timeout = t
	}
	s.Expects = l.expects(o)
	s.Saves = l.saves(o)
	o.Done()
	return s
}

func (l *loader) body(o *doc.Obj, s *Step) {
	key := string(s.Kind)
	switch s.Kind {
	case StepUser:
		s.Text = l.needed(o, key, "a user step has a text")
		l.checkVars(o.Node(key))
		if l.s.Model == operator.Name {
			o.Fail(key, "the model is the operator, who answers no text: use a call step, or declare replies")
		}
	case StepEnable, StepDisable, StepRemove, StepReconnect:
		s.Text = l.needed(o, key, "the step names a binding")
	case StepSleep:
		s.Sleep = o.Duration(key, 0, MaxWait)
	case StepAdd, StepReplace:
		l.server(o, s)
	case StepCall:
		c := o.Sub(key)
		s.Tool = l.needed(c, "tool", "a call names its tool")
		s.Args = l.args(c)
		c.Done()
	case StepRead:
		c := o.Sub(key)
		s.Binding, s.URI = l.needed(c, "binding", "a read names its binding"), l.needed(c, "uri", "a read names its uri")
		l.checkVars(c.Node("uri"))
		c.Done()
	case StepPrompt:
		c := o.Sub(key)
		s.Binding, s.Name = l.needed(c, "binding", "a prompt step names its binding"), l.needed(c, "name", "a prompt step names its prompt")
		s.Args = l.args(c)
		c.Done()
	case StepWait:
		c := o.Sub(key)
		s.Binding, s.State = l.needed(c, "binding", "a wait names its binding"), c.OneOf("state", "", states()...)
		s.Generation = uint64(max(c.Int("generation", 0, 0, 1<<30), 0))
		s.Timeout = c.Duration("timeout", 10*time.Second, MaxWait)
		c.Done()
	case StepStatus:
		o.Sub(key).Done()
	case StepParallel:
		l.parallel(o, s)
	}
}

// parallel loads the steps of a parallel one. None of them sees what another one
// saves; later steps see it all.
func (l *loader) parallel(o *doc.Obj, s *Step) {
	key := string(StepParallel)
	items := o.Items(key)
	if len(items) == 0 || len(items) > MaxParallel {
		o.Fail(key, "a parallel step has 1 to %d steps", MaxParallel)
		return
	}
	before, after := l.saved, maps.Clone(l.saved)
	for i, n := range items {
		so := l.r.Object(n, fmt.Sprintf("%s[%d]", o.Path(key), i))
		if so.Has(key) {
			so.Fail(key, "a parallel step holds no other one")
			continue
		}
		l.saved = maps.Clone(before)
		step := l.step(so, n)
		for _, sv := range step.Saves {
			if after[sv.Name] && !before[sv.Name] {
				so.Fail("save", "two of the steps save %s", sv.Name)
			}
			after[sv.Name] = true
		}
		s.Steps = append(s.Steps, step)
	}
	l.saved = after
}

// needed takes a text that may not be empty.
func (l *loader) needed(o *doc.Obj, key, otherwise string) string {
	text := o.String(key, "")
	if text == "" {
		o.Fail(key, "%s", otherwise)
	}
	return text
}

// states are what a wait can wait for.
func states() []string {
	all := []integration.State{
		integration.StateConfigured, integration.StateInvalid, integration.StateDisabled, integration.StateUntrusted,
		integration.StateStarting, integration.StateAuthenticating, integration.StateDiscovering, integration.StateReady,
		integration.StateDegraded, integration.StateReconnecting, integration.StateFailed, integration.StateRetiring,
		integration.StateClosing, integration.StateClosed,
	}
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = string(s)
	}
	return out
}

// args takes an object that may refer to saved values.
func (l *loader) args(o *doc.Obj) *doc.Node {
	n := o.Node("args")
	if n == nil {
		return &doc.Node{Kind: doc.Object}
	}
	if n.Kind != doc.Object {
		o.Fail("args", "expected an object, found %s", n.Kind)
		return &doc.Node{Kind: doc.Object}
	}
	l.checkVars(n)
	return n
}

func (l *loader) server(o *doc.Obj, s *Step) {
	key := string(s.Kind)
	n := o.Node(key)
	if n.Kind != doc.Object || len(n.Members) != 1 {
		o.Fail(key, "expected one server as in mcp.json: {name: {command: …}}")
		return
	}
	servers, err := config.ReadServers(l.r.File, n, o.Path(key), l.env)
	if err != nil || len(servers) != 1 {
		o.Fail(key, "%v", err)
		return
	}
	s.Server, s.Text = &servers[0], servers[0].Name
	for _, f := range servers[0].Faults {
		l.r.Fail(f.Pos, f.Path, "%s", f.Message)
	}
}

// checkVars fails for every ${name} that no earlier step saves.
func (l *loader) checkVars(n *doc.Node) {
	if n == nil {
		return
	}
	for _, name := range variables(n.Text) {
		if n.Kind == doc.String && !l.saved[name] {
			l.r.Fail(n.Pos, "", "${%s} is not saved by an earlier step", name)
		}
	}
	for _, item := range n.Items {
		l.checkVars(item)
	}
	for _, m := range n.Members {
		l.checkVars(m.Value)
	}
}
