package compose

import (
	"context"

	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/policy"
	"github.com/looprig/looprig/harness/session"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/mcpadapter/demo"
	"github.com/looprig/looprig/tui"
)

func (a *App) policy() (*policy.Policy, error) {
	p, err := policy.New(policyConfig(a.opt.Policy, a.conf))
	if err != nil {
		return nil, exit.New(exit.Usage, "%w", err)
	}
	return p, nil
}

// policyConfig puts the rules of a run before those of the file.
func policyConfig(run config.Policy, conf *config.Config) policy.Config {
	out := policy.Config{
		Deny:     rules(run.Deny, conf.Policy.Deny),
		Ask:      rules(run.Ask, conf.Policy.Ask),
		Allow:    rules(run.Allow, conf.Policy.Allow),
		Operator: policy.OperatorMode(firstOf(run.Operator, conf.Policy.Operator)),
	}
	for _, l := range conf.Loops {
		out.Loops = append(out.Loops, policy.LoopRules{
			Loop: l.Name, Deny: rules(l.Policy.Deny), Ask: rules(l.Policy.Ask), Allow: rules(l.Policy.Allow),
		})
	}
	return out
}

func rules(lists ...[]config.Rule) []policy.Rule {
	var out []policy.Rule
	for _, list := range lists {
		for _, r := range list {
			out = append(out, policy.Rule{Pattern: r.Tool, Loop: r.Loop, Hints: r.Hints, When: r.When, Place: r.Place()})
		}
	}
	return out
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// PolicyView is a home's policy with what it can be about, read from the files
// alone: nothing is started.
type PolicyView struct {
	Policy  *policy.Policy
	Known   policy.Known
	servers []config.Server
	env     []string
	pins    Pins
}

// ReadPolicy reads a home's policy with the rules of the run. Its errors have the
// places of what is wrong.
func ReadPolicy(opt Options) (*PolicyView, error) {
	a := &App{opt: opt, env: config.EnvOf(opt.Env)}
	if err := a.load(); err != nil {
		return nil, err
	}
	p, err := a.policy()
	if err != nil {
		return nil, err
	}
	servers, err := a.servers()
	if err != nil {
		return nil, err
	}
	v := &PolicyView{
		Policy: p, servers: servers, env: opt.Env,
		Known: policy.Known{
			Bindings: []string{}, Trusting: []string{}, Tools: map[string][]string{}, Builtins: session.HostTools(),
		},
	}
	if v.pins, err = OpenPins(a.home); err != nil {
		return nil, err
	}
	for _, s := range servers {
		v.Known.Bindings = append(v.Known.Bindings, s.Name)
		if s.TrustAnnotations || s.Builtin != "" {
			v.Known.Trusting = append(v.Known.Trusting, s.Name)
		}
		if s.Builtin != "" {
			v.Known.Tools[s.Name] = demo.Tools()
		}
	}
	for _, l := range a.conf.Loops {
		v.Known.Loops = append(v.Known.Loops, l.Name)
	}
	if len(v.Known.Loops) == 0 {
		v.Known.Loops = []string{MainLoop}
	}
	return v, nil
}

// Trust is what a call of a server's tools would meet of its pin now.
func (v *PolicyView) Trust(binding string) tool.Trust {
	for _, s := range v.servers {
		if s.Name != binding {
			continue
		}
		switch v.pins.State(s, v.env) {
		case "builtin":
			return tool.TrustBuiltin
		case "pinned":
			return tool.TrustAccepted
		}
	}
	return tool.TrustPending
}

var _ tui.Grants = terminalSession{}

// Grants implements tui.Grants.
func (t terminalSession) Grants(ctx context.Context) ([]policy.Grant, error) {
	return t.app.Session.Grants(ctx)
}

// RevokeGrant implements tui.Grants.
func (t terminalSession) RevokeGrant(ctx context.Context, id string) error {
	return t.app.Session.RevokeGrant(ctx, id, t.by())
}
