package mcpadapter

import (
	"slices"
	"sync"

	"github.com/looprig/looprig/mcpadapter/catalog"
	"github.com/looprig/looprig/mcpadapter/client"
)

// Where client.DiscoveryAuto stops giving every definition to the model. Either
// bound is enough.
const (
	// EagerTools is how many tools of one binding a model gets unasked.
	EagerTools = 20
	// EagerContextPercent is what they may cost of the model's context.
	EagerContextPercent = 5
	// EagerTokens stands in for that where the context's size is not known.
	EagerTokens = 10_000
)

// deferred reports whether a model with a context of so many tokens, 0 for
// unknown, has to search for the tools of a generation before it can call them.
func (rt *runtime) deferred(gen *catalog.Generation, window int) bool {
	switch rt.cfg.Server.Discovery {
	case client.DiscoveryEager:
		return false
	case client.DiscoveryLazy:
		return true
	}
	tools, tokens := 0, 0
	for _, t := range gen.Tools {
		if rt.withheld(t) == "" {
			tools++
			tokens += t.Tokens
		}
	}
	share := int64(EagerContextPercent)
	if p := rt.m.deps.DeferPercent; p > 0 {
		share = int64(p)
	}
	most := int64(EagerTokens)
	if window > 0 {
		most = int64(window) * share / 100
	}
	return tools > EagerTools || int64(tokens) > most
}

// windows are the sizes of the contexts of loops' models in tokens, 0 for unknown,
// by the loop's id or name; "" stands for all others.
type windows struct {
	mu sync.Mutex
	of map[string]int
}

func (w *windows) set(loop string, n int) (changed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if old, ok := w.of[loop]; ok && old == n {
		return false
	}
	if w.of == nil {
		w.of = map[string]int{}
	}
	w.of[loop] = n
	return true
}

// get is the size for the first of some names that has one of its own.
func (w *windows) get(names ...string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range names {
		if n, ok := w.of[name]; ok {
			return n
		}
	}
	return w.of[""]
}

func (w *windows) forget(loop string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.of, loop)
}

// SetContextTokens tells the size of another model's context, 0 for unknown: of
// the loop with an id, or, for "", of all that have none of their own. Which
// tools are deferred for them is decided anew; loops get the result at their next
// idle boundary.
func (m *Manager) SetContextTokens(loop string, n int) {
	if !m.windows.set(loop, n) {
		return
	}
	m.mu.Lock()
	adopters := slices.Clone(m.adopters)
	m.mu.Unlock()
	for _, a := range adopters {
		a.kick()
	}
}
