package formview

import (
	"fmt"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"charm.land/huh/v2"
	"charm.land/lipgloss/v2"
	"github.com/looprig/looprig/harness/form"
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/theme"
)

// rawRows is the height of the editor of a raw JSON field, rawChars what it
// takes.
const (
	rawRows  = 6
	rawChars = 1 << 20
)

// open builds the widget for the width. What the person did so far is in the
// field, so building again loses nothing but the position of the cursor.
func (fl *field) open(w int, th *theme.Theme) {
	if fl.broken || fl.picking() {
		return
	}
	fl.guard(func() {
		fl.widget = fl.build(max(w, 10), styles(th)).WithKeyMap(keys())
		fl.size(max(w, 10))
		fl.widget.Focus()
		if fl.f.Kind == form.KindMulti {
			fl.widget.Update(tea.KeyPressMsg{Code: tea.KeyHome})
			for range fl.cursor {
				fl.widget.Update(tea.KeyPressMsg{Code: tea.KeyDown})
			}
		}
	})
}

// close drops the widget; its value is in the field.
func (fl *field) close() { fl.widget = nil }

// build sets the styles first: without them huh makes its default ones for
// every row that it measures.
func (fl *field) build(w int, th huh.Theme) huh.Field {
	switch fl.f.Kind {
	case form.KindMulti:
		m := huh.NewMultiSelect[int]().Filterable(false)
		m.WithTheme(th)
		return m.Value(&fl.picks).Options(fl.huhOptions(w - 8)...)
	case form.KindRaw:
		return huh.NewText().ExternalEditor(false).CharLimit(rawChars).Lines(rawRows).Value(&fl.text).WithTheme(th)
	default:
		return huh.NewInput().Prompt("").Value(&fl.text).WithTheme(th)
	}
}

// size fixes width and height; a height that is left to huh hides rows.
func (fl *field) size(w int) {
	fl.widget = fl.widget.WithWidth(w)
	if n := len(fl.options); n > 0 {
		fl.widget = fl.widget.WithHeight(min(n, maxRows))
	}
}

// huhOptions cuts labels to a width and keeps them different, because huh tells
// options apart by their labels.
func (fl *field) huhOptions(w int) []huh.Option[int] {
	out := make([]huh.Option[int], len(fl.options))
	seen := map[string]bool{}
	for i, o := range fl.options {
		label := cells.Cut(o.label, w)
		if seen[label] {
			mark := fmt.Sprintf(" #%d", i+1)
			label = cells.Cut(o.label, w-len(mark)) + mark
		}
		seen[label] = true
		out[i] = huh.NewOption(label, i)
	}
	return out
}

// keys is what reaches huh: movement within a widget. Moving between fields,
// submitting and filters are the driver's, or off.
func keys() *huh.KeyMap {
	off := func() key.Binding { return key.NewBinding(key.WithDisabled()) }
	on := func(k ...string) key.Binding { return key.NewBinding(key.WithKeys(k...)) }
	m := huh.NewDefaultKeyMap()
	m.Quit = off()
	m.Input = huh.InputKeyMap{AcceptSuggestion: off(), Next: off(), Prev: off(), Submit: off()}
	m.Text = huh.TextKeyMap{Next: off(), Prev: off(), Submit: off(), Editor: off(), NewLine: on("enter", "ctrl+j", "alt+enter", "shift+enter")}
	m.MultiSelect = huh.MultiSelectKeyMap{
		Next: off(), Prev: off(), Submit: off(), Filter: off(), SetFilter: off(), ClearFilter: off(), SelectAll: off(), SelectNone: off(),
		Up: on("up", "k"), Down: on("down", "j"), HalfPageUp: off(), HalfPageDown: off(),
		GotoTop: on("home", "g"), GotoBottom: on("end", "G"), Toggle: on("space", "x"),
	}
	return m
}

// styles maps the tokens to huh's styles. huh asks for them with every frame,
// so they are made once.
func styles(th *theme.Theme) huh.Theme {
	s := huh.ThemeBase(th.IsDark)
	f := &s.Focused
	f.Base, f.Card = lipgloss.NewStyle(), lipgloss.NewStyle()
	f.Title, f.Description = th.Bold, th.Muted
	f.MultiSelectSelector = th.Accent.SetString("▸ ")
	f.SelectedOption, f.UnselectedOption, f.Option = th.Accent, th.Text, th.Text
	f.SelectedPrefix, f.UnselectedPrefix = th.Accent.SetString("[x] "), th.Text.SetString("[ ] ")
	f.TextInput = huh.TextInputStyles{Cursor: th.Accent, CursorText: th.Text, Placeholder: th.Muted, Prompt: th.Accent, Text: th.Text}
	s.Blurred = s.Focused
	return huh.ThemeFunc(func(bool) *huh.Styles { return s })
}
