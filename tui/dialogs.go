package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/tui/formview"
	"github.com/looprig/looprig/tui/gates"
	"github.com/looprig/looprig/tui/keymap"
	"github.com/looprig/looprig/tui/list"
	"github.com/looprig/looprig/tui/theme"
)

// dialog is one entry of the stack above a screen. It returns typed actions and
// never acts itself.
type dialog interface {
	key(k tea.KeyPressMsg, now time.Time) action
	paste(text string, now time.Time)
	// view is a box of at most w by h cells.
	view(f dialogFrame) []string
	setTheme(th *theme.Theme)
}

type dialogFrame struct {
	w, h       int
	now        time.Time
	pos, total int // of a gate among the open ones
}

// action is what a dialog asks the root to do.
type action interface{ isAction() }

type (
	actClose  struct{}
	actGate   struct{ a gates.Action }
	actPick   struct{ entry list.Entry }
	actForm   struct{ outcome formview.Outcome }
	actChange struct{ c integration.Change }
)

func (actClose) isAction()  {}
func (actGate) isAction()   {}
func (actPick) isAction()   {}
func (actForm) isAction()   {}
func (actChange) isAction() {}

type gateDialog struct{ g *gates.Gate }

func (d *gateDialog) key(k tea.KeyPressMsg, now time.Time) action {
	if a := d.g.Key(k, now); a.Do != gates.Nothing {
		return actGate{a}
	}
	return nil
}
func (d *gateDialog) paste(text string, now time.Time) { d.g.Paste(text, now) }
func (d *gateDialog) view(f dialogFrame) []string      { return d.g.View(f.w, f.h, f.now, f.pos, f.total) }
func (d *gateDialog) setTheme(th *theme.Theme)         { d.g.SetTheme(th) }

// pickKind is what is chosen from a picker.
type pickKind uint8

const (
	pickAction pickKind = iota
	pickTool
	pickSource
	pickPrompt
	pickResource
	pickModel
	pickLoop
)

type pickDialog struct {
	kind pickKind
	p    *list.Picker
	keys *keymap.Map
	th   *theme.Theme
}

func (d *pickDialog) key(k tea.KeyPressMsg, _ time.Time) action {
	switch d.p.Key(k, d.keys) {
	case list.Closed:
		return actClose{}
	case list.Chosen:
		if e, ok := d.p.Selected(); ok {
			return actPick{e}
		}
	default:
	}
	return nil
}
func (d *pickDialog) paste(text string, _ time.Time) { d.p.Paste(text) }
func (d *pickDialog) setTheme(th *theme.Theme)       { d.th = th }
func (d *pickDialog) view(f dialogFrame) []string {
	w := min(max(f.w-12, min(f.w, 36)), 76)
	lines := d.p.View(d.th, max(w-4, 4), min(max(f.h-2, 1), 18))
	return d.th.Box(d.p.Title(), "↑↓ choose · ⏎ run · esc close · type to filter", lines, w)
}

// pageDialog shows text that the root lays out when it is drawn.
type pageDialog struct {
	title string
	lines func(w int) []string
	pager list.Pager
	keys  *keymap.Map
	th    *theme.Theme
}

func (d *pageDialog) key(k tea.KeyPressMsg, _ time.Time) action {
	if d.pager.Key(k, d.keys) || k.String() == "q" || k.String() == "?" {
		return actClose{}
	}
	return nil
}
func (d *pageDialog) paste(string, time.Time)  {}
func (d *pageDialog) setTheme(th *theme.Theme) { d.th = th }
func (d *pageDialog) view(f dialogFrame) []string {
	w := min(max(f.w-4, min(f.w, 36)), 110)
	inner, room := max(w-4, 4), max(f.h-2, 1)
	lines := d.pager.View(d.th, d.lines(inner), inner, room)
	return d.th.Box(d.title, "j/k scroll · esc close", lines, w)
}

// formUse is what a form's answer is for.
type formUse struct {
	tool   *tool.Definition    // call this tool
	change *integration.Change // add or replace; Values come from the form
	want   *wanted             // a prompt or a template, whose arguments come from the form
	named  bool                // the form has a name field of ours in front
}

type formDialog struct {
	title    string
	f        *formview.Form
	use      formUse
	th       *theme.Theme
	keys     *keymap.Map
	word     string // what submitting does
	mute     bool   // the server suggests nothing
	checking bool   // the answer is being checked; only cancelling is possible
}

func (d *formDialog) key(k tea.KeyPressMsg, _ time.Time) action {
	if d.checking {
		if id, _ := d.keys.Match(k, keymap.Form); id == keymap.FormCancel {
			return actForm{formview.Cancelled}
		}
		return nil
	}
	if out := d.f.Key(k); out != formview.Open {
		return actForm{out}
	}
	return nil
}
func (d *formDialog) paste(text string, _ time.Time) {
	if !d.checking {
		d.f.Paste(text)
	}
}
func (d *formDialog) setTheme(th *theme.Theme) { d.th = th; d.f.SetTheme(th) }
func (d *formDialog) view(f dialogFrame) []string {
	w := min(max(f.w-6, min(f.w, 40)), 100)
	lines := d.f.View(max(w-4, 4), max(f.h-2, 1))
	hint := d.keys.HintAfter(w-6, d.f.KeyHint(), "form.submit="+d.word, "form.cancel=cancel", "form.next=next", "form.previous=back", "form.unset=unset")
	if d.checking {
		hint = "checking… · " + d.keys.Hint("form.cancel=cancel")
	}
	return d.th.Box(d.title, hint, lines, w)
}

var (
	_ dialog = (*gateDialog)(nil)
	_ dialog = (*pickDialog)(nil)
	_ dialog = (*pageDialog)(nil)
	_ dialog = (*formDialog)(nil)
)
