// Package catalog shows what a binding offers: its tools, prompts and
// resources with description and schema, and the way to call a tool. It reads
// generations that are in memory and changes nothing.
package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

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
	wide     = 100
	maxQuery = 100
	// maxText bounds what is laid out of one description or schema, in bytes.
	maxText = 256 << 10
)

// Data is what the screen shows. Binding is the name that was asked for;
// Catalog is nil when the binding has none.
type Data struct {
	Binding string
	Catalog *integration.Catalog
}

// Screen is the state of the screen. It is not safe for concurrent use.
type Screen struct {
	at        int
	query     []rune
	filtering bool
	detail    bool
	pager     list.Pager
	cache     struct {
		key   string
		width int
		th    *theme.Theme
		lines []string
	}
}

// Action is what a key press asks for.
type Action struct {
	ID keymap.ID
	// Tool is the model-facing name for CatalogCall.
	Tool string
}

// Reset starts at the top, for another binding.
func (s *Screen) Reset() { *s = Screen{} }

func (s *Screen) found(d Data) []integration.Item {
	if d.Catalog == nil {
		return nil
	}
	if len(s.query) == 0 {
		return d.Catalog.Items
	}
	q := strings.ToLower(string(s.query))
	var out []integration.Item
	for _, it := range d.Catalog.Items {
		if strings.Contains(strings.ToLower(it.Name+" "+it.Title+" "+it.Description), q) {
			out = append(out, it)
		}
	}
	return out
}

// Selected is the item under the cursor.
func (s *Screen) Selected(d Data) (integration.Item, bool) {
	found := s.found(d)
	if len(found) == 0 {
		return integration.Item{}, false
	}
	s.at = min(max(s.at, 0), len(found)-1)
	return found[s.at], true
}

// Key handles a key press.
func (s *Screen) Key(k tea.KeyPressMsg, keys *keymap.Map, d Data) Action {
	if s.filtering {
		s.filterKey(k)
		return Action{}
	}
	id, _ := keys.Match(k, keymap.Catalog, keymap.Global)
	switch id {
	case keymap.CatalogFilter:
		s.filtering, s.detail = true, false
	case keymap.CatalogDetail:
		_, any := s.Selected(d)
		s.detail = !s.detail && any
		s.pager = list.Pager{}
	case keymap.CatalogCall:
		if it, ok := s.Selected(d); ok && it.Kind == "tool" && it.Withheld == "" {
			return Action{ID: id, Tool: it.ModelName}
		}
	case keymap.Back:
		switch {
		case s.detail:
			s.detail = false
		case len(s.query) > 0:
			s.query = nil
		default:
			return Action{ID: id}
		}
	case "":
		s.moveKey(k, keys, d)
	default:
		return Action{ID: id}
	}
	return Action{}
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
	s.at = 0
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
	n := len(s.found(d))
	at := s.at
	switch k.String() {
	case "up", "k":
		at--
	case "down", "j":
		at++
	case "pgup":
		at -= 10
	case "pgdown":
		at += 10
	case "home", "g":
		at = 0
	case "end", "G":
		at = n - 1
	default:
		s.pager.Key(k, keys)
		return
	}
	s.at = min(max(at, 0), max(n-1, 0))
	s.pager = list.Pager{}
}

// View lays the screen out: exactly h lines of exactly w cells.
func (s *Screen) View(d Data, th *theme.Theme, keys *keymap.Map, w, h int) []string {
	left := th.Heading.Render(" Catalog")
	if d.Binding != "" {
		left += th.Muted.Render(" · ") + string(safetext.Ident(d.Binding))
	}
	right := ""
	if c := d.Catalog; c != nil {
		left += th.Muted.Render(fmt.Sprintf(" · gen %d", c.Generation))
		if w >= 70 {
			right = th.Muted.Render(counts(c.Items) + " ")
		}
	}
	if s.filtering || len(s.query) > 0 {
		left += th.Accent.Render("  /" + string(s.query))
	}
	hint := th.Muted.Render(" " + s.hint(keys, w-1))
	room := max(h-3, 1)
	var body []string
	it, any := s.Selected(d)
	switch {
	case d.Binding == "":
		body = []string{th.Muted.Render(cells.Cut("   there is no binding yet; F2 lists them and adds one", w))}
	case d.Catalog == nil:
		body = []string{th.Muted.Render("   this binding has no catalog yet")}
	case !any && len(s.query) > 0:
		body = []string{th.Muted.Render(cells.Cut("   nothing matches; esc clears the filter", w))}
	case !any:
		body = []string{th.Muted.Render("   nothing here")}
	case s.detail && w < wide:
		for _, l := range s.pager.View(th, s.lay(it, d, th, w-2), w-2, room) {
			body = append(body, " "+l)
		}
	case w >= wide:
		body = s.columns(it, d, th, w, room)
	default:
		body = s.rows(d, th, w, room)
	}
	out := append([]string{cells.Spread(left, right, w), th.Rule.Render(cells.Rule(w))}, cells.Block(body, w, room)...)
	return cells.Block(append(out, hint), w, h)
}

// hint is the footer: esc and help are never left out.
func (s *Screen) hint(keys *keymap.Map, w int) string {
	switch {
	case s.filtering:
		return "type to filter · ⏎ keeps it · esc clears it"
	case s.detail:
		return keys.HintEnds(w, []string{"app.back=list", "catalog.help=help"}, "list.down=scroll", "list.page_down=page", "catalog.call=call")
	}
	return keys.HintEnds(w, []string{"app.back=back", "catalog.help=help"}, "catalog.call=call", "catalog.detail=detail", "catalog.filter=filter", "catalog.next_binding=next binding")
}

func counts(items []integration.Item) string {
	n := map[string]int{}
	for _, it := range items {
		n[it.Kind]++
	}
	return fmt.Sprintf("tools %d · prompts %d · resources %d", n["tool"], n["prompt"], n["resource"]+n["template"])
}

func (s *Screen) columns(it integration.Item, d Data, th *theme.Theme, w, h int) []string {
	lw := max(w/3, 36)
	rw := w - lw - 2
	left := cells.Block(s.rows(d, th, lw, h), lw, h)
	right := cells.Block(s.pager.View(th, s.lay(it, d, th, rw), rw, h), rw, h)
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

func (s *Screen) rows(d Data, th *theme.Theme, w, h int) []string {
	found := s.found(d)
	first := max(0, min(s.at-h/2, len(found)-h))
	var out []string
	for i := first; i < min(first+h, len(found)); i++ {
		it := found[i]
		note := it.Kind
		if it.Kind == "tool" {
			note = status.Tokens(it.Tokens) + " tok"
		}
		if it.Hints.Destructive != nil && *it.Hints.Destructive {
			note = "! destructive"
		}
		if it.Withheld != "" {
			note = theme.SymbolWarn + " withheld"
		}
		name := string(safetext.Ident(it.Name))
		if i == s.at {
			out = append(out, th.Selected.Render(cells.Spread(" ▸ "+name, note, w)))
			continue
		}
		out = append(out, cells.Spread("   "+name, th.Muted.Render(note), w))
	}
	return out
}

// lay is the detail of an item, laid out once per item and width.
func (s *Screen) lay(it integration.Item, d Data, th *theme.Theme, w int) []string {
	key := fmt.Sprintf("%s %d %s %s %s", d.Binding, d.Catalog.Generation, it.Kind, it.Name, it.Digest)
	if s.cache.key == key && s.cache.width == w && s.cache.th == th {
		return s.cache.lines
	}
	s.cache.key, s.cache.width, s.cache.th = key, w, th
	s.cache.lines = layItem(it, th, w)
	return s.cache.lines
}

func layItem(it integration.Item, th *theme.Theme, w int) []string {
	out := []string{th.Bold.Render(cells.Cut(string(safetext.Ident(it.Name)), w))}
	add := func(label, value string) {
		if value != "" {
			out = append(out, cells.Cut(th.Muted.Render(cells.Fit(label, 9))+" "+value, w))
		}
	}
	add("called", string(safetext.Ident(it.ModelName)))
	add("withheld", string(safetext.ToLine(it.Withheld)))
	add("type", string(safetext.ToLine(it.MIME)))
	add("digest", string(safetext.ToLine(it.Digest)))
	gutter := func(title, text string) {
		if text == "" {
			return
		}
		out = append(out, "", th.Heading.Render(title))
		for _, l := range safetext.ToBlockN(text, maxText).Lines() {
			for _, part := range cells.Wrap(string(l), w-2) {
				out = append(out, th.Gutter.Render("│")+" "+part)
			}
		}
	}
	gutter("TITLE", it.Title)
	gutter(fmt.Sprintf("DESCRIPTION, %d bytes", len(it.Description)), it.Description)
	for _, a := range it.Arguments {
		req := ""
		if a.Required {
			req = " *"
		}
		gutter("ARGUMENT "+string(safetext.Ident(a.Name))+req, a.Description)
	}
	gutter("INPUT SCHEMA", pretty(it.InputSchema))
	gutter("OUTPUT SCHEMA", pretty(it.OutputSchema))
	return out
}

func pretty(doc json.RawMessage) string {
	if len(doc) == 0 || len(doc) > maxText {
		return string(doc)
	}
	var buf bytes.Buffer
	if json.Indent(&buf, doc, "", "  ") != nil || buf.Len() > maxText {
		return string(doc)
	}
	return buf.String()
}
