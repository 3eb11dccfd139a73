// Package status draws what goes on beside the conversation: bindings, open
// gates and notices, as a pane on wide terminals and as a header strip with a
// ticker on narrow ones. It is pure: data in, lines out.
package status

import (
	"fmt"
	"strings"
	"time"

	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/theme"
)

// Width is the pane's width in cells.
const Width = 39

// Gate is an open gate in one line. Its texts are clean.
type Gate struct {
	Kind, About string
	Since       time.Time
}

// Notice is one out-of-band message. Its texts are clean.
type Notice struct {
	Time    time.Time
	Binding string
	Text    string
	Level   string // "info", "warn", "error"
}

// Data is everything that the pane shows.
type Data struct {
	Session string
	Model   string
	// Usage is what the session used so far, in one line, or "".
	Usage    string
	Bindings []integration.Binding
	Gates    []Gate
	// Notices are oldest first.
	Notices []Notice
	Running bool
	Queued  int
	// Changed counts adopted generations since the person last looked.
	Changed int
	// BindingsKey, GatesKey and NoticesKey open the screens.
	BindingsKey, GatesKey, NoticesKey string
	Now                               time.Time
}

// Pane is the whole pane: exactly h lines of exactly w cells.
func Pane(d Data, th *theme.Theme, w, h int) []string {
	if w <= 0 || h <= 0 {
		return nil
	}
	gates := gateLines(d, th, w)
	room := max(h-len(gates)-4, 1)
	var out []string
	out = append(out, bindingLines(d, th, w, max(room/2, min(len(d.Bindings)+1, room-6)))...)
	out = append(out, "")
	out = append(out, gates...)
	out = append(out, "")
	out = append(out, noticeLines(d, th, w, h-len(out)-summaryHeight)...)
	for len(out) < h-summaryHeight {
		out = append(out, "")
	}
	if h > summaryHeight+len(gates) {
		out = append(out[:min(len(out), h-summaryHeight)], summary(d, th, w)...)
	}
	return cells.Block(out, w, h)
}

const summaryHeight = 1

func heading(th *theme.Theme, title, right string, w int) string {
	return cells.Spread(th.Heading.Render(title), th.Muted.Render(right), w)
}

// bindingLines is the list of bindings in at most most lines.
func bindingLines(d Data, th *theme.Theme, w, most int) []string {
	out := []string{heading(th, "BINDINGS", d.BindingsKey+" manage", w)}
	if len(d.Bindings) == 0 {
		return append(out, th.Muted.Render("none; a in "+d.BindingsKey+" adds one"))
	}
	for i, b := range d.Bindings {
		if len(out) == most-1 && len(d.Bindings)-i > 1 {
			out = append(out, th.Muted.Render(fmt.Sprintf("… %d more", len(d.Bindings)-i)))
			break
		}
		out = append(out, bindingLine(b, th, w, d.Now))
	}
	return out
}

func bindingLine(b integration.Binding, th *theme.Theme, w int, now time.Time) string {
	g := theme.GroupOf(b.State)
	name := cells.Fit(string(safetext.Ident(b.Name)), max(w-30, 8))
	state := th.Style(g).Render(g.Symbol()) + " " + name + " " + th.Style(g).Render(theme.StateWord(b, now))
	return cells.Spread(state, th.Muted.Render(Generation(b)), w)
}

// Generation is a binding's generation, tools and what they cost: "gen 3 9t 1.2k".
func Generation(b integration.Binding) string {
	if b.Generation == 0 {
		return ""
	}
	gen := fmt.Sprintf("gen %d", b.Generation)
	if b.Candidate > b.Generation {
		gen += fmt.Sprintf("→%d", b.Candidate)
	}
	return fmt.Sprintf("%s %dt %s", gen, b.Tools, Tokens(b.Tokens))
}

// Tokens is a number of tokens: "940", "1.2k".
func Tokens(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%.1fk", float64(n)/1000)
}

func gateLines(d Data, th *theme.Theme, w int) []string {
	if len(d.Gates) == 0 {
		return []string{heading(th, "GATES", "none", w)}
	}
	out := []string{heading(th, "GATES "+fmt.Sprint(len(d.Gates)), d.GatesKey+" answer", w)}
	for i, g := range d.Gates {
		if i == 3 && len(d.Gates) > 4 {
			out = append(out, th.Muted.Render(fmt.Sprintf("… %d more", len(d.Gates)-3)))
			break
		}
		out = append(out, cells.Spread(th.Warn.Render("▸ "+g.Kind)+" "+g.About, th.Muted.Render(theme.Age(d.Now.Sub(g.Since))), w))
	}
	return out
}

// noticeLines is the newest notices, newest first.
func noticeLines(d Data, th *theme.Theme, w, most int) []string {
	if most < 2 {
		return nil
	}
	out := []string{heading(th, "NOTICES", d.NoticesKey+" all", w)}
	if len(d.Notices) == 0 {
		return append(out, th.Muted.Render("none yet"))
	}
	for i := len(d.Notices) - 1; i >= 0 && len(out) < most; i-- {
		out = append(out, NoticeLine(d.Notices[i], th, w))
	}
	return out
}

// NoticeLine is a notice in one line.
func NoticeLine(n Notice, th *theme.Theme, w int) string {
	st := th.Text
	lead := ""
	switch n.Level {
	case "warn":
		st, lead = th.Warn, theme.SymbolWarn+" "
	case "error":
		st, lead = th.Bad, theme.SymbolBad+" "
	}
	name := cells.Fit(n.Binding, 8)
	return cells.Cut(th.Muted.Render(n.Time.Format("15:04:05"))+" "+th.Bold.Render(name)+" "+st.Render(lead+n.Text), w)
}

func summary(d Data, th *theme.Theme, w int) []string {
	tools, tokens := 0, 0
	for _, b := range d.Bindings {
		if b.Generation > 0 {
			tools += b.Tools
			tokens += b.Tokens
		}
	}
	return []string{th.Muted.Render(cells.Cut(fmt.Sprintf("%d tools · %s tokens of context", tools, Tokens(tokens)), w))}
}

// Counts is the bindings by state: "● 3 ready ◐ 1 busy"; short leaves out the
// words of the groups that need no attention.
func Counts(bs []integration.Binding, th *theme.Theme, words bool) string {
	var n [5]int
	for _, b := range bs {
		n[theme.GroupOf(b.State)]++
	}
	var parts []string
	for _, g := range theme.Groups() {
		if n[g] == 0 {
			continue
		}
		s := fmt.Sprintf("%s%d", g.Symbol(), n[g])
		if words {
			s += " " + g.Word()
		}
		parts = append(parts, th.Style(g).Render(s))
	}
	return strings.Join(parts, " ")
}

// newest is the highest generation among the bindings, for the header.
func newest(bs []integration.Binding) uint64 {
	var g uint64
	for _, b := range bs {
		g = max(g, b.Generation)
	}
	return g
}

// Header is the top line. On narrow terminals it carries what the pane would.
func Header(d Data, th *theme.Theme, w int, narrow bool) string {
	left := th.Bold.Render(" looprig") + th.Muted.Render(" · ") + d.Session
	if w >= 60 {
		left += th.Muted.Render(" · ") + d.Model
	}
	right := Counts(d.Bindings, th, !narrow && w >= 130)
	if g := newest(d.Bindings); g > 0 && w >= 60 {
		right += th.Muted.Render(fmt.Sprintf("  gen %d", g))
		if d.Changed > 0 {
			right += th.Accent.Render(fmt.Sprintf(" ▲%d new", d.Changed))
		}
	}
	if d.Usage != "" && w >= 100 {
		right += th.Muted.Render("  " + d.Usage)
	}
	if n := len(d.Gates); n > 0 {
		right += "  " + th.Warn.Render(fmt.Sprintf("gates %d", n))
	}
	return cells.Spread(left, right+" ", w)
}

// Ticker is the newest notice and how many stand behind it.
func Ticker(d Data, th *theme.Theme, w int) string {
	if len(d.Notices) == 0 {
		return th.Muted.Render(cells.Fit(" no notices yet", w))
	}
	more := ""
	if n := len(d.Notices) - 1; n > 0 {
		more = th.Muted.Render(fmt.Sprintf("+%d %s ", n, d.NoticesKey))
	}
	return cells.Spread(" "+NoticeLine(d.Notices[len(d.Notices)-1], th, w-cells.Width(more)-2), more, w)
}
