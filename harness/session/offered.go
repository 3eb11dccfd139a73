package session

import (
	"slices"

	"github.com/looprig/looprig/harness/model"
	"github.com/looprig/looprig/harness/tool"
)

// maxOpened is how many deferred tools a loop's model is given at once. Beyond
// it the one that was asked for first leaves the requests; it can still be
// called, searched for and asked for again.
const maxOpened = 128

// openedTool is a deferred tool whose schema the model asked for. It stays in
// the requests of this turn and of later ones for as long as its definition has
// the same digest: a catalog may change around it, or lose it for a while.
type openedTool struct {
	name   string
	id     tool.Identity
	digest string
}

// open makes a tool part of the next requests.
func (t *turn) open(d tool.Definition) {
	if !d.Deferred {
		return
	}
	o := openedTool{d.Name, d.Identity, d.Digest}
	if slices.Contains(t.opened, o) {
		return
	}
	t.opened = slices.DeleteFunc(t.opened, func(x openedTool) bool { return x.name == o.name })
	t.opened = append(t.opened, o)
	if n := len(t.opened); n > maxOpened {
		t.opened = slices.Clone(t.opened[n-maxOpened:])
	}
}

// isOpen reports that the model was given a tool's schema, which has not changed.
func (t *turn) isOpen(d tool.Definition) bool {
	return !d.Deferred || slices.Contains(t.opened, openedTool{d.Name, d.Identity, d.Digest})
}

// openLookups opens what a batch's lookups found, in the order of the calls.
func (t *turn) openLookups(batch []*call) {
	for _, c := range batch {
		if l, ok := c.lookup(); ok && c.result.Outcome == tool.OK && l.opens != nil {
			t.open(*l.opens)
		}
	}
}

// offered is what the model is given: every tool that is not deferred, in the
// order of the toolset, then the deferred ones whose schemas were asked for, in
// that order, so that what was sent before stays a prefix of what is sent next.
func (t *turn) offered() []model.Tool {
	var out []model.Tool
	give := func(d tool.Definition) {
		out = append(out, model.Tool{Name: d.Name, Description: d.Description, InputSchema: d.InputSchema})
	}
	for _, d := range t.set.Definitions() {
		if !d.Deferred {
			give(d)
		}
	}
	for _, o := range t.opened {
		if d, ok := t.set.Lookup(o.name); ok && d.Deferred && t.isOpen(d) {
			give(d)
		}
	}
	return out
}

// stillOpen forgets what was opened under another definition.
func stillOpen(opened []openedTool, set *tool.Set) []openedTool {
	return slices.DeleteFunc(opened, func(o openedTool) bool {
		d, ok := set.Lookup(o.name)
		return ok && (d.Digest != o.digest || d.Identity != o.id)
	})
}
