package mcpadapter

import (
	"context"
	"encoding/json"
	"time"

	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
)

// running returns the live runtime of a binding.
func (m *Manager) running(name string) (*runtime, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.find(name)
	switch {
	case m.closed:
		return nil, ErrManagerClosed
	case e == nil:
		return nil, &UnknownBindingError{Name: safetext.ToLineN(name, 80).String()}
	case !m.started:
		return nil, ErrNotStarted
	case e.cfg.Fault != nil:
		return nil, BindingFailure{Binding: name, Class: protocol.ClassConfig, Reason: e.cfg.Fault.Position + ": " + safetext.ToLine(e.cfg.Fault.Text).String()}
	case e.rt == nil:
		return nil, BindingFailure{Binding: name, Class: protocol.ClassConfig, Reason: "it is disabled"}
	}
	return e.rt, nil
}

// Wait waits until a binding serves calls; it fails with a BindingFailure once
// the binding's first attempt has failed, or when ctx ends.
func (m *Manager) Wait(ctx context.Context, name string) error {
	rt, err := m.running(name)
	if err != nil {
		return err
	}
	err = rt.awaitFirst(ctx)
	switch _, serving := rt.cl.Serving(); {
	case serving:
		return nil
	case err == nil: // it served before and is away
		err = rt.cl.Wait(ctx)
	case rt.trustedLater():
		err = rt.cl.WaitAttempt(ctx, 0)
	}
	if err != nil {
		return rt.failure(err)
	}
	return nil
}

// trustedLater reports a binding that was first held back and then let start.
func (rt *runtime) trustedLater() bool {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	class := protocol.ClassOf(rt.firstErr)
	return rt.asking == nil && (class == protocol.ClassUntrusted || class == protocol.ClassIntegrity) &&
		(rt.decision.Kind == Accepted || rt.decision.Kind == Once)
}

// Reconnect drops a binding's connection, if it has one, and connects anew at
// once; an undecided or refused start is asked for again. It returns when the
// attempt has ended, with a BindingFailure if it failed.
func (m *Manager) Reconnect(ctx context.Context, name string) error {
	rt, err := m.running(name)
	if err != nil {
		return err
	}
	if err := rt.reconnect(ctx); err != nil {
		return rt.failure(err)
	}
	m.adoptIdle(ctx)
	return nil
}

// askWait is how long a reconnect waits for a runtime that is just deciding.
const askWait = time.Second

// reconnect asks for trust again where that is undecided, else for a new
// connection, and returns what came of it.
func (rt *runtime) reconnect(ctx context.Context) error {
	rt.mu.Lock()
	asking := rt.asking != nil
	rt.mu.Unlock()
	if !asking {
		after := rt.cl.Attempts()
		rt.cl.Reconnect()
		return rt.cl.WaitAttempt(ctx, after)
	}
	reply := make(chan error, 1)
	t := time.NewTimer(askWait)
	defer t.Stop()
	select {
	case rt.ask <- reply:
	case <-t.C:
		return &protocol.Error{Class: protocol.ClassUntrusted, Op: "start", Message: "somebody is being asked already"}
	}
	select {
	case err := <-reply:
		return err
	case <-ctx.Done():
		return waitEnded(ctx)
	}
}

// ReadResource reads a resource of a binding and returns the raw result.
func (m *Manager) ReadResource(ctx context.Context, binding, uri string) (json.RawMessage, error) {
	rt, err := m.running(binding)
	if err != nil {
		return nil, err
	}
	return rt.cl.ReadResource(ctx, uri)
}

// GetPrompt gets a prompt of a binding; args is a JSON object of strings or nil.
func (m *Manager) GetPrompt(ctx context.Context, binding, name string, args json.RawMessage) (json.RawMessage, error) {
	rt, err := m.running(binding)
	if err != nil {
		return nil, err
	}
	return rt.cl.GetPrompt(ctx, name, args)
}

// Request sends a raw request to a binding; tools/call is refused.
func (m *Manager) Request(ctx context.Context, binding, method string, params json.RawMessage) (json.RawMessage, error) {
	rt, err := m.running(binding)
	if err != nil {
		return nil, err
	}
	return rt.cl.Call(ctx, method, params)
}
