package compose

import (
	"context"
	"slices"

	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/harness/session"
	"github.com/looprig/looprig/mcpadapter"
)

// addLoops gives a session its loops: those that are opened with it, and the
// agents that delegates are made after.
func (a *App) addLoops(ctx context.Context, opt *session.Options) error {
	loops := a.conf.Loops
	if len(loops) == 0 {
		loops = []config.Loop{{Name: MainLoop}}
	}
	delegated := map[string]bool{}
	a.windows = map[string]int{}
	for _, l := range loops {
		for _, name := range l.Delegates {
			delegated[name] = true
		}
	}
	for _, l := range loops {
		client, err := a.loopModel(ctx, l)
		if err != nil {
			return err
		}
		a.windows[l.Name] = client.Info().ContextTokens
		c := session.LoopConfig{
			Name: l.Name, System: l.System, Model: client, Delegates: slices.Clone(l.Delegates),
			Limits:  session.LoopLimits{Steps: l.Limits.Steps, Calls: l.Limits.ToolCalls},
			AskUser: true,
		}
		if delegated[l.Name] {
			opt.Agents = append(opt.Agents, c)
		}
		if !config.Delegated(loops, l.Name) {
			opt.Loops = append(opt.Loops, c)
		}
	}
	opt.Limits.DelegateDepth, opt.Limits.Delegates = a.conf.Limits.DelegateDepth, a.conf.Limits.Delegates
	opt.Delegates = a.delegates
	return nil
}

// started are the bindings that run with the session: all but those that belong
// to loops which only delegates are made after. Each delegate has its own.
func (a *App) started(entries []entry) []mcpadapter.Binding {
	var out []mcpadapter.Binding
	for _, e := range entries {
		if !a.ofDelegates(e) {
			out = append(out, e.binding)
		}
	}
	return out
}

// ofDelegates reports an entry that runs once for each delegate.
func (a *App) ofDelegates(e entry) bool {
	return e.binding.Scope == mcpadapter.ScopeLoop && e.binding.Fault == nil && config.Delegated(a.conf.Loops, e.binding.Loop)
}
