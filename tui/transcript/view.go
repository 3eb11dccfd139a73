package transcript

import (
	"fmt"
	"strings"
	"time"

	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/theme"
)

// anchor is a line of an item.
type anchor struct{ item, line int }

// Frame is what a view needs beside the items.
type Frame struct {
	Width, Height int
	Theme         *theme.Theme
	Now           time.Time
	// Focused shows which item the keys act on.
	Focused bool
}

// View lays out the visible part: at most Height lines of at most Width cells.
func (t *Transcript) View(f Frame) []string {
	if f.Height <= 0 || f.Width <= 0 || len(t.items) == 0 {
		return nil
	}
	if t.follow {
		t.top = t.bottom(f)
	}
	t.clampTop(f)
	out := make([]string, 0, f.Height)
	for i, skip := t.top.item, t.top.line; i < len(t.items) && len(out) < f.Height; i++ {
		lines := t.lines(i, f)
		for _, l := range lines[min(skip, len(lines)):] {
			if len(out) == f.Height {
				break
			}
			out = append(out, t.mark(l, i, f))
		}
		skip = 0
	}
	return out
}

// mark shows the selected item by a bar in front of it.
func (t *Transcript) mark(line string, i int, f Frame) string {
	if f.Focused && i == t.selected {
		return f.Theme.Accent.Render("┃") + line
	}
	return " " + line
}

// bottom is the anchor that puts the last line at the bottom.
func (t *Transcript) bottom(f Frame) anchor {
	left := f.Height
	for i := len(t.items) - 1; i >= 0; i-- {
		n := len(t.lines(i, f))
		if n >= left {
			return anchor{item: i, line: n - left}
		}
		left -= n
	}
	return anchor{}
}

func (t *Transcript) clampTop(f Frame) {
	t.top.item = min(max(t.top.item, 0), len(t.items)-1)
	t.top.line = min(max(t.top.line, 0), max(len(t.lines(t.top.item, f))-1, 0))
}

// Following reports whether new items scroll into view.
func (t *Transcript) Following() bool { return t.follow }

// Scroll moves the view by lines; at the end it follows again.
func (t *Transcript) Scroll(n int, f Frame) {
	if len(t.items) == 0 || f.Height <= 0 {
		return
	}
	end := t.bottom(f)
	if t.follow {
		t.top = end
	}
	t.clampTop(f)
	t.follow = false
	for ; n < 0; n++ {
		if t.top.line > 0 {
			t.top.line--
		} else if t.top.item > 0 {
			t.top.item--
			t.top.line = max(len(t.lines(t.top.item, f))-1, 0)
		}
	}
	for ; n > 0; n-- {
		t.top.line++
		if t.top.line >= len(t.lines(t.top.item, f)) {
			t.top = anchor{item: t.top.item + 1}
		}
		if !t.top.before(end) {
			t.top, t.follow = end, true
			break
		}
	}
	t.keepSelectionVisible(f)
}

func (a anchor) before(b anchor) bool { return a.item < b.item || a.item == b.item && a.line < b.line }

// keepSelectionVisible moves the selection to the first item on the screen when
// it has scrolled out.
func (t *Transcript) keepSelectionVisible(f Frame) {
	last := t.top.item
	for room := f.Height + t.top.line; last < len(t.items)-1; last++ {
		room -= len(t.lines(last, f))
		if room <= 0 {
			break
		}
	}
	t.selected = min(max(t.selected, t.top.item), last)
}

// Select moves the selection by items and scrolls it into view.
func (t *Transcript) Select(n int, f Frame) {
	if len(t.items) == 0 {
		return
	}
	if t.selected < 0 {
		t.selected = len(t.items)
	}
	t.selected = min(max(t.selected+n, 0), len(t.items)-1)
	t.show(t.selected, f)
}

// show scrolls so that an item is visible.
func (t *Transcript) show(i int, f Frame) {
	if t.follow {
		t.top = t.bottom(f)
	}
	if i < t.top.item || i == t.top.item && t.top.line > 0 {
		t.top, t.follow = anchor{item: i}, false
		return
	}
	need := 0
	for j := t.top.item; j <= i; j++ {
		need += len(t.lines(j, f))
		if j == t.top.item {
			need -= t.top.line
		}
		if need > f.Height && j < i {
			break
		}
	}
	if need > f.Height {
		t.top, t.follow = anchor{item: i}, false
		if end := t.bottom(f); !t.top.before(end) {
			t.top, t.follow = end, true
		}
	}
}

// Home shows the first item; End shows the last one and follows.
func (t *Transcript) Home() { t.top, t.follow, t.selected = anchor{}, false, 0 }

// End shows the last item and follows what comes.
func (t *Transcript) End() { t.follow, t.selected = true, len(t.items)-1 }

// Selected is the item that keys act on, or nil.
func (t *Transcript) Selected() *Item {
	if len(t.items) == 0 {
		return nil
	}
	if t.selected < 0 || t.selected >= len(t.items) {
		t.selected = len(t.items) - 1
	}
	return t.items[t.selected]
}

// Toggle expands or folds the selected item.
func (t *Transcript) Toggle() {
	if it := t.Selected(); it != nil {
		it.expanded = !it.expanded
		it.touch()
	}
}

// Find selects the next item (dir 1) or the previous one (-1) that contains the
// query, without regard to case, and reports whether there is one.
func (t *Transcript) Find(query string, dir int, f Frame) bool {
	if query != "" {
		t.query = strings.ToLower(query)
	}
	if t.query == "" || len(t.items) == 0 {
		return false
	}
	at := t.selected
	if at < 0 {
		at = len(t.items)
	}
	for range t.items {
		at = (at + dir + len(t.items)) % len(t.items)
		if strings.Contains(strings.ToLower(t.items[at].Text()), t.query) {
			t.selected = at
			t.show(at, f)
			return true
		}
	}
	return false
}

// lines returns an item's lines from its cache, one cell narrower than the
// frame for the mark of the selection.
func (t *Transcript) lines(i int, f Frame) []string {
	it := t.items[i]
	w := max(f.Width-1, 1)
	now := int64(0)
	if it.call != nil && it.call.State != CallDone || it.live != nil {
		now = f.Now.Unix()
	}
	c := &it.cache
	if c.lines == nil || c.version != it.version || c.width != w || c.th != f.Theme || c.now != now {
		*c = cached{version: it.version, width: w, th: f.Theme, now: now, lines: t.layout(it, w, f)}
		if i == 0 && t.dropped > 0 {
			note := fmt.Sprintf("%d earlier items are in the journal", t.dropped)
			c.lines = append([]string{f.Theme.Muted.Render(cells.Cut(note, w))}, c.lines...)
		}
	}
	return c.lines
}

func (t *Transcript) layout(it *Item, w int, f Frame) []string {
	switch it.kind {
	case KindUser:
		return t.speech(it, w, f, f.Theme.User.Render(it.giver()), it.plain(w-2))
	case KindAssistant:
		return t.assistant(it, w, f)
	case KindCall:
		return layCall(it, w, f, t.prefix(it))
	case KindRule:
		text := " " + string(safetext.ToLine(it.text)) + " "
		text = cells.Cut(text, w-2)
		return []string{f.Theme.Rule.Render("──") + f.Theme.Accent.Render(text) + f.Theme.Rule.Render(cells.Rule(w-2-cells.Width(text)))}
	case KindNote:
		return layNote(it, w, f)
	case KindFetched:
		return layFetched(it, w, f)
	}
	return nil
}

// prefix names the loop once there are several.
func (t *Transcript) prefix(it *Item) string {
	if t.loops < 2 || it.loop == "" {
		return ""
	}
	return string(safetext.Ident(it.loop))
}

func (t *Transcript) speech(it *Item, w int, f Frame, who string, body []string) []string {
	if p := t.prefix(it); p != "" {
		who += f.Theme.Muted.Render(" · " + p)
	}
	out := make([]string, 0, len(body)+2)
	out = append(out, "", cells.Spread(who, f.Theme.Muted.Render(clock(it.time)), w))
	for _, l := range body {
		out = append(out, "  "+l)
	}
	return out
}

func (t *Transcript) assistant(it *Item, w int, f Frame) []string {
	who := f.Theme.Assistant.Render("▌ assistant")
	var body []string
	if it.reason != nil {
		body = append(body, t.reasoning(it, w-2, f)...)
	}
	switch {
	case it.live != nil:
		who += f.Theme.Busy.Render(" " + theme.SymbolBusy + " writing " + theme.Short(f.Now.Sub(it.time)))
		body = append(body, it.live.wrapped(w-2)...)
	case it.doc != nil:
		body = append(body, it.doc.Lines(f.Theme, w-2)...)
	default:
		body = append(body, it.plain(w-2)...)
	}
	return t.speech(it, w, f, who, body)
}

func (t *Transcript) reasoning(it *Item, w int, f Frame) []string {
	head := "▸ reasoning, enter expands"
	if !it.expanded {
		return []string{f.Theme.Muted.Render(cells.Cut(head, w))}
	}
	out := []string{f.Theme.Muted.Render(cells.Cut("▾ reasoning", w))}
	for _, l := range it.reason.wrapped(w - 2) {
		out = append(out, f.Theme.Muted.Render("│ "+l))
	}
	return out
}

// plain wraps the item's text, capped.
func (it *Item) plain(w int) []string {
	return capped(wrapBlock(it.text, w), w)
}

func capped(lines []string, w int) []string {
	if len(lines) <= MaxBodyLines {
		return lines
	}
	more := fmt.Sprintf("… %d more lines; all of it is in the journal", len(lines)-MaxBodyLines)
	return append(lines[:MaxBodyLines:MaxBodyLines], cells.Cut(more, w))
}

func layNote(it *Item, w int, f Frame) []string {
	symbol, st := "·", f.Theme.Muted
	switch it.level {
	case Warn:
		symbol, st = theme.SymbolWarn, f.Theme.Warn
	case Bad:
		symbol, st = theme.SymbolBad, f.Theme.Bad
	default:
	}
	var out []string
	for i, l := range capped(wrapBlock(it.text, w-2), w-2) {
		lead := "  "
		if i == 0 {
			lead = symbol + " "
		}
		out = append(out, st.Render(lead+l))
	}
	return out
}

func clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format("15:04:05")
}
