package mcpadapter

import (
	"slices"

	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/mcpadapter/catalog"
)

// Status is a snapshot of all bindings in configuration order. It asks no
// server and never blocks on one.
func (m *Manager) Status() []integration.Binding {
	m.mu.Lock()
	type row struct {
		entry
		history []integration.History
		meter   *meter
	}
	rows := make([]row, len(m.entries))
	for i, e := range m.entries {
		rows[i] = row{*e, slices.Clone(e.history), m.meters[e.cfg.Name]}
	}
	adopters := slices.Clone(m.adopters)
	m.mu.Unlock()
	out := make([]integration.Binding, len(rows))
	for i, r := range rows {
		out[i] = status(r.entry, adopters)
		out[i].History = r.history
		if r.meter != nil {
			out[i].SamplingTokens = r.meter.used()
		}
	}
	return out
}

func status(e entry, adopters []*Adopter) integration.Binding {
	cfg := e.cfg
	b := integration.Binding{
		Name: cfg.Name, State: integration.StateConfigured, Scope: string(cfg.scope()), Loop: cfg.Loop,
		Required: cfg.Required, Enabled: !cfg.Disabled, Since: e.since,
	}
	if t := cfg.Server.Transport; t != nil && cfg.Fault == nil {
		b.Kind, b.Origin = t.Kind(), t.Origin()
	}
	if cfg.Server.Builtin {
		b.Kind, b.Trust = "builtin", "builtin"
	}
	switch {
	case cfg.Fault != nil:
		b.State, b.Code, b.Reason, b.Position = integration.StateInvalid, codeInvalid, cfg.Fault.Text, cfg.Fault.Position
	case e.rt != nil:
		e.rt.status(&b, adopters)
	case cfg.Disabled:
		b.State, b.Code = integration.StateDisabled, codeDisabled
		if e.old != nil && e.old.cl.Inflight() > 0 {
			b.State, b.Code = integration.StateRetiring, "retiring"
			b.Inflight = e.old.cl.Inflight()
		}
	}
	return b
}

// status fills in what a run knows of its binding.
func (rt *runtime) status(b *integration.Binding, adopters []*Adopter) {
	st := rt.cl.Status()
	b.State, b.Code, b.Class, b.Reason = st.State, st.Code, string(st.Class), st.Text
	b.Since, b.Inflight = st.Since, st.Inflight
	b.Revision, b.ServerName, b.ServerVersion = st.Revision, st.Server.Name, st.Server.Version
	if !st.NextTry.IsZero() {
		b.NextTry = &st.NextTry
	}
	rt.mu.Lock()
	if a := rt.asking; a != nil {
		b.State, b.Code, b.Class, b.Reason, b.Since = a.State, a.Code, string(a.Class), a.Text, a.Time
	}
	b.Pin = rt.decision.Fingerprint
	if b.Trust == "" && rt.decision.Kind != "" {
		b.Trust = string(rt.decision.Kind)
	}
	rt.mu.Unlock()
	b.PID = st.Peer.PID
	if st.Peer.Exited {
		b.PID = 0
	}
	b.Stderr = slices.Clone(st.Peer.StderrTail)
	b.WithheldEnv = slices.Clone(st.Peer.WithheldEnv)
	b.Warnings = slices.Clone(st.Peer.Warnings)
	if st.Probe != "" {
		b.Warnings = append(b.Warnings, probeNote(st.Probe))
	}
	if rt.cfg.Server.Sampling != nil && !rt.maySample() {
		b.Warnings = append(b.Warnings, "sampling is allowed and not offered: there is no model, or nobody who could approve its use")
	}
	b.Tolerances = slices.Clone(st.Tolerances)
	b.Subscriptions = rt.cl.Subscriptions()
	if g := st.Generation; g != nil {
		rt.countCatalog(b, g, adopters)
	}
}

// countCatalog fills in the numbers of the newest generation, and which one the
// loops run under.
func (rt *runtime) countCatalog(b *integration.Binding, g *catalog.Generation, adopters []*Adopter) {
	b.Generation, b.Digest, b.Tokens = g.Number, g.Digest, g.Tokens()
	for _, t := range g.Tools {
		if rt.withheld(t) == "" {
			b.Tools++
		}
	}
	if rt.deferred(g, rt.m.windows.get()) {
		b.Deferred = b.Tools
	}
	b.Prompts, b.Resources, b.Templates = len(g.Prompts), len(g.Resources), len(g.Templates)
	b.Warnings = append(b.Warnings, g.Warnings...)
	for _, t := range g.Tolerances {
		if !slices.Contains(b.Tolerances, t) {
			b.Tolerances = append(b.Tolerances, t)
		}
	}
	if adopted, any := adoptedBy(rt, adopters); any && adopted != g.Number {
		b.Generation, b.Candidate = adopted, g.Number
	}
}

// adoptedBy is the oldest generation of the run that some loop still runs under;
// any is false when no loop uses the binding.
func adoptedBy(rt *runtime, adopters []*Adopter) (number uint64, any bool) {
	for _, a := range adopters {
		if n, ok := a.adopted(rt); ok && (!any || n < number) {
			number, any = n, true
		}
	}
	return number, any
}

// Catalog returns a generation (0 = the newest) that is still kept.
func (m *Manager) Catalog(binding string, generation uint64) (integration.Catalog, bool) {
	m.mu.Lock()
	e := m.find(binding)
	var rt *runtime
	if e != nil {
		rt = e.rt
	}
	m.mu.Unlock()
	if rt == nil {
		return integration.Catalog{}, false
	}
	g := rt.cl.Kept(generation)
	if g == nil {
		return integration.Catalog{}, false
	}
	return rt.describe(g), true
}

func (rt *runtime) describe(g *catalog.Generation) integration.Catalog {
	c := integration.Catalog{
		Binding: rt.cfg.Name, Generation: g.Number, Digest: g.Digest, Revision: g.Revision,
		Instructions: g.Instructions, Warnings: slices.Clone(g.Warnings),
	}
	deferred := rt.deferred(g, rt.m.windows.get())
	for _, t := range g.Tools {
		withheld := rt.withheld(t)
		c.Items = append(c.Items, integration.Item{
			Kind: "tool", Name: t.Name, ModelName: t.ModelName, Title: t.Title, Description: t.Description,
			InputSchema: t.InputSchema, OutputSchema: t.OutputSchema, Hints: t.Hints,
			Digest: t.Digest, Tokens: t.Tokens, Withheld: withheld, Deferred: deferred && withheld == "",
		})
	}
	for _, p := range g.Prompts {
		item := integration.Item{Kind: "prompt", Name: p.Name, Title: p.Title, Description: p.Description, Digest: p.Digest}
		for _, a := range p.Arguments {
			item.Arguments = append(item.Arguments, integration.Argument{Name: a.Name, Description: a.Description, Required: a.Required})
		}
		c.Items = append(c.Items, item)
	}
	add := func(kind string, list []catalog.Resource) {
		for _, r := range list {
			title := r.Title
			if title == "" {
				title = r.Name
			}
			c.Items = append(c.Items, integration.Item{
				Kind: kind, Name: r.URI, Title: title, Description: r.Description, MIME: r.MIME, Digest: r.Digest,
				Size: r.Size, Audience: slices.Clone(r.Notes.Audience), Priority: r.Notes.Priority, LastModified: r.Notes.LastModified,
			})
		}
	}
	add("resource", g.Resources)
	add("template", g.Templates)
	return c
}

// probeNote says what an answer to the first question was about: without that
// it reads like a fault of the server, which only is older.
func probeNote(why string) string {
	return "the newest revision was tried first and not used: " + why
}
