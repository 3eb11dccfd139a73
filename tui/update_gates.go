package tui

import (
	"errors"
	"slices"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/formview"
	"github.com/looprig/looprig/tui/gates"
)

// gateDoneMsg is what came of an answer.
type gateDoneMsg struct {
	id   string
	err  error
	said string
}

func (m *model) gateOpened(e gate.Envelope) {
	for _, g := range m.gates {
		if g.ID == e.ID {
			return
		}
	}
	if m.answered[e.ID] {
		return
	}
	m.gates = append(m.gates, e)
	m.gated(e, true)
}

// gated marks the calls that wait for a gate.
func (m *model) gated(e gate.Envelope, waits bool) {
	for _, c := range e.Prompt.Calls {
		m.tr.Gated(c.Call, waits)
	}
	if e.Subject.Call != "" {
		m.tr.Gated(e.Subject.Call, waits)
	}
}

func (m *model) gateResolved(e *event.GateResolved) {
	mine := m.answered[e.Gate]
	delete(m.answered, e.Gate)
	m.dropGate(e.Gate)
	d := m.gateDialog(e.Gate)
	if d == nil {
		return
	}
	if mine {
		m.remove(d)
		return
	}
	d.g.Close(closeText(e), m.now)
}

// closeText says why a gate is gone.
func closeText(e *event.GateResolved) string {
	s := "This question was answered elsewhere."
	switch e.Reason {
	case gate.ReasonTimedOut:
		s = "This question timed out."
	case gate.ReasonWithdrawn:
		s = "This question was withdrawn by whoever asked it."
	case gate.ReasonSessionClosed:
		s = "The session closed."
	case gate.ReasonPolicy:
		s = "Policy settled this question."
	default:
	}
	if e.Detail != "" {
		s += " " + string(safetext.ToLine(e.Detail))
	}
	return s
}

func (m *model) dropGate(id string) {
	delete(m.minimised, id)
	delete(m.aside, id)
	for i, g := range m.gates {
		if g.ID == id {
			m.gated(g, false)
			m.gates = append(m.gates[:i:i], m.gates[i+1:]...)
			return
		}
	}
}

func (m *model) gateDialog(id string) *gateDialog {
	for _, d := range m.dialogs {
		if g, ok := d.(*gateDialog); ok && g.g.ID() == id {
			return g
		}
	}
	return nil
}

// topGate is the gate on top of the stack, or nil.
func (m *model) topGate() *gates.Gate {
	if d, ok := m.top().(*gateDialog); ok {
		return d.g
	}
	return nil
}

// settle brings the screen in line with the queue: a gate that closed leaves
// once the keyboard is quiet, and the oldest gate that was not put aside opens
// when nothing else is open.
func (m *model) settle() {
	if g := m.topGate(); g != nil && g.Expired(m.now) {
		m.pop()
	}
	m.waits = false
	if m.top() != nil || m.leader {
		return
	}
	for _, e := range m.gates {
		if m.minimised[e.ID] == 0 {
			if m.waits = m.typing(e); !m.waits {
				m.openGate(e, false)
			}
			return
		}
	}
}

// typing reports that somebody is in the middle of writing, so that a gate which
// opened now would swallow the rest of a word. It does not put a gate off for
// long: it absorbs what is typed on.
func (m *model) typing(e gate.Envelope) bool {
	return m.now.Sub(m.typedAt) < quietTime && m.now.Sub(e.OpenedAt) < postponed
}

// putAside puts a gate into the queue; what is written in a form stays there.
func (m *model) putAside(d *gateDialog) {
	m.lastAside++
	m.minimised[d.g.ID()] = m.lastAside
	if d.g.Form() {
		m.aside[d.g.ID()] = d
	}
}

func (m *model) openGate(e gate.Envelope, asked bool) {
	if d := m.aside[e.ID]; d != nil {
		delete(m.aside, e.ID)
		d.setTheme(m.th)
		m.push(d)
		return
	}
	for _, live := range m.o.Session.Gates() {
		if live.ID == e.ID {
			e = live // with its private part, which no record holds
		}
	}
	if m.quitKey == quitEmpty {
		m.toast = toast{} // the key means something else in a gate
	}
	remote := m.o.Opener != nil && m.o.Opener.Remote()
	m.push(&gateDialog{gates.New(gates.Options{Envelope: e, Keys: m.keys, Theme: m.th, Now: m.now, Asked: asked, Remote: remote})})
}

// openOldestGate opens the gate that was put aside the longest ago, so that each
// of several is reached without answering another one.
func (m *model) openOldestGate() {
	if len(m.gates) == 0 {
		m.say("no gate is open")
		return
	}
	e := slices.MinFunc(m.gates, func(a, b gate.Envelope) int { return m.minimised[a.ID] - m.minimised[b.ID] })
	delete(m.minimised, e.ID)
	m.openGate(e, true)
}

// position is a gate's place among the open ones.
func (m *model) position(id string) int {
	for i, g := range m.gates {
		if g.ID == id {
			return i + 1
		}
	}
	return 1
}

// act does what a dialog asked for.
func (m *model) act(d dialog, a action) tea.Cmd {
	switch a := a.(type) {
	case actClose:
		m.remove(d)
	case actGate:
		return m.actGate(d.(*gateDialog), a.a)
	case actPick:
		m.remove(d)
		return m.picked(d.(*pickDialog).kind, a.entry)
	case actForm:
		return m.actForm(d.(*formDialog), a.outcome)
	case actChange:
		return m.actChange(d.(*changeDialog), a.c)
	case actInsert:
		m.remove(d)
		m.insert(a.item)
	case actCopy:
		return m.copy(a.text)
	case actRevoke:
		return m.revokeGrant(a.id)
	case actNext:
		m.goOnWith(a.next)
	case actDeleteSession:
		return m.deleteSession(d.(*sessionsDialog), a.id)
	}
	return nil
}

func (m *model) actGate(d *gateDialog, a gates.Action) tea.Cmd {
	switch a.Do {
	case gates.Minimise:
		m.putAside(d)
		m.remove(d)
	case gates.Dismiss:
		m.remove(d)
	case gates.Answer:
		d.g.Sent()
		return m.respond(d.g.ID(), a.Response, nil)
	case gates.OpenURL:
		d.g.Sent()
		return m.respond(d.g.ID(), a.Response, func() (string, error) {
			if m.o.Opener == nil {
				return "", errNoOpener
			}
			return "opened in the browser", m.o.Opener.Open(a.URL)
		})
	case gates.CopyURL:
		d.g.Sent()
		return tea.Batch(m.copy(a.URL), m.respond(d.g.ID(), a.Response, nil))
	default:
	}
	return nil
}

var errNoOpener = errors.New("no browser can be opened here; copy the address instead")

// respond answers a gate in a command, after first has succeeded.
func (m *model) respond(id string, r gate.Response, first func() (string, error)) tea.Cmd {
	r.Answerer = gate.Answerer{Kind: gate.AnswererPerson, ID: m.o.Operator}
	s, ctx := m.o.Session, m.ctx
	m.answered[id] = true
	return func() tea.Msg {
		said := ""
		if first != nil {
			var err error
			if said, err = first(); err != nil {
				return gateDoneMsg{id: id, err: err}
			}
		}
		return gateDoneMsg{id: id, err: s.RespondGate(ctx, id, r), said: said}
	}
}

func (m *model) gateDone(msg gateDoneMsg) {
	d := m.gateDialog(msg.id)
	switch {
	case msg.err == nil:
		if d != nil {
			m.remove(d)
		}
		m.dropGate(msg.id)
		if msg.said != "" {
			m.say(msg.said)
		}
	case errors.Is(msg.err, gate.ErrGateClosed):
		delete(m.answered, msg.id)
		m.dropGate(msg.id)
		why := "The question was closed before the answer arrived."
		if errors.Is(msg.err, gate.ErrExpired) {
			why = "The question has expired."
		}
		if d != nil {
			d.g.Close(why, m.now)
		} else {
			m.say(why)
		}
	default:
		delete(m.answered, msg.id)
		if d != nil {
			d.g.Failed(msg.err)
		} else {
			m.say("the answer was not taken: " + msg.err.Error())
		}
	}
}

// actForm handles the end of a form that is no gate.
func (m *model) actForm(d *formDialog, out formview.Outcome) tea.Cmd {
	if out != formview.Submitted {
		m.remove(d)
		return nil
	}
	if d.use.want != nil {
		return m.fetchForm(d)
	}
	if d.use.tool != nil {
		m.remove(d)
		return m.sendCall(d.use.tool.Name, d.f.Object())
	}
	return m.confirmForm(d)
}
