package bindings

import (
	"fmt"
	"strings"
	"time"

	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/status"
	"github.com/looprig/looprig/tui/theme"
)

// labelWidth is the column of labels.
const labelWidth = 10

// detail is everything that is known of a binding, in lines of at most w cells.
func detail(b integration.Binding, d Data, th *theme.Theme, w int) []string {
	p := printer{th: th, w: w}
	g := theme.GroupOf(b.State)
	p.line(th.Bold.Render(string(safetext.Ident(b.Name))) + "  " + th.Style(g).Render(g.Symbol()+" "+string(b.State)))
	if op := d.Busy[b.Name]; op != "" {
		p.line(th.Busy.Render(theme.SymbolBusy + " " + op + "…"))
	}
	if b.Reason != "" || b.Code != "" && g != theme.GroupReady {
		p.field("class", b.Class)
		p.field("reason", reason(b))
	}
	if b.NextTry != nil {
		p.field("next try", due(*b.NextTry, d.Now))
	}
	p.field("position", b.Position)
	p.field("source", kindWord(b.Kind)+" "+b.Origin)
	p.field("scope", scope(b))
	if b.ServerName != "" || b.Revision != "" {
		p.field("server", "says it is "+string(safetext.Ident(b.ServerName))+" "+string(safetext.ToLine(b.ServerVersion)))
		p.field("protocol", b.Revision)
	}
	if b.Generation > 0 {
		gen := fmt.Sprintf("%d", b.Generation)
		if b.Candidate > b.Generation {
			gen += fmt.Sprintf(", %d waits for an idle boundary", b.Candidate)
		}
		p.field("generation", gen+" "+b.Digest)
		p.field("offers", fmt.Sprintf("%d tools, %d prompts, %d resources, %d templates", b.Tools, b.Prompts, b.Resources, b.Templates))
		p.field("costs", costs(b))
	}
	if b.SamplingTokens > 0 {
		p.field("sampling", status.Tokens(b.SamplingTokens)+" tokens used by its requests for the model")
	}
	p.field("pin", strings.TrimSpace(b.Trust+" "+b.Pin))
	if b.PID > 0 {
		p.field("process", fmt.Sprint(b.PID))
	}
	if b.Inflight > 0 {
		p.field("in flight", fmt.Sprint(b.Inflight))
	}
	p.list(fmt.Sprintf("WATCHED RESOURCES (%d)", len(b.Subscriptions)), b.Subscriptions, "◉ ")
	p.list("WARNINGS", b.Warnings, theme.SymbolWarn+" ")
	p.list("TOLERATED", b.Tolerances, "· ")
	p.list("WITHHELD FROM ITS ENVIRONMENT", b.WithheldEnv, "· ")
	p.history(b.History)
	p.stderr(b.Stderr)
	return p.out
}

// reason is why a binding is where it is: what the code says, and the sentence.
func reason(b integration.Binding) string {
	switch {
	case b.Reason == "":
		return b.Code
	case b.Code == "" || b.Code == b.Class:
		return b.Reason
	}
	return b.Code + ": " + b.Reason
}

func scope(b integration.Binding) string {
	s := b.Scope
	if b.Loop != "" {
		s += " " + b.Loop
	}
	if b.Required {
		s += ", required"
	} else {
		s += ", optional"
	}
	if !b.Enabled {
		s += ", disabled"
	}
	return s
}

type printer struct {
	th  *theme.Theme
	w   int
	out []string
}

func (p *printer) line(s string) { p.out = append(p.out, cells.Cut(s, p.w)) }

// field is a label and a value that wraps; an empty value is left out.
func (p *printer) field(label, value string) {
	value = string(safetext.ToLine(value))
	if strings.TrimSpace(value) == "" {
		return
	}
	for i, l := range cells.Wrap(value, max(p.w-labelWidth-1, 1)) {
		name := ""
		if i == 0 {
			name = label
		}
		p.line(p.th.Muted.Render(cells.Fit(name, min(labelWidth, p.w/2))) + " " + l)
	}
}

func (p *printer) heading(s string) {
	p.line("")
	p.line(p.th.Heading.Render(s))
}

func (p *printer) list(title string, items []string, mark string) {
	if len(items) == 0 {
		return
	}
	p.heading(title)
	for _, s := range items {
		for _, l := range cells.Wrap(mark+string(safetext.ToLine(s)), max(p.w, 1)) {
			p.line(l)
		}
	}
}

// history is newest first.
func (p *printer) history(h []integration.History) {
	if len(h) == 0 {
		return
	}
	p.heading("HISTORY")
	for i := len(h) - 1; i >= 0; i-- {
		p.line(p.th.Muted.Render(h[i].Time.Format("15:04:05")) + "  " + string(safetext.ToLine(h[i].Code)) + "  " + string(safetext.ToLine(h[i].Text)))
	}
}

// stderr is the end of what the server wrote, in the gutter of foreign text.
func (p *printer) stderr(lines []string) {
	if len(lines) == 0 {
		return
	}
	shown := lines[max(len(lines)-stderrLines, 0):]
	p.heading(fmt.Sprintf("STDERR (last %d of %d)", len(shown), len(lines)))
	for _, l := range shown {
		p.line(p.th.Gutter.Render("│") + " " + string(safetext.ToLine(l)))
	}
}

// due says when the next attempt is made.
func due(at, now time.Time) string {
	left := at.Sub(now)
	if left <= 0 {
		return "now"
	}
	return fmt.Sprintf("in %d s, at %s", int((left+time.Second-1)/time.Second), at.In(now.Location()).Format("15:04:05"))
}

// kindWord is a kind of transport for people.
func kindWord(kind string) string {
	switch kind {
	case "http":
		return "http (streamable)"
	case "sse":
		return "sse (HTTP with server-sent events)"
	}
	return kind
}

// costs is what a binding's tools take of a model's context.
func costs(b integration.Binding) string {
	s := status.Tokens(b.Tokens) + " tokens of context"
	if b.Deferred > 0 {
		s += fmt.Sprintf("; %d of %d tools deferred: a model searches for them", b.Deferred, b.Tools)
	}
	return s
}
