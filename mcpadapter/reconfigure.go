package mcpadapter

import (
	"context"
	"errors"
	"slices"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/internal/safetext"
)

// Reconfigure validates all operations together, then applies them in order. A
// *ConfigError or *UnknownBindingError means that nothing was applied. Once
// applied it waits until the bindings concerned have settled and idle loops have
// the resulting tools; a BindingFailure then says that a binding was configured
// as asked but could not be started (an optional one is tried again). ctx bounds
// that waiting alone.
func (m *Manager) Reconfigure(ctx context.Context, ops ...Operation) error {
	return m.ReconfigureAs(ctx, Attribution{By: "operator"}, ops...)
}

// ReconfigureAs is Reconfigure with a record of who asked.
func (m *Manager) ReconfigureAs(ctx context.Context, by Attribution, ops ...Operation) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.ctx, cancel)()
	started, stopped, rooted, err := m.apply(by, ops)
	if err != nil {
		return err
	}
	m.changed()
	m.tellRoots(ctx, rooted)
	m.adoptIdle(ctx)
	for _, rt := range stopped {
		if rt.cl.Inflight() > 0 {
			continue // it retires in its own time
		}
		select {
		case <-rt.ended:
		case <-ctx.Done():
		}
	}
	var failures []error
	for _, rt := range started {
		if err := rt.awaitFirst(ctx); err != nil && rt.withdrawn() == "" {
			failures = append(failures, rt.failure(err))
		}
	}
	m.adoptIdle(ctx)
	if m.ctx.Err() != nil {
		return ErrManagerClosed
	}
	return errors.Join(failures...)
}

// apply makes the changes. It holds the change lock, but waits for no server.
// rooted are the runs that go on with other roots.
func (m *Manager) apply(by Attribution, ops []Operation) (started, stopped, rooted []*runtime, err error) {
	m.change.Lock()
	defer m.change.Unlock()
	m.mu.Lock()
	closed, running := m.closed, m.started
	plan, err := m.plan(ops)
	m.mu.Unlock()
	switch {
	case closed || m.ctx.Err() != nil:
		return nil, nil, nil, ErrManagerClosed
	case err != nil:
		return nil, nil, nil, err
	}
	for i, op := range ops {
		rt := m.reroot(op, plan[i])
		if rt != nil {
			rooted = append(rooted, rt)
		} else if rt = m.applyOne(op, plan[i]); rt != nil {
			stopped = append(stopped, rt)
		}
		m.mu.Lock()
		e := m.find(op.target())
		m.mu.Unlock()
		m.pump.event(&event.BindingReconfigured{
			Header: m.header(plan[i]), Binding: op.target(), Op: op.op(),
			By: safetext.ToLineN(by.By, 200).String(), Saved: by.Saved,
		})
		switch op.(type) {
		case AddBinding, ReplaceBinding:
			if running && plan[i].Disabled {
				m.tellDisabled(plan[i], integration.StateConfigured)
			}
		}
		if e == nil || !running {
			continue
		}
		rt, failure := m.launch(e)
		switch {
		case failure != nil:
			m.notice(op.target(), "binding_invalid", LevelError, *failure, "%s", failure.Error())
		case rt != nil && !slices.Contains(started, rt):
			started = append(started, rt)
		}
	}
	return started, stopped, rooted, nil
}

// plan checks the operations one after the other on a copy of the
// configuration and returns the binding that each leaves behind. The lock is
// held.
func (m *Manager) plan(ops []Operation) ([]Binding, error) {
	var cfgs []Binding
	for _, e := range m.entries {
		cfgs = append(cfgs, e.cfg)
	}
	out := make([]Binding, len(ops))
	for i, op := range ops {
		at := slices.IndexFunc(cfgs, func(b Binding) bool { return b.Name == op.target() })
		if _, add := op.(AddBinding); at < 0 && !add {
			return nil, &UnknownBindingError{Name: safetext.ToLineN(op.target(), 80).String()}
		}
		switch op := op.(type) {
		case EnableBinding:
			if cfgs[at].Fault != nil {
				return nil, &ConfigError{Binding: op.Name, Reason: "its entry is invalid: " + cfgs[at].Fault.Position + ": " + safetext.ToLine(cfgs[at].Fault.Text).String()}
			}
			cfgs[at].Disabled = false
			out[i] = cfgs[at]
		case DisableBinding:
			cfgs[at].Disabled = true
			out[i] = cfgs[at]
		case AddBinding:
			b, err := checkBinding(op.Binding, cfgs)
			if err != nil {
				return nil, err
			}
			cfgs, out[i] = append(cfgs, b), b
		case ReplaceBinding:
			b, err := checkReplacement(op, slices.Delete(slices.Clone(cfgs), at, at+1))
			if err != nil {
				return nil, err
			}
			cfgs[at], out[i] = b, b
		case RemoveBinding:
			out[i] = cfgs[at]
			cfgs = slices.Delete(cfgs, at, at+1)
		}
	}
	return out, nil
}

func checkReplacement(op ReplaceBinding, others []Binding) (Binding, error) {
	b := op.Binding
	if b.Name != "" && b.Name != op.Name {
		return b, &ConfigError{Binding: op.Name, Reason: "a replacement keeps its name; remove and add to rename"}
	}
	b.Name = op.Name
	if b.Server.Name != "" && b.Server.Name != op.Name {
		return b, &ConfigError{Binding: op.Name, Reason: "a replacement's server keeps the binding's name"}
	}
	return checkBinding(b, others)
}

// applyOne makes one change, except that it starts nothing. It returns the
// runtime that the change ended.
func (m *Manager) applyOne(op Operation, b Binding) *runtime {
	m.mu.Lock()
	e := m.find(op.target())
	var rt *runtime
	switch op.(type) {
	case AddBinding:
		m.entries = append(m.entries, &entry{cfg: b, since: m.deps.Clock.Now()})
		m.mu.Unlock()
		return nil
	case EnableBinding:
		e.cfg = b
		m.mu.Unlock()
		return nil
	case RemoveBinding:
		m.entries = slices.DeleteFunc(m.entries, func(x *entry) bool { return x == e })
	}
	rt, e.rt = e.rt, nil
	if rt != nil {
		e.old = rt
		if g := rt.cl.Generation(); g != nil {
			e.last = g
		}
		m.retiring[rt] = struct{}{}
	}
	e.cfg, e.since = b, m.deps.Clock.Now()
	m.mu.Unlock()
	if rt == nil {
		return nil
	}
	why := map[string]string{"disable": "disabled", "replace": "replaced", "remove": "removed"}[op.op()]
	rt.withdraw(why)
	if why == "replaced" {
		rt.hush()
	}
	if n := rt.cl.Inflight(); n > 0 {
		m.notice(b.Name, "retiring", LevelInfo, nil, "%d calls in flight may go on for %s", n, retireTime)
	}
	go m.deps.crash().Guard(func() { m.retire(e, rt) })
	return rt
}

// retire ends a runtime and forgets it. The runtime's ended channel, which Close
// waits for, is this goroutine's owner.
func (m *Manager) retire(e *entry, rt *runtime) {
	defer close(rt.ended)
	rt.retire(m.ctx)
	m.mu.Lock()
	delete(m.retiring, rt)
	if e.old == rt {
		e.old = nil
	}
	disabled := e.rt == nil && e.cfg.Disabled && !m.closed && !rt.hushed()
	cfg := e.cfg
	m.mu.Unlock()
	if disabled {
		m.tellDisabled(cfg, integration.StateClosed)
	}
}
