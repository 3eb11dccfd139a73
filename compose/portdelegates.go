package compose

import (
	"context"

	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/harness/ledger"
)

// codeForDelegates is the code of a binding that runs once for each delegate of a
// loop, and not by itself.
const codeForDelegates = "for_delegates"

// Bindings implements integration.Port: in configuration order all definitions in
// force, those included that run for delegates alone, and then what runs for one
// of them now.
func (p *Port) Bindings() []integration.Binding {
	running := p.app.Manager.Status()
	out := make([]integration.Binding, 0, len(running))
	at := map[string]int{}
	for i, b := range running {
		at[b.Name] = i
	}
	shown := make([]bool, len(running))
	for _, e := range p.entries() {
		if i, ok := at[e.server.Name]; ok {
			out, shown[i] = append(out, running[i]), true
		} else if p.app.ofDelegates(e) {
			out = append(out, p.app.asked(e))
		}
	}
	for i, b := range running {
		if !shown[i] {
			out = append(out, b)
		}
	}
	return out
}

// asked is the status of a binding that runs when a delegate asks for it.
func (a *App) asked(e entry) integration.Binding {
	b := integration.Binding{
		Name: e.server.Name, State: integration.StateConfigured, Code: codeForDelegates,
		Reason: "for loop " + e.binding.Loop + ": it is started for each of its delegates",
		Scope:  string(e.binding.Scope), Loop: e.binding.Loop, Required: e.binding.Required, Enabled: e.server.Enabled,
	}
	if t := e.binding.Server.Transport; t != nil {
		b.Kind, b.Origin = t.Kind(), t.Origin()
	}
	if e.server.Builtin != "" {
		b.Kind, b.Trust = "builtin", "builtin"
	}
	if !e.server.Enabled {
		b.State, b.Code = integration.StateDisabled, string(integration.StateDisabled)
		b.Reason = "for loop " + e.binding.Loop + ": its next delegates are without it"
	}
	return b
}

// changeForDelegates makes a change of a binding that runs for delegates alone.
// Delegates that run keep what they have; the next one has what came of it.
func (p *Port) changeForDelegates(ctx context.Context, c integration.Change, e entry) error {
	switch c.Op {
	case integration.OpEnable, integration.OpDisable:
		if c.Op == integration.OpEnable {
			if err := p.app.pins.Enable(c.Binding); err != nil {
				return err
			}
		}
		e.server.Enabled = c.Op == integration.OpEnable
		e.binding.Disabled = !e.server.Enabled
	case integration.OpRemove:
	default:
		return exit.New(exit.Usage, "%s runs once for each delegate of loop %s, so that there is nothing to %s", c.Binding, e.binding.Loop, string(c.Op))
	}
	if err := p.recordChange(ctx, c.By, c.Op, c.Binding, c.Save); err != nil {
		return err
	}
	if c.Op == integration.OpRemove {
		p.drop(c.Binding)
	} else {
		p.put(e)
	}
	if c.Save {
		return p.app.saveChange(c.Op, e.server, c.By)
	}
	return nil
}

// defineForDelegates adds or replaces a binding that runs for delegates alone.
func (p *Port) defineForDelegates(ctx context.Context, op integration.Op, e entry, by string, save bool) error {
	if err := p.recordChange(ctx, by, op, e.server.Name, save); err != nil {
		return err
	}
	p.put(e)
	p.app.tape.define(string(op), e)
	if save {
		return p.app.saveServer(e.server)
	}
	return nil
}

// sameOwners says why a definition cannot take the place of another: what runs
// for delegates alone is no binding of the session.
func (p *Port) sameOwners(before, after entry) error {
	was, is := p.app.ofDelegates(before), p.app.ofDelegates(after)
	if was == is {
		return nil
	}
	loop := before.binding.Loop
	if is {
		loop = after.binding.Loop
	}
	return exit.New(exit.Usage, "what runs for each delegate of loop %s is not replaced by what does not, nor the other way round: remove %s, then add it", loop, before.server.Name)
}

// recordChange leaves the event and the ledger entry of a change that the adapter
// does not know of.
func (p *Port) recordChange(ctx context.Context, by string, op integration.Op, name string, save bool) error {
	return p.app.Session.Publish(ctx, &event.BindingReconfigured{Binding: name, Op: string(op), By: by, Saved: save}, ledger.Draft{
		Kind: ledger.KindReconfiguration, Session: p.app.Session.ID(), Binding: name, Answerer: by, Detail: string(op),
	})
}

// unknown says that no binding has a name. One that runs for a delegate is changed
// by the name of its entry.
func (p *Port) unknown(name string) error {
	if i, ok := p.app.delegates.instance(name); ok {
		return exit.New(exit.Usage, "%s runs for one delegate, and ends with it: what the next ones have is changed as %s", name, i.server.Name)
	}
	var names []string
	for _, e := range p.entries() {
		names = append(names, e.server.Name)
	}
	return exit.New(exit.Usage, "no binding is called %q%s", name, suggest(name, names))
}
