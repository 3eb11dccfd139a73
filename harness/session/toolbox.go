package session

import (
	"context"
	"errors"
	"slices"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/tool"
)

// maxWithdrawn bounds the tools that a loop remembers having had.
const maxWithdrawn = 4096

// builtinSource is the slot of the host's own tools.
const builtinSource = "builtin"

// slot is what one source offers.
type slot struct {
	source     string
	generation uint64
	defs       []tool.Definition
}

// toolbox is a loop's slots. It belongs to the loop's goroutine.
type toolbox struct {
	slots []slot // the host's own, then in the order of their first appearance
	next  []slot // replacements that wait for the idle boundary
	set   *tool.Set
	gone  map[string]tool.Definition // by model-facing name: had once, not now
}

func newToolbox() toolbox { return toolbox{gone: map[string]tool.Definition{}} }

func (b *toolbox) begin(builtin []tool.Definition) (*tool.Set, error) {
	slots := []slot{{source: builtinSource, defs: slices.Clone(builtin)}}
	set, err := join(slots)
	if err != nil {
		return nil, err
	}
	b.slots = slots
	b.set = set
	return set, nil
}

// put keeps a replacement for the next installation, if all slots still fit
// together with it.
func (b *toolbox) put(loop string, s slot) error {
	merged := with(b.slots, b.next...)
	if i := find(merged, s.source); i >= 0 && merged[i].generation > s.generation {
		return &StaleGenerationError{Loop: loop, Source: s.source, Have: merged[i].generation, Given: s.generation}
	}
	if _, err := join(with(merged, s)); err != nil {
		return err
	}
	b.next = with(b.next, s)
	return nil
}

// own replaces the host's own tools with the next installation. Nobody else has
// their names: put and begin see to that.
func (b *toolbox) own(defs []tool.Definition) { _ = b.put("", slot{source: builtinSource, defs: defs}) }

// install makes the waiting replacements the loop's toolset.
func (b *toolbox) install() (*tool.Set, []slot) {
	if len(b.next) == 0 {
		return b.set, nil
	}
	slots := with(b.slots, b.next...)
	set, err := join(slots)
	if err != nil {
		// put has checked this very combination.
		b.next = nil
		return b.set, nil
	}
	for _, d := range b.set.Definitions() {
		if len(b.gone) < maxWithdrawn {
			b.gone[d.Name] = d
		}
	}
	for _, d := range set.Definitions() {
		delete(b.gone, d.Name)
	}
	installed := b.next
	b.slots, b.next, b.set = slots, nil, set
	return set, installed
}

// resolve finds a tool by any spelling: one that is installed, one that is about
// to be, or one that was there once.
func (b *toolbox) resolve(spelling string) (tool.Definition, error) {
	d, err := b.set.Resolve(spelling)
	if err == nil {
		return d, nil
	}
	if unknown, ok := errors.AsType[*tool.UnknownToolError](err); ok && unknown.Ambiguous {
		return tool.Definition{}, err
	}
	if len(b.next) > 0 {
		if soon, joined := join(with(b.slots, b.next...)); joined == nil {
			if d, err := soon.Resolve(spelling); err == nil {
				return d, nil
			}
		}
	}
	gone := make([]tool.Definition, 0, len(b.gone))
	for _, d := range b.gone {
		gone = append(gone, d)
	}
	if past, joined := tool.NewSet(gone); joined == nil {
		if d, err := past.Resolve(spelling); err == nil {
			return d, nil
		}
	}
	return tool.Definition{}, err
}

// withdrawn is a copy of the tools that the loop had once, by name.
func (b *toolbox) withdrawn() map[string]tool.Definition {
	out := make(map[string]tool.Definition, len(b.gone))
	for name, d := range b.gone {
		out[name] = d
	}
	return out
}

func find(slots []slot, source string) int {
	return slices.IndexFunc(slots, func(s slot) bool { return s.source == source })
}

// with returns slots in which some are replaced or added.
func with(slots []slot, changes ...slot) []slot {
	out := slices.Clone(slots)
	for _, c := range changes {
		if i := find(out, c.source); i >= 0 {
			out[i] = c
		} else {
			out = append(out, c)
		}
	}
	return out
}

// join makes the toolset of slots, of which the first is the host's own. Where
// there are deferred tools, what finds them joins that one.
func join(slots []slot) (*tool.Set, error) {
	defs := make([][]tool.Definition, len(slots))
	for i, s := range slots {
		if err := reserved(s.defs); err != nil {
			return nil, err
		}
		defs[i] = s.defs
	}
	deferred := deferredOf(slots)
	if len(deferred) == 0 {
		return tool.NewSet(defs...)
	}
	d := newDiscovery(deferred)
	defs[0] = slices.Concat(defs[0], d.definitions())
	set, err := tool.NewSet(defs...)
	d.set = set
	return set, err
}

// adopt installs what waits and says so. It runs at an idle boundary.
func (l *loop) adopt() {
	set, installed := l.tools.install()
	l.set.Store(set)
	l.looked = stillOpen(l.looked, set)
	for _, s := range installed {
		if s.source == builtinSource {
			continue // model.changed has said what the host's own tools follow
		}
		_ = l.s.hub.emit(nil, &event.ToolsetAdopted{
			Header: l.head(), Source: s.source, Generation: s.generation, Digest: set.Digest(),
			Tools: len(s.defs), Deferred: len(deferredOf([]slot{s})), Bindings: bindings(s.defs),
		})
		l.compareWithBefore(s)
	}
	l.lookAgain(set)
}

// reserved refuses tools of others that have the name of one of the host's which
// the loop has under another model.
func (l *loop) reserved(defs []tool.Definition) error {
	i := slices.IndexFunc(defs, func(d tool.Definition) bool { return l.config.AskUser && d.Name == ToolAskUser })
	if i < 0 {
		return nil
	}
	return &tool.DuplicateModelNameError{Name: ToolAskUser, Incumbent: builtin(ToolAskUser), Newcomer: defs[i].Identity}
}

// bindings tells which catalog generations a slot is made of.
func bindings(defs []tool.Definition) []event.BindingGeneration {
	var order []string
	by := map[string][]tool.Definition{}
	for _, d := range defs {
		if _, seen := by[d.Identity.Binding]; !seen {
			order = append(order, d.Identity.Binding)
		}
		by[d.Identity.Binding] = append(by[d.Identity.Binding], d)
	}
	out := make([]event.BindingGeneration, 0, len(order))
	for _, b := range order {
		g := event.BindingGeneration{Binding: b, Generation: by[b][0].Generation}
		if set, err := tool.NewSet(by[b]); err == nil {
			g.Digest = set.Digest()
		}
		out = append(out, g)
	}
	return out
}

// ReplaceExternalTools fills a loop's slot for a source: at once when the loop
// is idle, else when its running turn has ended. toolset.adopted tells when. It
// fails with a *tool.DuplicateModelNameError when a name is another slot's and
// with a *StaleGenerationError when the slot has a newer generation.
func (s *Session) ReplaceExternalTools(ctx context.Context, loop, source string, generation uint64, defs []tool.Definition) error {
	if source == "" || source == builtinSource {
		return errors.New("the slot of the built-in tools is not replaced from outside")
	}
	l, err := s.find(loop)
	if err != nil {
		return err
	}
	next := slot{source: source, generation: generation, defs: slices.Clone(defs)}
	var refused error
	err = l.do(ctx, func() {
		if l.closing != "" {
			refused = ErrClosed
			return
		}
		if refused = l.reserved(next.defs); refused != nil {
			return
		}
		if refused = l.tools.put(l.id, next); refused == nil && (l.running == nil || l.parked != nil) {
			l.adopt()
		}
	})
	if err != nil {
		return err
	}
	return refused
}
