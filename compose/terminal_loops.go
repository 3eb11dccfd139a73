package compose

import (
	"sync"

	"github.com/looprig/looprig/harness/session"
	"github.com/looprig/looprig/tui"
)

// speaking is the loop that a person speaks to, "" for the default one.
type speaking struct {
	mu   sync.Mutex
	loop string
}

func (s *speaking) get() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loop
}

func (s *speaking) set(loop string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loop = loop
}

var _ tui.Loops = terminalSession{}

// loop is the loop that the person speaks to.
func (t terminalSession) loop() session.LoopInfo {
	loops := t.app.Session.Loops()
	name := t.app.speaking.get()
	for _, l := range loops {
		if l.ID == name {
			return l
		}
	}
	if len(loops) > 0 {
		return loops[0]
	}
	return session.LoopInfo{}
}

// Loops implements tui.Loops.
func (t terminalSession) Loops() []tui.Loop {
	now := t.loop().ID
	var out []tui.Loop
	for _, l := range t.app.Session.Loops() {
		if l.Parent == "" {
			out = append(out, tui.Loop{Name: l.Name, Model: l.ModelDisplay, Running: l.State == session.LoopRunning, Current: l.ID == now})
		}
	}
	return out
}

// Speak implements tui.Loops.
func (t terminalSession) Speak(name string) error {
	for _, l := range t.app.Session.Loops() {
		if l.Parent == "" && l.Name == name {
			t.app.speaking.set(l.ID)
			return nil
		}
	}
	return &session.NoLoopError{Loop: name}
}
