package tui

import (
	"context"
	"errors"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/tui/catalog"
)

const (
	// suggestPause is how long nothing must have been typed before a server is
	// asked for suggestions.
	suggestPause = 150 * time.Millisecond
	// suggestWait bounds how long a server's suggestions are waited for.
	suggestWait = 10 * time.Second
)

// asked is what suggestions are wanted for: one question at a time, of the form
// on top.
type asked struct {
	n           int
	form        *formDialog
	field, text string
	cancel      context.CancelFunc
}

type (
	// suggestDueMsg says that the pause is over.
	suggestDueMsg struct{ n int }
	// suggestedMsg is what a server suggests.
	suggestedMsg struct {
		n   int
		c   integration.Completion
		err error
	}
)

// suggest asks for suggestions after a pause, when what is being typed has
// changed. A question that is under way for something else is given up.
func (m *model) suggest(d *formDialog) tea.Cmd {
	if m.reader == nil || d.use.want == nil || d.mute || m.top() != dialog(d) {
		return nil
	}
	field, text, ok := d.f.Typing()
	a := &m.asked
	if !ok {
		m.unask()
		return nil
	}
	if a.form == d && a.field == field && a.text == text {
		return nil
	}
	m.unask()
	a.form, a.field, a.text = d, field, text
	n := a.n
	if m.pause <= 0 {
		return func() tea.Msg { return suggestDueMsg{n} }
	}
	return tea.Tick(m.pause, func(time.Time) tea.Msg { return suggestDueMsg{n} })
}

// unask gives a question up.
func (m *model) unask() {
	if m.asked.cancel != nil {
		m.asked.cancel()
	}
	m.asked = asked{n: m.asked.n + 1}
}

func (m *model) suggestDue(msg suggestDueMsg) tea.Cmd {
	a := &m.asked
	if msg.n != a.n || a.form == nil {
		return nil
	}
	w := a.form.use.want
	kind := "prompt"
	if w.item.Kind == catalog.Template {
		kind = "template"
	}
	known := a.form.f.Texts()
	delete(known, a.field)
	req := integration.CompleteRequest{Binding: w.binding, Kind: kind, Name: w.item.Name, Argument: a.field, Value: a.text, Known: known}
	ctx, cancel := context.WithTimeout(m.ctx, suggestWait)
	a.cancel = cancel
	reader := m.reader
	return func() tea.Msg {
		defer cancel()
		c, err := reader.Complete(ctx, req)
		return suggestedMsg{n: msg.n, c: c, err: err}
	}
}

func (m *model) suggested(msg suggestedMsg) {
	a := &m.asked
	if msg.n != a.n || a.form == nil {
		return
	}
	if msg.err != nil {
		// A server that has no completions would refuse every key. Slow is not no.
		a.form.mute = !errors.Is(msg.err, context.DeadlineExceeded) && !errors.Is(msg.err, context.Canceled)
		return
	}
	a.form.f.Suggest(a.field, a.text, msg.c.Values, msg.c.Total)
}

// checkAsked gives up a question whose form is gone.
func (m *model) checkAsked() {
	if m.asked.form != nil && !slices.Contains(m.dialogs, dialog(m.asked.form)) {
		m.unask()
	}
}
