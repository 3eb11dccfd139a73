package tui

import (
	"strings"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/list"
)

// Loop is one loop that a person may speak to.
type Loop struct {
	Name string
	// Model is what to call its model. Host-written.
	Model   string
	Running bool
	// Current is the loop that input goes to.
	Current bool
}

// Loops are the loops of the session that take input. The methods answer from
// memory and never block.
type Loops interface {
	// Loops lists them, the default one first. Delegates are not among them.
	Loops() []Loop
	// Speak has input, calls and interruptions go to another loop from now on.
	Speak(name string) error
}

// loopName is the loop that input goes to, "" where there is only one.
func (m *model) loopName() string {
	if m.o.Loops == nil {
		return ""
	}
	all := m.o.Loops.Loops()
	if len(all) < 2 {
		return ""
	}
	for _, l := range all {
		if l.Current {
			return string(safetext.Ident(l.Name))
		}
	}
	return ""
}

// loopCommand is "/loop [NAME]".
func (m *model) loopCommand(name string) {
	if m.o.Loops == nil {
		m.say("the session has one loop")
		return
	}
	m.cp.Take()
	if name != "" {
		m.speakTo(name)
		return
	}
	var entries []list.Entry
	for _, l := range m.o.Loops.Loops() {
		e := list.Entry{ID: l.Name, Label: string(safetext.Ident(l.Name)), Note: string(safetext.ToLineN(l.Model, 64))}
		if l.Running {
			e.Note += " · running"
		}
		if l.Current {
			e.Label += " (now)"
		}
		entries = append(entries, e)
	}
	m.push(&pickDialog{kind: pickLoop, p: list.NewPicker("loops", entries), keys: m.keys, th: m.th})
}

func (m *model) speakTo(name string) {
	if err := m.o.Loops.Speak(name); err != nil {
		var names []string
		for _, l := range m.o.Loops.Loops() {
			names = append(names, string(safetext.Ident(l.Name)))
		}
		m.say("no loop is called " + string(safetext.Ident(name)) + "; there are " + strings.Join(names, ", "))
		return
	}
	m.say("you speak to " + string(safetext.Ident(name)) + " now")
}

// given shows the text that a turn began with: what a person said, or the task
// that another loop's model gave.
func (m *model) given(e *event.TurnStarted) {
	if e.Origin == originModel {
		m.tr.Task(e.Time, e.Loop, turnKey(&e.Header), e.Text)
		return
	}
	m.tr.Asked(e.Time, e.Loop, turnKey(&e.Header), e.Text)
}

// originModel is the origin of a delegate's turn.
const originModel = "model"

// oldestTurn is the running turn that began first: where a delegate works, that
// of the loop which it works for.
func (m *model) oldestTurn() (oldest turn, running bool) {
	for _, t := range m.turns {
		if !running || t.started.Before(oldest.started) {
			oldest, running = t, true
		}
	}
	return oldest, running
}
