package tui

import (
	"fmt"
	"sort"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/keymap"
	"github.com/looprig/looprig/tui/list"
	"github.com/looprig/looprig/tui/status"
	"github.com/looprig/looprig/tui/theme"
	"github.com/looprig/looprig/tui/transcript"
)

type (
	actInsert struct{ item *transcript.Item }
	actCopy   struct{ text string }
)

func (actInsert) isAction() {}
func (actCopy) isAction()   {}

// foreignPage is a pager for a text that a server wrote, laid out once per width.
func foreignPage(title, text string, keys *keymap.Map, th *theme.Theme) *pageDialog {
	d := &pageDialog{title: title, keys: keys, th: th}
	width, lines := -1, []string(nil)
	d.lines = func(w int) []string {
		if w != width {
			width, lines = w, nil
			for _, l := range safetext.ToBlockN(text, transcript.MaxPage).Lines() {
				lines = append(lines, cells.Wrap(string(l), w)...)
			}
		}
		return lines
	}
	return d
}

// fetchedDialog shows what was fetched and offers to use it.
type fetchedDialog struct {
	item  *transcript.Item
	pager list.Pager
	keys  *keymap.Map
	th    *theme.Theme
	width int
	lines []string
}

func (d *fetchedDialog) key(k tea.KeyPressMsg, _ time.Time) action {
	id, _ := d.keys.Match(k, keymap.Fetched)
	switch id {
	case keymap.FetchedInsert:
		return actInsert{d.item}
	case keymap.FetchedCopy:
		return actCopy{d.item.Text()}
	default:
	}
	if d.pager.Key(k, d.keys) || k.String() == "q" {
		return actClose{}
	}
	return nil
}
func (d *fetchedDialog) paste(string, time.Time)  {}
func (d *fetchedDialog) setTheme(th *theme.Theme) { d.th, d.width = th, 0 }
func (d *fetchedDialog) view(f dialogFrame) []string {
	w := min(max(f.w-4, min(f.w, 36)), 110)
	inner, room := max(w-4, 4), max(f.h-2, 1)
	if d.width != inner {
		d.width, d.lines = inner, nil
		for _, l := range d.item.Page(max(inner-2, 1)) {
			d.lines = append(d.lines, d.th.Gutter.Render("│")+" "+l)
		}
	}
	x := d.item.Fetched()
	title := x.What + " · " + string(safetext.Ident(x.Binding)) + " " + string(safetext.Ident(x.Name))
	hint := d.keys.HintEnds(w-6, []string{"list.close=close"}, "fetched.insert=into the composer", "fetched.copy=copy")
	return d.th.Box(title, hint, d.pager.View(d.th, d.lines, inner, room), w)
}

// logSource is where a line of the log came from.
type logSource uint8

const (
	fromNotice logSource = iota
	fromStderr
	fromLog
)

// logLine is a notice, a line of stderr or a log message.
type logLine struct {
	status.Notice
	source logSource
}

// noticesDialog shows notices, stderr and logs merged, newest first.
type noticesDialog struct {
	all       func() []logLine
	hidden    [3]bool
	query     []rune
	filtering bool
	pager     list.Pager
	keys      *keymap.Map
	th        *theme.Theme
}

func (d *noticesDialog) key(k tea.KeyPressMsg, _ time.Time) action {
	if d.filtering {
		d.filterKey(k)
		return nil
	}
	id, _ := d.keys.Match(k, keymap.Notices)
	switch id {
	case keymap.NoticesFilter:
		d.filtering = true
	case keymap.NoticesNotices:
		d.hidden[fromNotice] = !d.hidden[fromNotice]
	case keymap.NoticesStderr:
		d.hidden[fromStderr] = !d.hidden[fromStderr]
	case keymap.NoticesLogs:
		d.hidden[fromLog] = !d.hidden[fromLog]
	default:
		if d.pager.Key(k, d.keys) || k.String() == "q" {
			if len(d.query) > 0 && k.String() == "esc" {
				d.query = nil
				return nil
			}
			return actClose{}
		}
		return nil
	}
	d.pager = list.Pager{}
	return nil
}

func (d *noticesDialog) filterKey(k tea.KeyPressMsg) {
	switch k.String() {
	case "enter":
		d.filtering = false
	case "esc":
		d.filtering, d.query = false, nil
	case "backspace":
		if n := len(d.query); n > 0 {
			d.query = d.query[:n-1]
		}
	default:
		d.paste(k.Text, time.Time{})
	}
	d.pager = list.Pager{}
}

func (d *noticesDialog) paste(text string, _ time.Time) {
	const most = 100
	if d.filtering {
		d.query = append(d.query, []rune(string(safetext.ToLine(text)))...)
		d.query = d.query[:min(len(d.query), most)]
	}
}
func (d *noticesDialog) setTheme(th *theme.Theme) { d.th = th }

func (d *noticesDialog) view(f dialogFrame) []string {
	w := min(max(f.w-4, min(f.w, 36)), 110)
	inner, room := max(w-4, 4), max(f.h-2, 1)
	title := "notices, stderr and logs"
	if d.filtering || len(d.query) > 0 {
		title += "  /" + string(d.query)
		if d.filtering {
			title += "▏"
		}
	}
	lines := append([]string{d.switches()}, d.pager.View(d.th, d.lines(inner), inner, max(room-1, 1))...)
	hint := "type to filter · ⏎ keeps it · esc clears it"
	if !d.filtering {
		hint = d.keys.HintEnds(w-6, []string{"list.close=close"}, "notices.filter=filter", "notices.notices=notices", "notices.stderr=stderr", "notices.logs=logs")
	}
	return d.th.Box(title, hint, lines, w)
}

// switches says which sources are shown.
func (d *noticesDialog) switches() string {
	words := [...]string{"notices", "stderr", "logs"}
	parts := make([]string, len(words))
	for i, word := range words {
		parts[i] = d.th.Accent.Render("[x] " + word)
		if d.hidden[i] {
			parts[i] = d.th.Muted.Render("[ ] " + word)
		}
	}
	return strings.Join(parts, "  ")
}

func (d *noticesDialog) lines(w int) []string {
	all := d.all()
	q := strings.ToLower(string(d.query))
	var out []string
	for i := range all {
		n := &all[len(all)-1-i]
		if d.hidden[n.source] || q != "" && !strings.Contains(strings.ToLower(n.Binding+" "+n.Level+" "+n.Text), q) {
			continue
		}
		out = append(out, status.NoticeLine(n.Notice, d.th, w))
	}
	switch {
	case len(out) > 0:
	case len(all) == 0:
		out = []string{d.th.Muted.Render("none yet")}
	default:
		out = []string{d.th.Muted.Render(cells.Cut(fmt.Sprintf("none of the %d lines matches", len(all)), w))}
	}
	return out
}

// openNotices shows notices, stderr and logs merged, newest first.
func (m *model) openNotices() {
	m.push(&noticesDialog{all: m.logLines, keys: m.keys, th: m.th})
}

// logLines are all lines, oldest first.
func (m *model) logLines() []logLine {
	all := make([]logLine, 0, len(m.notices)+len(m.logs))
	for _, n := range m.notices {
		all = append(all, logLine{Notice: n})
	}
	all = append(all, m.logs...)
	sort.SliceStable(all, func(i, j int) bool { return all[i].Time.Before(all[j].Time) })
	return all
}

var (
	_ dialog = (*fetchedDialog)(nil)
	_ dialog = (*noticesDialog)(nil)
)
