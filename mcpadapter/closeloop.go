package mcpadapter

import (
	"context"
	"errors"
	"strings"
)

// CloseLoop ends what belongs to one loop alone, when the loop has ended: its
// loop-scoped bindings are removed, their calls in flight end at once with their
// outcome unknown, and adopters forget the loop. It returns when every one of
// them is closed, each within its CloseTimeout; ctx bounds the waiting alone, and
// its error says that something is still closing. A loop without bindings of its
// own, one that is closed already and a closed Manager are no errors. It is safe
// to call at the same time as anything else.
func (m *Manager) CloseLoop(ctx context.Context, loopID string) error {
	m.forgetLoop(loopID)
	m.windows.forget(loopID)
	names := m.loopBindings(loopID)
	for _, name := range names {
		_, _, _, err := m.apply(Attribution{By: "loop closed"}, []Operation{RemoveBinding{Name: name}})
		var unknown *UnknownBindingError
		switch {
		case errors.As(err, &unknown): // removed by somebody else meanwhile
		case errors.Is(err, ErrManagerClosed):
			return nil // which closes them all
		case err != nil:
			return err
		}
	}
	ending := m.endingOf(loopID)
	for _, rt := range ending {
		rt.hurry()
	}
	for _, rt := range ending {
		select {
		case <-rt.ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if len(names) > 0 {
		m.notice("", "loop_bindings_closed", LevelInfo, nil, "loop %s ended; its own bindings are closed: %s",
			loopID, strings.Join(names, ", "))
	}
	return nil
}

// loopBindings names the bindings that are the loop's own.
func (m *Manager) loopBindings(loopID string) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var names []string
	for _, e := range m.entries {
		if e.cfg.scope() == ScopeLoop && e.cfg.Loop == loopID {
			names = append(names, e.cfg.Name)
		}
	}
	return names
}

// endingOf lists the loop's own runs that are retiring, also those of bindings
// that were removed or replaced before.
func (m *Manager) endingOf(loopID string) []*runtime {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*runtime
	for rt := range m.retiring {
		if rt.cfg.scope() == ScopeLoop && rt.cfg.Loop == loopID {
			out = append(out, rt)
		}
	}
	return out
}

// forgetLoop has the adopters leave the loop alone: one that was prepared and
// never opened is told of by nobody else.
func (m *Manager) forgetLoop(loopID string) {
	m.mu.Lock()
	adopters := append([]*Adopter(nil), m.adopters...)
	m.mu.Unlock()
	for _, a := range adopters {
		a.observe(loopID, "", LoopClosed)
	}
}
