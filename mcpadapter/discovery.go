package mcpadapter

import (
	"slices"

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

// deferred reports whether a model has to search for the tools of a generation
// before it can call them.
func (rt *runtime) deferred(gen *catalog.Generation) bool {
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
	if n := rt.m.context.Load(); n > 0 {
		most = n * share / 100
	}
	return tools > EagerTools || int64(tokens) > most
}

// SetContextTokens tells the size of another model's context, 0 for unknown.
// Which tools are deferred is decided anew; loops get the result at their next
// idle boundary.
func (m *Manager) SetContextTokens(n int) {
	if m.context.Swap(int64(n)) == int64(n) {
		return
	}
	m.mu.Lock()
	adopters := slices.Clone(m.adopters)
	m.mu.Unlock()
	for _, a := range adopters {
		a.kick()
	}
}
