// Package list holds the two lists of the interface: a Picker, from which one
// entry is chosen (the palette, the kinds of binding), and a Pager, which is
// read (help, notices, long arguments). It must not import any screen.
package list

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/keymap"
	"github.com/looprig/looprig/tui/theme"
)

// maxQuery bounds what is typed into a filter, in characters.
const maxQuery = 200

// Entry is one line of a picker. Its texts are clean.
type Entry struct {
	ID    string
	Label string
	// Note is shown at the right end: a key, a state.
	Note string
	// Disabled says why the entry cannot be chosen, or "".
	Disabled string
}

// Picker is a filtered list. It is not safe for concurrent use.
type Picker struct {
	title   string
	entries []Entry
	found   []int
	query   []rune
	at, top int
}

// NewPicker lists entries.
func NewPicker(title string, entries []Entry) *Picker {
	p := &Picker{title: title, entries: entries}
	p.filter()
	return p
}

// Title is the picker's title.
func (p *Picker) Title() string { return p.title }

// Outcome is what a key press decided.
type Outcome uint8

// The outcomes.
const (
	Open Outcome = iota
	Chosen
	Closed
)

// Key handles a key press. A disabled entry is not chosen.
func (p *Picker) Key(k tea.KeyPressMsg, keys *keymap.Map) Outcome {
	id, _ := keys.Match(k, keymap.List)
	switch id {
	case keymap.ListClose:
		return Closed
	case keymap.ListPick:
		if e, ok := p.Selected(); ok && e.Disabled == "" {
			return Chosen
		}
	case keymap.ListUp:
		p.move(-1)
	case keymap.ListDown:
		p.move(1)
	case keymap.ListPgUp:
		p.move(-10)
	case keymap.ListPgDn:
		p.move(10)
	default:
		p.edit(k)
	}
	return Open
}

func (p *Picker) move(n int) { p.at = min(max(p.at+n, 0), max(len(p.found)-1, 0)) }

func (p *Picker) edit(k tea.KeyPressMsg) {
	switch k.String() {
	case "backspace":
		if n := len(p.query); n > 0 {
			p.query = p.query[:n-1]
		}
	case "ctrl+u":
		p.query = nil
	default:
		p.Paste(k.Text)
		return
	}
	p.filter()
}

// Paste adds text to the filter.
func (p *Picker) Paste(text string) {
	p.query = append(p.query, []rune(string(safetext.ToLine(text)))...)
	p.query = p.query[:min(len(p.query), maxQuery)]
	p.filter()
}

// filter keeps the entries that hold every word of the query.
func (p *Picker) filter() {
	words := strings.Fields(strings.ToLower(string(p.query)))
	p.found, p.at, p.top = p.found[:0], 0, 0
	for i, e := range p.entries {
		text := strings.ToLower(e.Label + " " + e.ID)
		all := true
		for _, w := range words {
			all = all && strings.Contains(text, w)
		}
		if all {
			p.found = append(p.found, i)
		}
	}
}

// Selected is the entry under the cursor.
func (p *Picker) Selected() (Entry, bool) {
	if p.at >= len(p.found) {
		return Entry{}, false
	}
	return p.entries[p.found[p.at]], true
}

// View lays the picker out in at most h lines of w cells.
func (p *Picker) View(th *theme.Theme, w, h int) []string {
	out := []string{th.Accent.Render("> ") + cells.Cut(string(p.query), w-3) + th.Accent.Render("▏"), ""}
	rows := min(max(h-3, 1), max(len(p.found), 1))
	cut := rows < len(p.found) && rows > 1
	if cut {
		rows--
	}
	p.top = max(min(p.top, p.at), p.at-rows+1, 0)
	if len(p.found) == 0 {
		return append(out, th.Muted.Render("nothing matches"))
	}
	for i := p.top; i < min(p.top+rows, len(p.found)); i++ {
		out = append(out, p.row(th, p.entries[p.found[i]], i == p.at, w))
	}
	if cut { // an empty line at the end keeps the height
		more := ""
		if below := len(p.found) - p.top - rows; below > 0 {
			more = fmt.Sprintf("  +%d more", below)
		}
		out = append(out, th.Muted.Render(cells.Cut(more, w)))
	}
	if e, ok := p.Selected(); ok && e.Disabled != "" && h > 4 {
		out = append(out, th.Muted.Render(cells.Cut(theme.SymbolOff+" "+e.Disabled, w)))
	}
	return out[:min(len(out), max(h, 1))]
}

func (p *Picker) row(th *theme.Theme, e Entry, selected bool, w int) string {
	lead := "  "
	if selected {
		lead = "▸ "
	}
	note := e.Note
	if e.Disabled != "" {
		note = strings.TrimSpace("unavailable " + note)
	}
	// The label is what is chosen: it has its room first, and keeps its end.
	note = cells.Cut(note, min(max(w-cells.Width(lead+e.Label)-1, w/4), w/2))
	line := cells.Spread(lead+cells.CutMiddle(e.Label, w-cells.Width(lead)-cells.Width(note)-1), note, w)
	switch {
	case selected:
		return th.Selected.Render(line)
	case e.Disabled != "":
		return th.Muted.Render(line)
	}
	return line
}
