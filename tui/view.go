package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/composer"
	"github.com/looprig/looprig/tui/gates"
	"github.com/looprig/looprig/tui/status"
	"github.com/looprig/looprig/tui/theme"
	"github.com/looprig/looprig/tui/transcript"
)

// maxQueuedLines bounds how many waiting inputs are shown.
const maxQueuedLines = 3

// View draws the screen: the screen itself, then the dialog on top.
func (m *model) View() tea.View {
	lines, cursor := m.frame()
	v := tea.NewView(strings.Join(lines, "\n"))
	v.AltScreen = true
	v.Cursor = cursor
	v.WindowTitle = "looprig " + string(safetext.Ident(m.o.Session.ID()))
	return v
}

// frame is the whole screen: exactly as many lines as it is high, none wider.
func (m *model) frame() ([]string, *tea.Cursor) {
	var lines []string
	var cursor *tea.Cursor
	v := m.drawn()
	a := m.divide(v)
	switch m.screen {
	case screenBindings:
		lines = m.withToast(m.bind.View(m.bindingData(), m.th, m.keys, a.w, a.h), a.w)
	case screenCatalog:
		lines = m.withToast(m.cat.View(m.catalogData(), m.th, m.keys, a.w, a.h), a.w)
	default:
		lines, cursor = m.main(a, v)
	}
	if d := m.top(); d != nil {
		lines, cursor = m.overlay(lines, d, a), nil
	}
	return lines, cursor
}

// withToast puts a passing message in place of the last line.
func (m *model) withToast(lines []string, w int) []string {
	if t := m.footText(); t != "" {
		lines[len(lines)-1] = cells.Fit(t, w)
	}
	return lines
}

// footText is what takes the place of the key hints, or "".
func (m *model) footText() string {
	switch {
	case m.leader:
		return m.th.Toast.Render(" " + m.keys.Hint("app.leader=then") + ": b bindings · c catalog · g gate · n notices")
	case m.finding:
		return m.th.Accent.Render(" /" + string(safetext.ToLine(string(m.query))) + "▏")
	case m.toast.text != "" && m.now.Before(m.toast.until):
		return m.th.Toast.Render(" " + m.toast.text)
	case len(m.fetches) > 0:
		return m.th.Busy.Render(" " + theme.SymbolBusy + " waiting for " + m.waitingFor() + " · " + m.keys.Hint("app.back=gives up"))
	}
	return ""
}

// waitingFor is the request under way that began last.
func (m *model) waitingFor() string {
	last := 0
	for n := range m.fetches {
		last = max(last, n)
	}
	return m.fetches[last].label
}

func (m *model) statusData() status.Data {
	d := status.Data{
		Session: m.sessionName(), Usage: m.usageLine(), Model: string(safetext.ToLineN(m.o.Session.Model(), 64)), Bindings: m.bindings, Notices: m.notices,
		Running: m.running(), Queued: len(m.queued), Changed: m.adopted, BindingsKey: "F2", GatesKey: "F6", NoticesKey: "F7", Now: m.now,
	}
	for _, g := range m.gates {
		d.Gates = append(d.Gates, status.Gate{Kind: strings.ReplaceAll(string(g.Kind), "_", " "), About: gates.About(g), Since: g.OpenedAt})
	}
	return d
}

// drawn is the composer and what it needs, for a width.
func (m *model) drawn() composer.View {
	return m.cp.Draw(m.th, min(max(m.w, minWidth), cells.MaxWidth), m.pane == paneComposer && !m.finding)
}

func (m *model) areas() areas { return m.divide(m.drawn()) }

func (m *model) divide(v composer.View) areas {
	return layout(m.w, m.h, needs{composer: len(v.Lines), above: len(v.Above), queued: m.queuedNeed()})
}

func (m *model) queuedNeed() int { return min(len(m.queued), maxQueuedLines) }

// main draws the conversation.
func (m *model) main(a areas, v composer.View) ([]string, *tea.Cursor) {
	th, d := m.th, m.statusData()
	out := make([]string, a.h)
	put := func(r rect, lines []string) {
		for i, l := range cells.Block(lines, r.w, r.h) {
			out[r.y+i] = l
		}
	}
	put(a.header, []string{status.Header(d, th, a.w, a.mode != modeWide)})
	put(a.ticker, []string{status.Ticker(d, th, a.w)})
	put(a.topRule, []string{th.Rule.Render(cells.Rule(a.w))})
	body := cells.Block(m.tr.View(transcript.Frame{Width: a.transcript.w, Height: a.transcript.h, Theme: th, Now: m.now, Focused: m.pane == paneTranscript}), a.transcript.w, a.transcript.h)
	if a.side.w > 0 {
		side := status.Pane(d, th, a.side.w, a.side.h)
		for i := range body {
			body[i] += th.Rule.Render("│") + " " + side[i]
		}
	}
	for i, l := range body {
		out[a.transcript.y+i] = l
	}
	put(a.queued, m.queuedLines(a.w))
	put(a.above, v.Above)
	put(a.rule, []string{m.composerRule(a.w)})
	put(a.composer, v.Lines)
	put(a.footer, []string{m.footer(a)})
	if t := m.footText(); t != "" && a.footer.h == 0 {
		// A small screen has no line for it, so it covers one for a while.
		out[a.transcript.y+a.transcript.h-1] = cells.Fit(t, a.w)
	}
	cursor := v.Cursor
	if cursor != nil {
		if cursor.Y >= a.composer.h {
			cursor.Y = max(a.composer.h-1, 0)
		}
		cursor.Y += a.composer.y
	}
	return out, cursor
}

// composerRule separates the composer and says what the loop is doing.
func (m *model) composerRule(w int) string {
	state := ""
	if t, ok := m.oldestTurn(); ok {
		state = " " + theme.SymbolBusy + " working " + theme.Age(m.now.Sub(t.started)) + " · esc interrupts "
	}
	switch {
	case len(m.gates) > 0 && m.running():
		state = " " + theme.SymbolBusy + " waits for your answer · F6 "
	case !m.tr.Following():
		state += "─ scrolled back, G follows "
	}
	if name := m.loopName(); name != "" {
		state = " to " + name + " ─" + state
	}
	state = cells.Cut(state, max(w-4, 0))
	return m.th.Rule.Render("──") + m.th.Busy.Render(state) + m.th.Rule.Render(cells.Rule(w-2-cells.Width(state)))
}

func (m *model) queuedLines(w int) []string {
	var out []string
	for i, q := range m.queued {
		if i == maxQueuedLines-1 && len(m.queued) > maxQueuedLines {
			out = append(out, m.th.Muted.Render(cells.Cut(fmt.Sprintf(" … %d more queued", len(m.queued)-i), w)))
			break
		}
		out = append(out, m.th.Muted.Render(cells.Cut(fmt.Sprintf(" queued %d: %s", i+1, safetext.ToLineN(q.text, 512)), w)))
	}
	return out
}

func (m *model) footer(a areas) string {
	if t := m.footText(); t != "" {
		return t
	}
	right := ""
	if n := len(m.gates); n > 0 {
		right = m.th.Warn.Render(fmt.Sprintf("▲ %d gate%s F6 ", n, plural(n)))
	}
	room := a.w - cells.Width(right) - 2
	hint := m.keys.HintFit(room, "composer.send=send", "app.help=help", "app.palette=palette", "screen.bindings=bindings", "app.back=stop", "screen.catalog=catalog", "pane.next=focus", "screen.notices=notices")
	if m.pane == paneTranscript {
		hint = m.keys.HintEnds(room, []string{"app.back=composer", "transcript.help=help"}, "transcript.line_down=down", "transcript.line_up=up", "transcript.expand=expand", "transcript.item_down=next", "transcript.item_up=previous",
			"transcript.copy=copy", "transcript.search=search", "transcript.follow=follow")
	}
	return cells.Spread(m.th.Muted.Render(" "+hint), right, a.w)
}

// dialogFooter names the keys that work beside those of the open dialog.
func (m *model) dialogFooter(d dialog, w int) string {
	hint, right := m.keys.Hint("app.interrupt=close", "app.redraw=redraw"), ""
	if _, gate := d.(*gateDialog); gate {
		hint = m.keys.Hint("gate.oldest=put aside", "app.redraw=redraw")
	} else if n := len(m.gates); n > 0 {
		right = m.th.Warn.Render(fmt.Sprintf("▲ %d gate%s waiting ", n, plural(n)))
	}
	return cells.Spread(m.th.Muted.Render(" "+hint), right, w)
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// overlay draws a dialog over the screen, in its middle; a small screen is all
// dialog.
func (m *model) overlay(lines []string, d dialog, a areas) []string {
	f := dialogFrame{w: a.w, h: max(a.h-2, 1), now: m.now, total: len(m.gates)}
	if a.mode == modeTiny {
		f.h = max(a.h-1, 1)
	}
	if g, ok := d.(*gateDialog); ok {
		f.pos = m.position(g.g.ID())
	}
	box := d.view(f)
	if len(box) > f.h {
		box = append(box[:f.h-1:f.h-1], box[len(box)-1])
	}
	w := 0
	for _, l := range box {
		w = max(w, cells.Width(l))
	}
	x := max((a.w-w)/2, 0)
	y := 1 + max((f.h-len(box))/2, 0)
	for i, l := range cells.Overlay(lines, box, x, y) {
		lines[i] = cells.Fit(l, a.w)
	}
	if a.mode != modeTiny {
		lines[len(lines)-1] = m.dialogFooter(d, a.w)
	}
	return m.withToast(lines, a.w)
}
