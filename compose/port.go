package compose

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/harness/ledger"
	"github.com/looprig/looprig/mcpadapter"
)

// Port is the interface's and the scripts' view of the bindings.
type Port struct {
	app *App
	mu  sync.Mutex
	// list holds the definitions in force, in configuration order.
	list []entry
}

// entry is one definition: as it was written, and as the adapter has it.
type entry struct {
	server  config.Server
	binding mcpadapter.Binding
}

var _ integration.Port = (*Port)(nil)

func (p *Port) entries() []entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.list)
}

func (p *Port) entry(name string) (entry, bool) {
	for _, e := range p.entries() {
		if e.server.Name == name {
			return e, true
		}
	}
	return entry{}, false
}

func (p *Port) server(name string) (config.Server, bool) {
	e, ok := p.entry(name)
	return e.server, ok
}

// Catalog implements integration.Port.
func (p *Port) Catalog(binding string, generation uint64) (integration.Catalog, bool) {
	return p.app.Manager.Catalog(binding, generation)
}

// Kinds implements integration.Port.
func (p *Port) Kinds() []integration.SourceKind { return sourceKinds() }

// Current implements integration.Port.
func (p *Port) Current(binding string) (string, json.RawMessage, bool) {
	s, ok := p.server(binding)
	if !ok || s.Builtin != "" {
		return "", nil, false
	}
	written, err := config.ParseServer(s.Name, s.Entry, nil) // variables as they are written
	if err != nil {
		return "", nil, false
	}
	return written.Type, formValues(written), true
}

// fromForm reads a form; a replacement keeps what the form does not ask about.
func (p *Port) fromForm(c integration.Change) (config.Server, error) {
	var base []byte
	if s, ok := p.server(c.Binding); ok && c.Op == integration.OpReplace {
		base = s.Entry
	}
	return serverFromForm(c, base, p.app.env)
}

// Apply implements integration.Port.
func (p *Port) Apply(ctx context.Context, c integration.Change) error {
	switch c.Op {
	case integration.OpAdd, integration.OpReplace:
		s, err := p.fromForm(c)
		if err != nil {
			return err
		}
		return p.define(ctx, c.Op, s, c.By, c.Save, true)
	case integration.OpEnable, integration.OpDisable, integration.OpRemove, integration.OpReconnect:
		return p.change(ctx, c)
	}
	return exit.New(exit.Usage, "no operation is called %q", string(c.Op))
}

// Define adds or replaces a binding from a whole definition. Unlike the form's
// add, it accepts no launch: an unpinned one raises its gate.
func (p *Port) Define(ctx context.Context, op integration.Op, s config.Server, by string) error {
	return p.define(ctx, op, s, by, false, false)
}

func (p *Port) define(ctx context.Context, op integration.Op, s config.Server, by string, save, shown bool) error {
	if !s.Valid() {
		return exit.New(exit.Usage, "%w", s.Faults)
	}
	before, exists := p.entry(s.Name)
	if exists != (op == integration.OpReplace) {
		return existence(op, s.Name)
	}
	b, err := p.app.binding(s)
	if err != nil {
		return err
	}
	if exists {
		if err := p.sameOwners(before, entry{s, b}); err != nil {
			return err
		}
	}
	if shown && s.Builtin == "" {
		// The person saw the whole command or address and confirmed it: that is
		// its pin.
		if err := p.app.trust.acceptShown(ctx, entry{s, b}, by); err != nil {
			return err
		}
	}
	if p.app.ofDelegates(entry{s, b}) {
		return p.defineForDelegates(ctx, op, entry{s, b}, by, save)
	}
	p.put(entry{s, b})
	var operation mcpadapter.Operation = mcpadapter.AddBinding{Binding: b}
	if op == integration.OpReplace {
		operation = mcpadapter.ReplaceBinding{Name: s.Name, Binding: b}
	}
	err = p.reconfigure(ctx, by, save, op, s.Name, operation)
	switch {
	case err != nil && !applied(err): // nothing came of it
		p.restore(s.Name, before, exists)
		return err
	case save:
		err = errors.Join(err, p.app.saveServer(s))
	}
	p.app.tape.define(string(op), entry{s, b})
	return err
}

// restore puts back what a change that was not made had replaced.
func (p *Port) restore(name string, before entry, existed bool) {
	if existed {
		p.put(before)
		return
	}
	p.drop(name)
}

func (p *Port) drop(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = slices.DeleteFunc(p.list, func(o entry) bool { return o.server.Name == name })
}

// applied reports whether an error says that the change was made and that the
// server behind it did not come up.
func applied(err error) bool {
	var failure mcpadapter.BindingFailure
	return errors.As(err, &failure)
}

func existence(op integration.Op, name string) error {
	if op == integration.OpReplace {
		return exit.New(exit.Usage, "no binding is called %q, so it cannot be replaced: add it", name)
	}
	return exit.New(exit.Usage, "a binding is called %q already: replace it, or take another name", name)
}

func (p *Port) put(e entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.list {
		if p.list[i].server.Name == e.server.Name {
			p.list[i] = e
			return
		}
	}
	p.list = append(p.list, e)
}

func (p *Port) change(ctx context.Context, c integration.Change) error {
	e, ok := p.entry(c.Binding)
	if !ok {
		return p.unknown(c.Binding)
	}
	if p.app.ofDelegates(e) {
		return p.changeForDelegates(ctx, c, e)
	}
	var op mcpadapter.Operation
	switch c.Op {
	case integration.OpReconnect:
		failure := p.app.Manager.Reconnect(ctx, c.Binding)
		if failure != nil && !applied(failure) {
			return failure
		}
		return errors.Join(failure, p.record(ctx, c.By, c.Op, c.Binding, true))
	case integration.OpEnable:
		if err := p.app.pins.Enable(c.Binding); err != nil {
			return err
		}
		op, e.server.Enabled = mcpadapter.EnableBinding{Name: c.Binding}, true
	case integration.OpDisable:
		op, e.server.Enabled = mcpadapter.DisableBinding{Name: c.Binding}, false
	case integration.OpRemove:
		op = mcpadapter.RemoveBinding{Name: c.Binding}
	default:
		return exit.New(exit.Usage, "%s needs a whole definition", c.Op)
	}
	err := p.reconfigure(ctx, c.By, c.Save, c.Op, c.Binding, op)
	if err != nil && !applied(err) {
		return err
	}
	if c.Op == integration.OpRemove {
		p.drop(c.Binding)
	} else {
		p.put(e)
	}
	if c.Save {
		err = errors.Join(err, p.app.saveChange(c.Op, e.server, c.By))
	}
	return err
}

// reconfigure applies an operation and waits until idle loops have what came
// of it. A server that does not come up is reported after that.
func (p *Port) reconfigure(ctx context.Context, by string, save bool, kind integration.Op, name string, op mcpadapter.Operation) error {
	failure := p.app.Manager.ReconfigureAs(ctx, mcpadapter.Attribution{By: by, Saved: save}, op)
	if failure != nil && !applied(failure) {
		return failure
	}
	if err := p.record(ctx, by, kind, name, false); err != nil {
		return err
	}
	return errors.Join(failure, p.app.installNow(ctx))
}

// record leaves the ledger entry of a reconfiguration; withEvent publishes the
// event too, for operations that the adapter does not report itself.
func (p *Port) record(ctx context.Context, by string, kind integration.Op, name string, withEvent bool) error {
	draft := ledger.Draft{
		Kind: ledger.KindReconfiguration, Session: p.app.Session.ID(), Binding: name, Answerer: by, Detail: string(kind),
	}
	if withEvent {
		return p.app.Session.Publish(ctx, &event.BindingReconfigured{Binding: name, Op: string(kind), By: by}, draft)
	}
	return p.app.Session.RecordLedger(ctx, draft)
}

// Settle brings idle loops up to date with what the bindings serve now.
func (p *Port) Settle(ctx context.Context) error { return p.app.installNow(ctx) }

// installNow brings idle loops up to date before a change is reported done;
// running ones follow when their turn ends.
func (a *App) installNow(ctx context.Context) error {
	a.mu.Lock()
	adopter := a.adopter
	a.mu.Unlock()
	if adopter == nil {
		return nil
	}
	for _, l := range a.Session.Loops() {
		if l.Parent != "" {
			continue // a delegate has one turn, and its tools before that
		}
		if err := adopter.Install(ctx, l.ID, l.Name); err != nil {
			return err
		}
	}
	return nil
}

func (a *App) now() time.Time {
	if a.opt.Clock != nil {
		return a.opt.Clock.Now()
	}
	return time.Now()
}
