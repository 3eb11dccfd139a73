package tui

import (
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/harness/event"
	price "github.com/looprig/looprig/harness/model"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/list"
	"github.com/looprig/looprig/tui/status"
	"github.com/looprig/looprig/tui/transcript"
)

// Context is the model of the main loop and what it is given. Usage and Limits
// answer from memory; the others are called from commands.
type Context interface {
	// Models lists what the session can be given, the unreachable with reasons.
	Models(ctx context.Context) ([]ModelChoice, error)
	// SetModel gives the main loop another model, from its next turn on. queued
	// says that it waits for the running turn to end. A failure says what to do;
	// the model then stays what it is.
	SetModel(ctx context.Context, name string) (display string, queued bool, err error)
	// Compact has older turns summarised. What comes of it arrives as an event.
	Compact(ctx context.Context) error
	// Usage is what the session's models used, by model and currency.
	Usage() []event.ModelUsage
	// Limits are those of the session.
	Limits() ContextLimits
}

// ModelChoice is one model, or an endpoint that has none to offer. Its texts are
// raw.
type ModelChoice struct {
	Name, Note string
	// Disabled says why it cannot be chosen, or "".
	Disabled string
	Current  bool
}

// ContextLimits are what bounds a turn.
type ContextLimits struct {
	Window int // tokens of the model's context, 0 for unknown
	Steps  int
	Calls  int
}

const noContext = "this session's model cannot be changed here"

type (
	modelsMsg struct {
		choices []ModelChoice
		err     error
	}
	modelSetMsg struct {
		name, display string
		queued        bool
		err           error
	}
	compactedMsg struct{ err error }
)

// modelCommand is "/model [NAME]".
func (m *model) modelCommand(name string) tea.Cmd {
	c, ctx := m.o.Context, m.ctx
	if c == nil {
		m.say(noContext)
		return nil
	}
	m.cp.Take()
	if name != "" {
		return m.setModel(name)
	}
	m.say("looking for models …")
	m.listing = true
	return func() tea.Msg {
		choices, err := c.Models(ctx)
		return modelsMsg{choices, err}
	}
}

func (m *model) setModel(name string) tea.Cmd {
	c, ctx := m.o.Context, m.ctx
	m.say("asking " + name + " …")
	return func() tea.Msg {
		display, queued, err := c.SetModel(ctx, name)
		return modelSetMsg{name, display, queued, err}
	}
}

// compactCommand is "/compact".
func (m *model) compactCommand() tea.Cmd {
	c, ctx := m.o.Context, m.ctx
	if c == nil {
		m.say(noContext)
		return nil
	}
	m.cp.Take()
	return func() tea.Msg { return compactedMsg{c.Compact(ctx)} }
}

// contextDone handles the results of these commands.
func (m *model) contextDone(msg tea.Msg) {
	switch msg := msg.(type) {
	case modelsMsg:
		m.modelsListed(msg)
	case modelSetMsg:
		m.toast.text = ""
		switch {
		case msg.err != nil:
			m.tr.Note(m.now, "", transcript.Bad, "the model stays "+m.modelName()+": "+string(safetext.ToLine(msg.err.Error()))+" (/model lists what there is)")
		case msg.queued:
			m.say(string(safetext.ToLine(msg.display)) + " takes over when the running turn has ended")
		}
	case compactedMsg:
		if msg.err != nil {
			m.say("not compacted: " + msg.err.Error())
		}
	}
}

func (m *model) modelName() string { return string(safetext.ToLineN(m.o.Session.Model(), 64)) }

func (m *model) modelsListed(msg modelsMsg) {
	m.toast.text = ""
	if msg.err != nil {
		m.say("models: " + msg.err.Error())
		return
	}
	if !m.listing || m.top() != nil {
		// A list that came late would take what is being typed, enter included.
		m.say("the models are known now: /model shows them")
		return
	}
	var entries, unusable []list.Entry
	for _, c := range msg.choices {
		name := string(safetext.ToLineN(c.Name, 128))
		e := list.Entry{ID: c.Name, Label: name, Note: string(safetext.ToLineN(c.Note, 80)), Disabled: string(safetext.ToLineN(c.Disabled, 160))}
		if c.Current {
			e.Label += " (now)"
		}
		if c.Disabled != "" {
			unusable = append(unusable, e)
		} else {
			entries = append(entries, e)
		}
	}
	m.push(&pickDialog{kind: pickModel, p: list.NewPicker("models", append(entries, unusable...)), keys: m.keys, th: m.th})
}

// contextEvent shows what happened to the model and its context.
func (m *model) contextEvent(e event.Event) {
	switch e := e.(type) {
	case *event.ModelChanged:
		m.tr.Note(e.Time, e.Loop, transcript.Info, fmt.Sprintf("the model is %s from here on; it was %s", safetext.ToLine(e.To), safetext.ToLine(e.From)))
	case *event.HistoryCompacted:
		level, text := transcript.Info, fmt.Sprintf("%s summarised for the model: %s → %s tokens",
			counted(e.Replaced, "older message"), status.Tokens(e.Before), status.Tokens(e.After))
		if e.Summary == "" {
			level = transcript.Warn
			text = fmt.Sprintf("%s left out of what the model is given, without a summary: %s", counted(e.Replaced, "older message"), safetext.ToLine(e.Reason))
		}
		m.tr.Note(e.Time, e.Loop, level, text)
	}
}

// openUsage shows what the session used.
func (m *model) openUsage() {
	if m.o.Context == nil {
		m.say(noContext)
		return
	}
	m.push(&pageDialog{title: "usage", lines: m.usageLines, keys: m.keys, th: m.th})
}

func (m *model) usageLines(w int) []string {
	used, limits := m.o.Context.Usage(), m.o.Context.Limits()
	out := []string{m.th.Heading.Render("Model"), cells.Cut("  "+m.modelName(), w)}
	window := "unknown"
	if limits.Window > 0 {
		window = status.Tokens(limits.Window) + " tokens"
	}
	out = append(out, cells.Cut("  context   "+window, w), cells.Cut(fmt.Sprintf("  a turn    at most %d steps and %d calls (limits in config.yaml)", limits.Steps, limits.Calls), w))
	out = append(out, "", m.th.Heading.Render("Used by this session"))
	if len(used) == 0 {
		return append(out, cells.Cut("  nothing yet, or the model does not say", w))
	}
	for _, u := range used {
		out = append(out,
			cells.Cut("  "+m.th.Bold.Render(string(safetext.ToLineN(u.Model, 64)))+purposeUsed(u), w),
			cells.Cut(fmt.Sprintf("    %s · %s", counted(u.Messages, "message"), tokensUsed(u.Usage)), w),
			cells.Cut("    "+costUsed(u.Usage), w))
	}
	return append(out, "", cells.Cut(m.th.Muted.Render("  "+usageSum(used, 1, "and some without a price")), w))
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// purposeUsed says of what no loop asked for who did.
func purposeUsed(u event.ModelUsage) string {
	if u.Purpose == event.ForServers {
		return " · asked for by servers (sampling)"
	}
	return ""
}

// tokensUsed is a usage's tokens for people.
func tokensUsed(u event.Usage) string {
	parts := []string{fmt.Sprintf("%d tokens in", u.Input)}
	if u.CacheRead > 0 || u.CacheWrite > 0 {
		parts[0] += fmt.Sprintf(" (%d from a cache, %d into one)", u.CacheRead, u.CacheWrite)
	}
	out := fmt.Sprintf("%d out", u.Output)
	if u.Reasoning > 0 {
		out += fmt.Sprintf(" (%d reasoning)", u.Reasoning)
	}
	return strings.Join(append(parts, out), ", ")
}

func costUsed(u event.Usage) string {
	if u.Currency == "" {
		return "no price configured"
	}
	return money(u.CostMicro) + " " + string(safetext.Ident(u.Currency))
}

// money is an amount of millionths; `model` is the root's own name here.
func money(micro int64) string { return price.Micro(micro).String() }

// usageSum is all of it in one line: tokens, then money by currency, in whole
// parts of a step.
func usageSum(used []event.ModelUsage, step int64, rest string) string {
	tokens, unpriced := 0, false
	var order []string
	cost := map[string]int64{}
	for _, u := range used {
		tokens += u.Input + u.Output
		if u.Currency == "" {
			unpriced = true
			continue
		}
		if _, seen := cost[u.Currency]; !seen {
			order = append(order, u.Currency)
		}
		cost[u.Currency] += u.CostMicro
	}
	parts := []string{status.Tokens(tokens) + " tok"}
	for _, c := range order {
		parts = append(parts, money((cost[c]+step/2)/step*step)+" "+string(safetext.Ident(c)))
	}
	if unpriced && len(order) > 0 {
		parts = append(parts, rest)
	}
	return strings.Join(parts, " · ")
}

// headerStep is how exact money is in the header: a ten-thousandth.
const headerStep = 100

// usageLine is what the header says of the session's usage, "" for nothing.
func (m *model) usageLine() string {
	if m.o.Context == nil {
		return ""
	}
	used := m.o.Context.Usage()
	if len(used) == 0 {
		return ""
	}
	return usageSum(used, headerStep, "+")
}
