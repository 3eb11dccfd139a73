package formview

import (
	"fmt"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/harness/form"
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/theme"
)

// minRows is how many options of a choice are visible at least.
const minRows = 3

// picking reports a field that is one of several options. It is drawn and moved
// here: huh's select scrolls options out of sight although they fit.
func (fl *field) picking() bool {
	return !fl.broken && (fl.f.Kind == form.KindBoolean || fl.f.Kind == form.KindChoice)
}

// pickKey moves the choice. A yes or no also takes the letters, and space
// changes it.
func (fl *field) pickKey(k tea.KeyPressMsg) {
	n := len(fl.options)
	if n == 0 {
		return
	}
	at := fl.pick
	switch key := k.String(); {
	case fl.f.Kind == form.KindBoolean && (key == "y" || key == "Y"):
		at = fl.optionOf("true")
	case fl.f.Kind == form.KindBoolean && (key == "n" || key == "N"):
		at = fl.optionOf("false")
	case fl.f.Kind == form.KindBoolean && key == "space":
		at = fl.optionOf("true")
		if fl.pick == at {
			at = fl.optionOf("false")
		}
	case key == "space":
		at = (at + 1) % n
	case key == "up", key == "left", key == "k":
		at--
	case key == "down", key == "right", key == "j":
		at++
	case key == "pgup":
		at -= fl.rows
	case key == "pgdown":
		at += fl.rows
	case key == "home", key == "g":
		at = 0
	case key == "end", key == "G":
		at = n - 1
	default:
		return
	}
	fl.pick = min(max(at, 0), n-1)
	fl.err = ""
}

// optionOf finds the row of a value, or the one that is chosen.
func (fl *field) optionOf(value string) int {
	for i, o := range fl.options {
		if string(o.value) == value {
			return i
		}
	}
	return fl.pick
}

// drawPick lists the options in at most most lines, the chosen one among them.
func (fl *field) drawPick(w, most int, th *theme.Theme) []string {
	n := len(fl.options)
	fl.rows = min(n, max(most, minRows))
	if fl.rows < n {
		fl.rows = max(fl.rows-1, minRows) // the last line says how many more there are
	}
	first := max(0, min(fl.pick-fl.rows/2, n-fl.rows))
	out := make([]string, 0, fl.rows+1)
	for i := first; i < first+fl.rows; i++ {
		if i == fl.pick {
			out = append(out, cells.Cut("  "+th.Accent.Render("▸ "+fl.options[i].label), w))
			continue
		}
		out = append(out, cells.Cut("    "+fl.options[i].label, w))
	}
	if fl.rows < n {
		out = append(out, th.Muted.Render(cells.Cut(fmt.Sprintf("    %d of %d options", fl.rows, n), w)))
	}
	return out
}

// KeyHint says which keys the focused field takes beside those of every form.
func (f *Form) KeyHint() string {
	if f.focus >= len(f.fields) {
		return "⏎ " + f.o.SubmitWord
	}
	fl := f.fields[f.focus]
	switch {
	case fl.broken:
		return ""
	case f.offered() != nil:
		return "↓ suggestions"
	case fl.f.Kind == form.KindBoolean:
		return "y/n or space"
	case fl.f.Kind == form.KindChoice:
		return "↑↓ choose"
	case fl.f.Kind == form.KindMulti:
		return "↑↓ move · space checks"
	case fl.multiline():
		return "⏎ new line"
	}
	return ""
}
