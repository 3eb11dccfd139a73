package compose

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/compose/provider"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/model"
	"github.com/looprig/looprig/harness/model/operator"
	"github.com/looprig/looprig/harness/session"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui"
)

// reachTimeout bounds the question whether a model can be reached.
const reachTimeout = 5 * time.Second

// SetModel gives a loop, "" for the first, another model from its next turn on.
// A model that is not known or cannot be reached is refused with what to do, and
// the loop keeps the one that it has. It reports whether the model waits for a
// running turn to end.
func (a *App) SetModel(ctx context.Context, loop, name string, by gate.Answerer) (info model.Info, queued bool, err error) {
	if a.opt.Scripted != nil {
		return info, false, exit.New(exit.Usage, "a script names its model itself")
	}
	client, err := a.models.named(ctx, name)
	if err != nil {
		return info, false, err
	}
	if err := a.models.reachable(ctx, name); err != nil {
		return info, false, err
	}
	if queued, err = a.Session.SetModel(ctx, loop, client, by); err != nil {
		return info, false, err
	}
	info = client.Info()
	if loops := a.Session.Loops(); loop == "" && len(loops) > 0 {
		loop = loops[0].ID
	}
	a.windowOf(loop, info)
	return info, queued, nil
}

// windowOf has the tools of a loop deferred by its model. What is shown of a
// binding without a loop goes by the first loop's.
func (a *App) windowOf(loop string, info model.Info) {
	a.Manager.SetContextTokens(loop, info.ContextTokens)
	if loops := a.Session.Loops(); len(loops) > 0 && loop == loops[0].ID {
		a.Manager.SetContextTokens("", info.ContextTokens)
	}
}

// switchedModel is the model that an operator had given a loop of the session
// that the run goes on with, "" where none had or the run names another.
func (a *App) switchedModel(loop string) string {
	if a.past == nil || a.opt.Model != "" || a.opt.Scripted != nil || !a.opt.FindModel {
		return ""
	}
	return a.past.Switched(loop)
}

// reachable asks a model's endpoint for its models. It fails when nothing
// answers there, the key is refused or the list leaves the model out.
func (m *models) reachable(ctx context.Context, name string) error {
	if name == operator.Name {
		return nil
	}
	cfg, _, err := m.config(ctx, name)
	if err != nil {
		return err
	}
	if cfg.Kind == provider.AnthropicVertex || cfg.Kind == provider.GeminiVertex {
		return nil // there is no list
	}
	list := provider.List(ctx, provider.ListOptions{
		DetectOptions: provider.DetectOptions{NoProbe: true}, Configured: []provider.Config{cfg}, EndpointTimeout: reachTimeout,
	})
	l := list[0]
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !l.Reachable && l.Gone():
		return modelFault("the model %s cannot be reached: %s", safetext.ToLine(name), safetext.ToLine(l.Reason))
	case !l.Reachable || len(l.Models) == 0:
		return nil // an endpoint without a list says nothing against the model
	}
	// A list may have a dated name where an alias is meant.
	want := strings.TrimSuffix(cfg.Model, "-latest")
	if slices.ContainsFunc(l.Models, func(x provider.Model) bool { return strings.HasPrefix(x.ID, want) }) {
		return nil
	}
	known := make([]string, len(l.Models))
	for i, x := range l.Models {
		known[i] = x.ID
	}
	return modelFault("%s has no model %s%s", safetext.ToLine(l.Name), safetext.ToLine(cfg.Model), suggest(cfg.Model, known))
}

// terminalContext is what the interface can do about the model and its context.
type terminalContext struct{ terminalSession }

var _ tui.Context = terminalContext{}

// Models implements tui.Context.
func (t terminalContext) Models(ctx context.Context) ([]tui.ModelChoice, error) {
	opt := t.app.opt
	list, err := ListModels(ctx, opt)
	if err != nil {
		return nil, err
	}
	now := t.loop().Model
	out := []tui.ModelChoice{{Name: operator.Name, Note: "you choose the calls", Current: now == operator.Name}}
	for _, e := range list.Endpoints {
		if !e.Reachable {
			out = append(out, tui.ModelChoice{Name: e.Name, Disabled: e.Reason, Current: e.Name == now})
			continue
		}
		entry, _ := t.app.models.providerOf(e.Name)
		for i, m := range e.Models {
			name := e.Name + "/" + m.ID
			if m.ID == entry.Model {
				name = e.Name // what the configuration calls it
			}
			out = append(out, tui.ModelChoice{
				Name: name, Note: m.ID + " · " + contextNote(e.Contexts[i]), Current: name == now,
			})
		}
	}
	return out, nil
}

// SetModel implements tui.Context.
func (t terminalContext) SetModel(ctx context.Context, name string) (display string, queued bool, err error) {
	info, queued, err := t.app.SetModel(ctx, t.loop().ID, name, t.by())
	return info.Display, queued, err
}

// Compact implements tui.Context.
func (t terminalContext) Compact(ctx context.Context) error {
	if t.Operator() {
		return exit.New(exit.Usage, "there is no model that could summarise: /model gives the session one")
	}
	_, err := t.app.Session.Compact(ctx, t.loop().ID, t.by())
	return err
}

// Usage implements tui.Context.
func (t terminalContext) Usage() []event.ModelUsage { return t.app.Session.Usage() }

// Limits implements tui.Context.
func (t terminalContext) Limits() tui.ContextLimits {
	l := t.app.conf.Limits
	return tui.ContextLimits{
		Window: t.app.models.windowNamed(t.loop().Model),
		Steps:  orLimit(l.Steps, session.DefaultStepsPerTurn), Calls: orLimit(l.ToolCalls, session.DefaultCallsPerTurn),
	}
}

func orLimit(n, def int) int {
	if n > 0 {
		return n
	}
	return def
}

// windowNamed is the context of a model by its configured name, 0 where it is not
// known.
func (m *models) windowNamed(name string) int {
	c, err := m.named(context.Background(), name)
	if err != nil {
		return 0
	}
	return c.Info().ContextTokens
}

// contextNote is the size of a context in few words.
func contextNote(c ContextSize) string {
	n := fmt.Sprint(c.Tokens)
	if c.Tokens >= 1000 {
		n = fmt.Sprintf("%dk", c.Tokens/1000)
	}
	if c.Source == windowAssumed {
		return n + " assumed"
	}
	return n
}
