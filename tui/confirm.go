package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/keymap"
	"github.com/looprig/looprig/tui/list"
	"github.com/looprig/looprig/tui/theme"
)

const (
	// maxFactBytes is the most that is shown of one fact.
	maxFactBytes = 64 << 10
	// factLabel is the widest column of labels.
	factLabel = 20
)

// changeDialog confirms a change of a binding. What the change would run is
// above the question and scrolls; the question and the choices stay.
type changeDialog struct {
	question string
	details  []string // host-written sentences
	preview  *integration.Preview
	c        integration.Change
	target   string // what the change is saved to; "" means it cannot be
	builtin  bool   // the binding may stand in no file
	form     *formDialog
	pager    list.Pager
	keys     *keymap.Map
	th       *theme.Theme
}

func (d *changeDialog) key(k tea.KeyPressMsg, _ time.Time) action {
	id, _ := d.keys.Match(k, keymap.Confirm)
	switch id {
	case keymap.ChangeYes:
		return actChange{d.c}
	case keymap.ChangeNo:
		return actClose{}
	case keymap.ChangeSave:
		if d.target != "" {
			d.c.Save = !d.c.Save
		}
	default:
		d.pager.Key(k, d.keys)
	}
	return nil
}
func (d *changeDialog) paste(string, time.Time)  {}
func (d *changeDialog) setTheme(th *theme.Theme) { d.th = th }
func (d *changeDialog) view(f dialogFrame) []string {
	w := min(max(f.w-12, min(f.w, 40)), 104)
	inner, room := max(w-4, 4), max(f.h-2, 1)
	var head []string
	for _, l := range cells.Wrap(d.question, inner) {
		head = append(head, d.th.Bold.Render(l))
	}
	foot := append([]string{""}, cells.Wrap(d.where(), inner)...)
	lines := append(head, d.pager.View(d.th, d.body(inner), inner, max(room-len(head)-len(foot), 1))...)
	lines = append(lines, foot...)
	hint := d.keys.Hint("change.yes=yes", "change.no=no")
	if d.target != "" {
		word := "change.session_only=this session only"
		switch {
		case d.c.Save:
		case d.c.Op == integration.OpRemove:
			word = "change.session_only=from the file as well"
		default:
			word = "change.session_only=keep it"
		}
		hint = d.keys.Hint("change.yes=yes", "change.no=no", word)
	}
	return d.th.Box("confirm", hint, lines[:min(len(lines), room)], w)
}

// body is what the change would run and what else there is to know.
func (d *changeDialog) body(w int) []string {
	var out []string
	for _, s := range d.details {
		for _, l := range cells.Wrap(string(safetext.ToLine(s)), w) {
			out = append(out, d.th.Muted.Render(l))
		}
	}
	if d.preview == nil {
		return out
	}
	for _, s := range d.preview.Warnings {
		for _, l := range cells.Wrap(theme.SymbolWarn+" "+string(safetext.ToLine(s)), w) {
			out = append(out, d.th.Warn.Render(l))
		}
	}
	for _, f := range d.preview.Facts {
		out = append(out, d.fact(string(safetext.ToLineN(f.Label, 64)), string(safetext.ToLineN(f.Value, maxFactBytes)), w)...)
	}
	if d.preview.Fingerprint != "" {
		out = append(out, d.fact("fingerprint", string(safetext.Ident(d.preview.Fingerprint)), w)...)
		for _, l := range cells.Wrap("Confirming pins exactly this: when anything of it changes, it has to be confirmed again.", w) {
			out = append(out, d.th.Bold.Render(l))
		}
	}
	return out
}

// fact is a label and a value that breaks in its own column, so that every
// character of it is seen.
func (d *changeDialog) fact(label, value string, w int) []string {
	lw := max(min(factLabel, w/3), 1)
	var out []string
	for i, l := range cells.Break(value, max(w-lw-1, 1)) {
		if i > 0 {
			label = ""
		}
		out = append(out, d.th.Muted.Render(cells.Fit(label, lw))+" "+l)
	}
	return out
}

// where says what the change lasts for.
func (d *changeDialog) where() string {
	removes := d.c.Op == integration.OpRemove
	switch {
	case d.target == "":
		return "for this session only"
	case removes && d.c.Save && d.builtin:
		return "for this session, and from " + d.target + " where it stands there; where that names no server it is back at the next start"
	case removes && d.c.Save:
		return "removes it from " + d.target
	case removes && d.builtin:
		return "for this session only"
	case removes:
		return "for this session only: it stays in " + d.target
	case d.c.Save:
		return "[x] kept in " + d.target
	}
	return "[ ] kept in " + d.target + ": for this session only"
}

var _ dialog = (*changeDialog)(nil)
