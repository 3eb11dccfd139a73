package mcpadapter

import (
	"context"
	"slices"
)

// reroot applies a replacement that changes nothing but the roots of a binding
// that runs, and returns that run: the connection stays, and the server is told
// by tellRoots. It returns nil for every other change. The change lock is held.
func (m *Manager) reroot(op Operation, b Binding) *runtime {
	if _, replaces := op.(ReplaceBinding); !replaces {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.find(op.target())
	if e == nil || e.rt == nil || !m.onlyRoots(e.cfg, b) || e.rt.cl.PutRoots(b.Server.Roots) != nil {
		return nil
	}
	e.cfg = b
	return e.rt
}

// onlyRoots reports whether two definitions of a binding differ in their roots
// and in nothing else. Roots that are declared for the first time, or not any
// more, are another capability and need another connection.
func (m *Manager) onlyRoots(was, is Binding) bool {
	if was.Fault != nil || is.Fault != nil || was.Server.Roots == nil || is.Server.Roots == nil ||
		slices.Equal(was.Server.Roots, is.Server.Roots) {
		return false
	}
	was.Server.Roots = is.Server.Roots
	return bindingDigest(was, m.deps.DigestKey) == bindingDigest(is, m.deps.DigestKey)
}

// tellRoots tells servers of roots that were replaced. One that cannot be told
// keeps working, and learns of them when it asks.
func (m *Manager) tellRoots(ctx context.Context, rooted []*runtime) {
	for _, rt := range rooted {
		if err := rt.cl.TellRoots(ctx); err != nil {
			rt.notice("roots_not_told", LevelWarn, err, "the server could not be told of its new roots: %s", err.Error())
		}
	}
}
