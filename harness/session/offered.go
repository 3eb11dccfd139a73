package session

import (
	"fmt"
	"slices"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/model"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/internal/safetext"
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
// A tool that the model cannot be given is withheld, with a notice: a provider
// would refuse the whole request for it.
func (t *turn) offered() []model.Tool {
	var out []model.Tool
	checker, _ := t.model.(model.ToolChecker)
	most := 0
	if l, ok := t.model.(model.ToolLimiter); ok {
		most = l.MaxTools()
	}
	give := func(d tool.Definition) {
		m := model.Tool{Name: d.Name, Description: t.loop.marks.describe(d), InputSchema: d.InputSchema}
		if checker != nil {
			if err := checker.CheckTool(m); err != nil {
				t.withheld(d, err.Error())
				return
			}
		}
		if most > 0 && len(out) >= most {
			t.withheld(d, fmt.Sprintf("the model takes %d tools at most; make its binding lazy (discovery) or leave tools out (tools.deny)", most))
			return
		}
		out = append(out, m)
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

// maxWithheld bounds what a loop remembers of the notices that it gave.
const maxWithheld = 4096

// withheld tells, once for each definition, that the model is not given a tool.
// Only the loop's one running turn comes here.
func (t *turn) withheld(d tool.Definition, reason string) {
	key := d.Name + " " + d.Digest
	if t.loop.told[key] {
		return
	}
	if t.loop.told == nil || len(t.loop.told) >= maxWithheld {
		t.loop.told = map[string]bool{}
	}
	t.loop.told[key] = true
	// That it cannot be recorded leaves the session latched, which says so.
	_ = t.s.hub.emit(nil, &event.Notice{
		Header: t.head(), Binding: d.Identity.Binding, Code: "tool_withheld", Level: "warn",
		Text: "the model is not given " + safetext.Ident(d.Identity.String()).String() + ": " + safetext.ToLine(reason).String(),
	})
}

// stillOpen forgets what was opened under another definition.
func stillOpen(opened []openedTool, set *tool.Set) []openedTool {
	return slices.DeleteFunc(opened, func(o openedTool) bool {
		d, ok := set.Lookup(o.name)
		return ok && (d.Digest != o.digest || d.Identity != o.id)
	})
}
