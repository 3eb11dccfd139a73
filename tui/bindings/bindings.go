// Package bindings is the screen on which tool sources are seen and changed
// while the session runs: a list, and everything that is known of one binding.
// It draws what integration.Port says and returns the actions that a person
// chose; it changes nothing itself. It must not import any other screen.
package bindings

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/keymap"
	"github.com/looprig/looprig/tui/list"
	"github.com/looprig/looprig/tui/status"
	"github.com/looprig/looprig/tui/theme"
)

const (
	// wide is the width from which list and detail stand side by side.
	wide = 100
	// maxQuery bounds the filter, in characters.
	maxQuery = 100
	// stderrLines is how much of a server's stderr the detail shows.
	stderrLines = 20
)

// Data is what the screen shows.
type Data struct {
	Bindings []integration.Binding
	// Busy names the change that is being made to a binding.
	Busy map[string]string
	Now  time.Time
	// Logs and Trace are what a binding's server said and what went to and fro,
	// oldest first, from memory; nil where nobody keeps it.
	Logs  func(binding string) []integration.LogEntry
	Trace func(binding string) []integration.Frame
}

// Screen is the state of the screen. It is not safe for concurrent use.
type Screen struct {
	name      string // the binding under the cursor
	at        int    // where it was, for when it disappears
	query     []rune
	filtering bool
	detail    bool
	tab       tab
	cursor    row
	pager     list.Pager
}

// Action is what a key press asks for; ID is empty when it was handled here.
type Action struct {
	ID      keymap.ID
	Binding string
	// Page is a text to show, with an empty ID.
	Page *Page
}

// Focus puts the cursor on a binding.
func (s *Screen) Focus(name string) { s.name = name }

// Selected is the binding under the cursor.
func (s *Screen) Selected(d Data) (integration.Binding, bool) {
	found := s.found(d)
	if len(found) == 0 {
		return integration.Binding{}, false
	}
	return found[s.index(found)], true
}

func (s *Screen) found(d Data) []integration.Binding {
	if len(s.query) == 0 {
		return d.Bindings
	}
	q := strings.ToLower(string(s.query))
	var out []integration.Binding
	for _, b := range d.Bindings {
		if strings.Contains(strings.ToLower(b.Name+" "+string(b.State)+" "+b.Kind+" "+b.Origin+" "+b.Loop), q) {
			out = append(out, b)
		}
	}
	return out
}

func (s *Screen) index(found []integration.Binding) int {
	for i, b := range found {
		if b.Name == s.name {
			s.at = i
			return i
		}
	}
	s.at = min(max(s.at, 0), len(found)-1)
	s.name = found[s.at].Name
	return s.at
}

// Key handles a key press.
func (s *Screen) Key(k tea.KeyPressMsg, keys *keymap.Map, d Data) Action {
	if s.filtering {
		s.filterKey(k)
		return Action{}
	}
	id, _ := keys.Match(k, keymap.Bindings, keymap.Global)
	b, any := s.Selected(d)
	if page, mine := s.tabKey(k, id, b, d); mine {
		return Action{Binding: b.Name, Page: page}
	}
	switch id {
	case keymap.BindingFilter:
		s.filtering, s.detail = true, false
	case keymap.BindingDetail:
		s.detail, s.tab = !s.detail && any, tabDetail
		s.pager = list.Pager{}
	case keymap.BindingStderr, keymap.BindingLogs, keymap.BindingTrace:
		if any {
			s.openTab(tabOf(id))
		}
	case keymap.Back:
		switch {
		case s.detail && s.tab != tabDetail:
			s.openTab(tabDetail)
		case s.detail:
			s.detail = false
		case len(s.query) > 0:
			s.query = nil
		default:
			return Action{ID: keymap.Back}
		}
	case "":
		s.moveKey(k, keys, d)
	default:
		if !any && id != keymap.BindingAdd && !global(keys, id) {
			return Action{}
		}
		return Action{ID: id, Binding: b.Name}
	}
	return Action{}
}

func global(keys *keymap.Map, id keymap.ID) bool {
	a, _ := keys.Action(id)
	return a.Context == keymap.Global || strings.HasSuffix(string(id), ".help")
}

func (s *Screen) filterKey(k tea.KeyPressMsg) {
	switch k.String() {
	case "enter":
		s.filtering = false
	case "esc":
		s.filtering, s.query = false, nil
	case "backspace":
		if n := len(s.query); n > 0 {
			s.query = s.query[:n-1]
		}
	default:
		s.Paste(k.Text)
	}
}

// Paste adds to the filter while it is written.
func (s *Screen) Paste(text string) {
	if s.filtering {
		s.query = append(s.query, []rune(string(safetext.ToLine(text)))...)
		s.query = s.query[:min(len(s.query), maxQuery)]
	}
}

func (s *Screen) moveKey(k tea.KeyPressMsg, keys *keymap.Map, d Data) {
	if s.detail {
		s.pager.Key(k, keys)
		return
	}
	found := s.found(d)
	if len(found) == 0 {
		return
	}
	i := s.index(found)
	switch k.String() {
	case "up", "k":
		i--
	case "down", "j":
		i++
	case "pgup":
		i -= 10
	case "pgdown":
		i += 10
	case "home", "g":
		i = 0
	case "end", "G":
		i = len(found) - 1
	default:
		s.pager.Key(k, keys)
		return
	}
	s.at = min(max(i, 0), len(found)-1)
	s.name = found[s.at].Name
	s.pager = list.Pager{}
}

// View lays the screen out: exactly h lines of exactly w cells.
func (s *Screen) View(d Data, th *theme.Theme, keys *keymap.Map, w, h int) []string {
	head := cells.Spread(th.Heading.Render(" Bindings"), status.Counts(d.Bindings, th, w >= wide)+" ", w)
	if len(s.query) > 0 || s.filtering {
		q := "/" + string(s.query)
		if s.filtering {
			q += "▏"
		}
		head = cells.Spread(th.Heading.Render(" Bindings ")+th.Accent.Render(q), status.Counts(d.Bindings, th, false)+" ", w)
	}
	hint := th.Muted.Render(" " + s.hint(keys, w-1))
	room := max(h-3, 1)
	var body []string
	b, any := s.Selected(d)
	switch {
	case s.detail && any && w < wide:
		body = append([]string(nil), s.tabView(b, d, th, w-2, room)...)
		for i, l := range body {
			body[i] = " " + l
		}
	case w >= wide:
		body = s.columns(d, th, w, room)
	default:
		body = s.narrow(d, th, w, room)
	}
	out := append([]string{head, th.Rule.Render(cells.Rule(w))}, cells.Block(body, w, room)...)
	return cells.Block(append(out, hint), w, h)
}

// hint is the footer: esc and help are never left out.
func (s *Screen) hint(keys *keymap.Map, w int) string {
	switch {
	case s.filtering:
		return "type to filter · ⏎ keeps it · esc clears it"
	case s.detail && (s.tab == tabLogs || s.tab == tabTrace):
		return keys.HintEnds(w, []string{"app.back=detail", "bindings.help=help"}, "list.down=move", "binding.detail=all of it", "binding.stderr=stderr", "binding.logs=logs", "binding.trace=trace")
	case s.detail:
		back := "app.back=list"
		if s.tab != tabDetail {
			back = "app.back=detail"
		}
		return keys.HintEnds(w, []string{back, "bindings.help=help"}, "list.down=scroll", "binding.logs=logs", "binding.trace=trace", "binding.stderr=stderr", "binding.catalog=catalog", "binding.reconnect=reconnect", "list.page_down=page", "binding.toggle=on/off")
	}
	return keys.HintEnds(w, []string{"app.back=back", "bindings.help=help"}, "binding.add=add", "binding.toggle=on/off", "binding.replace=replace", "binding.remove=remove",
		"binding.reconnect=reconnect", "binding.detail=detail", "binding.catalog=catalog", "binding.filter=filter")
}

func (s *Screen) columns(d Data, th *theme.Theme, w, h int) []string {
	lw := max(w*9/16, 56)
	rw := w - lw - 2
	left := cells.Block(s.table(d, th, lw, h), lw, h)
	var right []string
	if b, ok := s.Selected(d); ok {
		right = s.tabView(b, d, th, rw, h)
	}
	right = cells.Block(right, rw, h)
	bar := th.Rule.Render("│")
	if s.detail { // the keys scroll the right side now
		bar = th.Accent.Render("┃")
	}
	out := make([]string, h)
	for i := range out {
		out[i] = left[i] + bar + " " + right[i]
	}
	return out
}

// narrow is the list, and below it as much of the selected binding as there is
// room for: half of the height, and what a short list leaves.
func (s *Screen) narrow(d Data, th *theme.Theme, w, h int) []string {
	foot := []string{th.Rule.Render(cells.Rule(w))}
	if b, ok := s.Selected(d); ok && h > 8 {
		lines := detail(b, d, th, w-2)
		room := max(h/2, h-1-len(s.found(d))) - 1
		more := 0
		if len(lines) > room {
			more = len(lines) - (room - 1)
			lines = lines[:room-1]
		}
		for _, l := range lines {
			foot = append(foot, " "+l)
		}
		if more > 0 {
			foot = append(foot, th.Muted.Render(cells.Cut(fmt.Sprintf(" … %d lines more in the detail", more), w)))
		}
	}
	rows := s.table(d, th, w, max(h-len(foot), 2))
	return append(rows, foot...)
}

// table is the list with its head, in at most h lines.
func (s *Screen) table(d Data, th *theme.Theme, w, h int) []string {
	nameW := min(max(w/4, 10), 24)
	out := []string{th.Muted.Render(cells.Cut(fmt.Sprintf("   %s %s %5s %5s %6s  %s", cells.Fit("NAME", nameW), cells.Fit("STATE", 15), "GEN", "TOOLS", "AGE", "SOURCE"), w))}
	found := s.found(d)
	if len(found) == 0 {
		none := "   no binding; a adds one"
		if len(s.query) > 0 {
			none = "   nothing matches; esc clears the filter"
		}
		return append(out, th.Muted.Render(cells.Cut(none, w)))
	}
	at := s.index(found)
	rows := max(h-1, 1)
	first := max(0, min(at-rows/2, len(found)-rows))
	for i := first; i < min(first+rows, len(found)); i++ {
		out = append(out, s.row(found[i], i == at, d, th, nameW, w))
	}
	return out
}

func (s *Screen) row(b integration.Binding, selected bool, d Data, th *theme.Theme, nameW, w int) string {
	g := theme.GroupOf(b.State)
	word := theme.StateWord(b, d.Now)
	if b.State == integration.StateConfigured && b.Loop != "" { // it runs for that loop's delegates, and not by itself
		word = "for " + string(safetext.Ident(b.Loop))
	}
	if op := d.Busy[b.Name]; op != "" {
		word = op + "…"
	}
	gen := "–"
	if b.Generation > 0 {
		gen = fmt.Sprint(b.Generation)
	}
	age := "–"
	if !b.Since.IsZero() {
		age = theme.Age(d.Now.Sub(b.Since))
	}
	state := cells.Fit(g.Symbol()+" "+word, 15)
	name := cells.Fit(string(safetext.Ident(b.Name)), nameW)
	source := string(safetext.Ident(b.Kind)) + " " + string(safetext.ToLine(b.Origin))
	if b.Loop != "" {
		source = "for loop " + string(safetext.Ident(b.Loop)) + " · " + source
	}
	rest := fmt.Sprintf(" %5s %5d %6s  %s", gen, b.Tools, age, source)
	if selected {
		return th.Selected.Render(cells.Fit(" ▸ "+name+" "+state+rest, w))
	}
	return cells.Cut("   "+name+" "+th.Style(g).Render(state)+rest, w)
}
