package mcpadapter

import (
	"fmt"
	"strings"

	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/mcpadapter/catalog"
)

// definitions are the tools of one runtime under one generation.
type definitions struct {
	gen  *catalog.Generation
	list []tool.Definition
}

// toolset is what one loop may use.
type toolset struct {
	defs []tool.Definition
	// scopes has the scope of each definition's binding.
	scopes []Scope
	// parts are the generations that the definitions come from, one for each
	// admitted binding that has one, in configuration order.
	parts []part
}

type part struct {
	rt  *runtime
	gen *catalog.Generation
}

// signature tells whether two toolsets differ for a loop: in their definitions,
// or in the runs that serve them.
func (t toolset) signature() string {
	var b strings.Builder
	set, err := tool.NewSet(t.defs)
	if err == nil {
		b.WriteString(set.Digest())
	}
	for _, p := range t.parts {
		fmt.Fprintf(&b, " %d", p.rt.id)
	}
	return b.String()
}

// without drops one tool.
func (t toolset) without(id tool.Identity) toolset {
	out := toolset{parts: t.parts}
	for i, d := range t.defs {
		if d.Identity != id {
			out.defs = append(out.defs, d)
			out.scopes = append(out.scopes, t.scopes[i])
		}
	}
	return out
}

// SessionTools returns the tools of session-scoped bindings that the loop may
// use, in configuration order. A tool whose name another one has already is
// withheld; a notice names both.
func (m *Manager) SessionTools(loopID, loopName string) []tool.Definition {
	return m.build(loopID, loopName).of(ScopeSession)
}

// LoopTools returns the tools of the loop's own bindings.
func (m *Manager) LoopTools(loopID string) []tool.Definition {
	return m.build(loopID, loopID).of(ScopeLoop)
}

func (t toolset) of(s Scope) []tool.Definition {
	var out []tool.Definition
	for i, d := range t.defs {
		if t.scopes[i] == s {
			out = append(out, d)
		}
	}
	return out
}

// build joins the tools of all bindings that a loop may use.
func (m *Manager) build(loopID, loopName string) toolset {
	m.mu.Lock()
	var live []*runtime
	for _, e := range m.entries {
		if e.rt != nil && e.cfg.admits(loopID, loopName) {
			live = append(live, e.rt)
		}
	}
	m.mu.Unlock()
	window := m.windows.get(loopID, loopName)
	var out toolset
	taken := map[string]tool.Identity{}
	for _, rt := range live {
		defs := rt.definitions(window)
		if defs.gen == nil {
			continue
		}
		out.parts = append(out.parts, part{rt, defs.gen})
		for _, d := range defs.list {
			if incumbent, dup := taken[d.Name]; dup {
				m.clash(rt, &DuplicateModelNameError{Name: d.Name, Incumbent: incumbent, Newcomer: d.Identity})
				continue
			}
			taken[d.Name] = d.Identity
			out.defs = append(out.defs, d)
			out.scopes = append(out.scopes, rt.cfg.scope())
		}
	}
	return out
}

func (b Binding) admits(loopID, loopName string) bool {
	if b.scope() == ScopeLoop {
		return b.Loop == loopID
	}
	return b.Visibility.Admits(loopID, loopName)
}

// maxClashesKnown bounds what is remembered of the clashes that were told.
const maxClashesKnown = 4096

// clash tells once for each run that a tool is withheld for its name.
func (m *Manager) clash(rt *runtime, err *DuplicateModelNameError) {
	key := fmt.Sprintf("%d %s", rt.id, err.Newcomer)
	m.mu.Lock()
	told := m.clashes[key]
	if len(m.clashes) >= maxClashesKnown {
		clear(m.clashes)
	}
	m.clashes[key] = true
	m.mu.Unlock()
	if !told {
		m.notice(rt.cfg.Name, "duplicate_model_name", LevelError, err, "two tools would be called %s: %s has the name, %s is withheld",
			err.Name, safetext.Ident(err.Incumbent.String()), safetext.Ident(err.Newcomer.String()))
	}
}

// definitions returns the tools of the newest generation that the binding
// offers to a model with a context of so many tokens; none once it was withdrawn.
func (rt *runtime) definitions(window int) definitions {
	gen := rt.cl.Generation()
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if gen == nil || rt.gone != "" {
		return definitions{}
	}
	lazy := rt.deferred(gen, window)
	defs := &rt.eager
	if lazy {
		defs = &rt.lazy
	}
	if defs.gen != gen {
		*defs = definitions{gen: gen, list: rt.define(gen, lazy)}
	}
	return *defs
}

// define makes the definitions of a generation. The lock is held.
func (rt *runtime) define(gen *catalog.Generation, deferred bool) []tool.Definition {
	srv := rt.cfg.Server
	trust := rt.decision.trust()
	if srv.Builtin {
		trust = tool.TrustBuiltin
	}
	var out []tool.Definition
	for _, t := range gen.Tools {
		if rt.withheld(t) != "" {
			continue
		}
		out = append(out, tool.Definition{
			Name: t.ModelName, Title: t.Title, Description: t.Description, Instructions: gen.Instructions,
			InputSchema: t.InputSchema, OutputSchema: t.OutputSchema,
			Hints: t.Hints, HintsTrusted: srv.TrustAnnotations,
			Identity: ToolIdentity{Binding: rt.cfg.Name, Tool: t.Name}.Neutral(),
			Digest:   t.Digest, Generation: gen.Number, Trust: trust, Pin: rt.decision.Fingerprint,
			Parallel: srv.Parallel, Tokens: t.Tokens, Deferred: deferred,
			Handler: &handler{rt: rt, tool: t},
		})
	}
	return out
}

// withheld says why the binding does not offer a tool, "" if it does.
func (rt *runtime) withheld(t catalog.Tool) string {
	switch {
	case t.Withheld != "":
		return t.Withheld
	case !rt.cfg.Server.Offers(t.Name):
		return "the binding's tools.allow and tools.deny leave it out"
	}
	return ""
}
