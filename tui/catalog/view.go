package catalog

import (
	"fmt"
	"strings"

	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/keymap"
	"github.com/looprig/looprig/tui/status"
	"github.com/looprig/looprig/tui/theme"
)

// View lays the screen out: exactly h lines of exactly w cells.
func (s *Screen) View(d Data, th *theme.Theme, keys *keymap.Map, w, h int) []string {
	hint := th.Muted.Render(" " + s.hint(d, keys, w-1))
	room := max(h-3, 1)
	out := append([]string{s.head(d, th, w), s.tabs(d, th, w)}, cells.Block(s.body(d, th, w, room), w, room)...)
	return cells.Block(append(out, hint), w, h)
}

func (s *Screen) head(d Data, th *theme.Theme, w int) string {
	left := th.Heading.Render(" Catalog")
	if d.Binding != "" {
		left += th.Muted.Render(" · ") + string(safetext.Ident(d.Binding))
	}
	right := ""
	if c := d.Catalog; c != nil {
		left += th.Muted.Render(fmt.Sprintf(" · gen %d", c.Generation))
		switch {
		case s.comparing && d.Before != nil:
			left += th.Accent.Render(fmt.Sprintf(" compared with gen %d", d.Before.Generation))
		case c.Generation < d.Newest:
			left += th.Warn.Render(fmt.Sprintf(" %s gen %d is newer", theme.SymbolWarn, d.Newest))
		}
		if w >= 70 {
			right = th.Muted.Render(string(safetext.Ident(c.Revision)) + " ")
			if c.Revision == "" {
				right = ""
			}
		}
	}
	if s.filtering || len(s.query) > 0 {
		left += th.Accent.Render("  /" + string(s.query))
	}
	return cells.Spread(left, right, w)
}

// tabs is the kinds with what the filter leaves of each.
func (s *Screen) tabs(d Data, th *theme.Theme, w int) string {
	items := s.matching(d)
	n, shown := counts(items), s.shown(items)
	words := map[string]string{Tool: "Tools", Prompt: "Prompts", Resource: "Resources", Template: "Templates"}
	if w < 50 {
		words = map[string]string{Tool: "Tools", Prompt: "Prompts", Resource: "Res", Template: "Tmpl"}
	}
	out := ""
	for _, k := range kinds {
		text := fmt.Sprintf("%s %d", words[k], n[k])
		if k == shown {
			out += th.Accent.Render("[" + text + "]")
		} else {
			out += th.Muted.Render(" " + text + " ")
		}
	}
	out = th.Rule.Render("─") + cells.Cut(out, w-2)
	return out + th.Rule.Render(cells.Rule(w-cells.Width(out)))
}

func (s *Screen) body(d Data, th *theme.Theme, w, h int) []string {
	it, any := s.Selected(d)
	none := func(text string) []string { return []string{th.Muted.Render(cells.Cut("   "+text, w))} }
	switch {
	case d.Binding == "":
		return none("there is no binding yet; F2 lists them and adds one")
	case d.Catalog == nil:
		return none("this binding has no catalog yet")
	case !any && len(s.query) > 0:
		return none("nothing matches; esc clears the filter")
	case !any && s.comparing && d.Before == nil:
		return none("no older generation is kept")
	case !any:
		return none("nothing here")
	case s.detail && w < wide:
		var out []string
		for _, l := range s.pager.View(th, s.lay(it, d, th, w-2), w-2, h) {
			out = append(out, " "+l)
		}
		return out
	case w >= wide:
		return s.columns(it, d, th, w, h)
	}
	return s.rows(d, th, w, h)
}

// hint is the footer: esc and help are never left out.
func (s *Screen) hint(d Data, keys *keymap.Map, w int) string {
	if s.filtering {
		return "type to filter · ⏎ keeps it · esc clears it"
	}
	use := "catalog.use=call"
	watch := ""
	switch s.shown(s.matching(d)) {
	case Prompt:
		use = "catalog.use=get"
	case Resource:
		use, watch = "catalog.use=read", "catalog.watch=watch"
		if it, ok := s.Selected(d); ok && d.Watched[it.Name] {
			watch = "catalog.watch=unwatch"
		}
	case Template:
		use = "catalog.use=fill in"
	default:
	}
	compare := "catalog.compare=changes"
	if s.comparing {
		compare = "catalog.compare=all"
	}
	if s.detail {
		return keys.HintEnds(w, []string{"app.back=list", "catalog.help=help"}, "list.down=scroll", "list.page_down=page", use, watch, "catalog.raw=raw", "catalog.copy=copy", compare)
	}
	return keys.HintEnds(w, []string{"app.back=back", "catalog.help=help"}, use, watch, "catalog.detail=detail", "catalog.kind_next=kind", "catalog.filter=filter",
		compare, "catalog.next_binding=binding", "catalog.older=older", "catalog.newer=newer", "catalog.raw=raw")
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
		note := s.note(it, d)
		name := cells.CutMiddle(string(safetext.Ident(it.Name)), w-3-1-cells.Width(note))
		if i == s.at {
			out = append(out, th.Selected.Render(cells.Spread(" ▸ "+name, note, w)))
			continue
		}
		out = append(out, cells.Spread("   "+name, th.Muted.Render(note), w))
	}
	return out
}

// note is what matters most of an item, in a few words.
func (s *Screen) note(it integration.Item, d Data) string {
	var parts []string
	add := func(ok bool, text string) {
		if ok {
			parts = append(parts, text)
		}
	}
	if s.comparing {
		c, _ := s.changeOf(it, d)
		add(c.op != "", c.op)
	}
	add(it.Withheld != "", theme.SymbolWarn+" withheld")
	add(it.Hints.Destructive != nil && *it.Hints.Destructive, "! destructive")
	add(d.Deferred[it.ModelName] && it.Kind == Tool, "deferred")
	add(d.Updated[it.Name] > 0 && it.Kind == Resource, "▲ changed")
	add(d.Watched[it.Name] && it.Kind == Resource, "◉ watched")
	if len(parts) > 0 {
		return strings.Join(parts[:min(len(parts), 2)], " ")
	}
	switch it.Kind {
	case Tool:
		return status.Tokens(it.Tokens) + " tok"
	case Prompt:
		switch n := len(it.Arguments); n {
		case 0:
			return ""
		case 1:
			return "1 argument"
		default:
			return fmt.Sprintf("%d arguments", n)
		}
	}
	return string(safetext.ToLineN(it.MIME, 40))
}
