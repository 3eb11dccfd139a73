package compose

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/session"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/mcpadapter"
)

// maxInstanceName is how long a binding's name may be.
const maxInstanceName = 32

// delegates give each delegate what belongs to it alone: the loop-scoped
// bindings of its agent, run once more under names of their own. Everybody but
// the adapter knows an instance by the name of its entry: tools, rules, grants,
// pins, answers and records.
type delegates struct {
	app *App

	mu  sync.Mutex
	all map[string]instance // by the binding's name
}

// instance is a binding that runs for one delegate.
type instance struct {
	entry // the server is the configured one, the binding the delegate's
	loop  string
}

var (
	_ session.DelegateHost     = (*delegates)(nil)
	_ mcpadapter.ToolInstaller = (*delegates)(nil)
	_ mcpadapter.GateOpener    = (*delegates)(nil)
)

func newDelegates(a *App) *delegates { return &delegates{app: a, all: map[string]instance{}} }

func (d *delegates) instance(name string) (instance, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	i, ok := d.all[name]
	return i, ok
}

// errNotStarted says that nothing can be given to a delegate yet.
var errNotStarted = errors.New("the servers are not started yet")

// Ready implements session.DelegateHost.
func (d *delegates) Ready(ctx context.Context, who session.Delegate) ([]string, error) {
	d.app.mu.Lock()
	adopter := d.app.adopter
	d.app.mu.Unlock()
	if adopter == nil {
		return nil, errNotStarted
	}
	made, err := d.make(who)
	if err != nil {
		return nil, err
	}
	missing, err := d.start(ctx, made)
	if err != nil {
		return nil, err
	}
	return missing, adopter.Install(ctx, who.Loop, who.Agent)
}

// make prepares the agent's own bindings for a delegate.
func (d *delegates) make(who session.Delegate) ([]instance, error) {
	var out []instance
	for _, e := range d.app.Port.entries() {
		if e.binding.Scope != mcpadapter.ScopeLoop || e.binding.Loop != who.Agent || !e.server.Enabled {
			continue
		}
		if e.binding.Fault != nil {
			if e.server.Required {
				return nil, fmt.Errorf("its server %s is required and not valid: %s", e.server.Name, e.binding.Fault.Text)
			}
			continue // a notice said so when the session began
		}
		b, err := d.app.binding(e.server)
		if err != nil {
			return nil, err
		}
		i := instance{entry: entry{e.server, b}, loop: who.Loop}
		d.name(&i, who)
		out = append(out, i)
	}
	return out, nil
}

// name gives an instance a name that no other binding has, and remembers it. It
// ends in the delegate's number, which the session gives once.
func (d *delegates) name(i *instance, who session.Delegate) {
	number := who.Loop[strings.LastIndex(who.Loop, "-")+1:]
	d.mu.Lock()
	defer d.mu.Unlock()
	for n := 0; ; n++ {
		suffix := "-" + number
		if n > 0 {
			suffix += "-" + strconv.Itoa(n)
		}
		name := i.server.Name
		name = strings.TrimRight(name[:min(len(name), maxInstanceName-len(suffix))], "_-") + suffix
		_, configured := d.app.Port.entry(name)
		if _, taken := d.all[name]; configured || taken {
			continue
		}
		i.binding.Name, i.binding.Server.Name, i.binding.Loop = name, name, i.loop
		// A required binding stops its owner, which is the delegate: start sees to it.
		i.binding.Required = false
		d.all[name] = *i
		return
	}
}

// start runs instances and waits for them. missing names those that do not
// serve; one that its delegate requires is an error.
func (d *delegates) start(ctx context.Context, made []instance) (missing []string, err error) {
	if len(made) == 0 {
		return nil, nil
	}
	ops := make([]mcpadapter.Operation, len(made))
	for n, i := range made {
		ops[n] = mcpadapter.AddBinding{Binding: i.binding}
	}
	failure := d.app.Manager.ReconfigureAs(ctx, mcpadapter.Attribution{By: "delegate"}, ops...)
	if failure != nil && !applied(failure) {
		return nil, failure
	}
	for _, i := range made {
		if err := d.app.Manager.Wait(ctx, i.binding.Name); err != nil {
			if i.server.Required || d.app.opt.Strict {
				return nil, fmt.Errorf("its server %s is required: %w", i.server.Name, err)
			}
			missing = append(missing, i.server.Name)
		}
	}
	return missing, ctx.Err()
}

// Ended implements session.DelegateHost.
func (d *delegates) Ended(ctx context.Context, who session.Delegate) {
	// What is still closing when ctx ends goes on closing by itself.
	_ = d.app.Manager.CloseLoop(ctx, who.Loop)
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, i := range d.all {
		if i.loop == who.Loop {
			delete(d.all, name)
		}
	}
}

// ReplaceExternalTools implements mcpadapter.ToolInstaller: the tools of an
// instance have the names that those of its entry would have.
func (d *delegates) ReplaceExternalTools(ctx context.Context, loop, source string, generation uint64, defs []tool.Definition) error {
	out := make([]tool.Definition, len(defs))
	copy(out, defs)
	for n := range out {
		if i, ok := d.instance(out[n].Identity.Binding); ok {
			i.rename(&out[n])
		}
	}
	err := d.app.Session.ReplaceExternalTools(ctx, loop, source, generation, out)
	dup, ok := errors.AsType[*mcpadapter.DuplicateModelNameError](err)
	if !ok {
		return err
	}
	for n := range out {
		if out[n].Identity == dup.Newcomer {
			return &mcpadapter.DuplicateModelNameError{Name: dup.Name, Incumbent: dup.Incumbent, Newcomer: defs[n].Identity}
		}
	}
	return err
}

// rename gives a tool the identity and the name that its entry has. A name that
// had to be shortened keeps what distinguishes it.
func (i instance) rename(t *tool.Definition) {
	t.Identity.Binding = i.server.Name
	if rest, ok := strings.CutPrefix(t.Name, "mcp__"+i.binding.Name+"__"); ok {
		t.Name = "mcp__" + i.server.Name + "__" + rest
	}
}

// OpenGate implements mcpadapter.GateOpener: a question of an instance is one of
// its entry, asked in the delegate's loop.
func (d *delegates) OpenGate(ctx context.Context, req gate.Request) (gate.Response, error) {
	if i, ok := d.instance(req.Subject.Binding); ok {
		req.Subject.Binding = i.server.Name
		if req.Subject.Loop == "" {
			req.Subject.Loop = i.loop
		}
	}
	return d.app.Session.OpenGate(ctx, req)
}
