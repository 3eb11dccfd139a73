package gates

import (
	"fmt"
	"strings"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/theme"
	"github.com/looprig/looprig/tui/transcript"
)

// editor is a field of several lines inside a gate. What it shows is what is
// sent: characters that cannot be shown are written out before anybody edits
// them. It draws its own cursor, for a box has no place for the terminal's.
type editor struct {
	area  textarea.Model
	first string // what it began with
}

func newEditor(th *theme.Theme, text string) *editor {
	a := textarea.New()
	a.ShowLineNumbers, a.Prompt = false, ""
	a.CharLimit, a.MaxHeight, a.MaxWidth = 0, 0, 0
	a.SetVirtualCursor(false)
	a.Focus()
	e := &editor{area: a}
	e.setTheme(th)
	e.area.SetValue(string(safetext.ToBlockN(text, maxEditable)))
	e.area.MoveToEnd()
	e.first = e.area.Value()
	return e
}

func (e *editor) setTheme(th *theme.Theme) {
	plain := lipgloss.NewStyle()
	st := textarea.StyleState{Base: plain, Text: th.Text, CursorLine: th.Text, Placeholder: th.Muted, Prompt: th.Accent, EndOfBuffer: plain}
	s := e.area.Styles()
	s.Focused, s.Blurred = st, st
	e.area.SetStyles(s)
}

func (e *editor) text() string { return e.area.Value() }

func (e *editor) key(k tea.KeyPressMsg) {
	if k.Text != "" {
		k.Text = string(safetext.ToBlock(k.Text))
	}
	e.area, _ = e.area.Update(k)
}

// paste inserts a text, or says why not.
func (e *editor) paste(text string) string {
	if room := gate.MaxTextBytes - len(e.text()); len(text) > room {
		return fmt.Sprintf("the pasted text is %s; there is room for %s", transcript.Bytes(int64(len(text))), transcript.Bytes(int64(max(room, 0))))
	}
	e.area.InsertString(string(safetext.ToBlockN(text, gate.MaxTextBytes)))
	return ""
}

// view is h lines in w cells.
func (e *editor) view(th *theme.Theme, w, h int) []string {
	inner := max(w-2, 2)
	lines := cells.Within(inner, func(n int) []string {
		e.area.SetWidth(n)
		e.area.SetHeight(h)
		// The first drawing tells the area its lines, the second follows the cursor.
		_ = e.area.View()
		e.area.SetHeight(h)
		return strings.Split(e.area.View(), "\n")
	})
	out := make([]string, h)
	for i := range out {
		l := ""
		if i < len(lines) {
			l = lines[i]
		}
		out[i] = cells.Fit(th.Accent.Render(">")+" "+l, w)
	}
	if cur := e.area.Cursor(); cur != nil {
		x, y := cur.X, min(max(cur.Y, 0), h-1)
		if y < len(lines) {
			x = cells.Column(lines[y], x)
		}
		x = min(x+2, w-1)
		out = cells.Overlay(out, []string{th.Selected.Render(under(out[y], x))}, x, y)
		out[y] = cells.Cut(out[y], w)
	}
	return out
}

// under is the character in a cell, a space where there is none.
func under(line string, x int) string {
	for n := 1; n <= 2; n++ {
		if c := ansi.Strip(cells.Part(line, x, x+n)); cells.Width(c) == n {
			return c
		}
	}
	return " "
}
