package session

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/looprig/looprig/harness/gate"
)

// ErrNotHeld says that no input of that id waits to be run or dropped.
var ErrNotHeld = errors.New("no such input is held")

// HeldInput is an input that was queued when the session's last process ended.
// It is not run by itself: what made it sensible may be long gone.
type HeldInput struct {
	Loop  string
	Input string
	Text  string
	// Call says that it is an operator's call: Text is the tool and its arguments.
	Call bool
}

type heldInputs struct {
	mu  sync.Mutex
	all []HeldInput
}

// Held lists the inputs that wait for somebody to run them, oldest first.
func (s *Session) Held() []HeldInput {
	s.held.mu.Lock()
	defer s.held.mu.Unlock()
	return slices.Clone(s.held.all)
}

// RunHeld runs a held input, under its own id, as SubmitTo does.
func (s *Session) RunHeld(ctx context.Context, id string, by gate.Answerer) (Ticket, error) {
	h, err := s.takeHeld(id)
	if err != nil {
		return Ticket{}, err
	}
	in := Input{Text: h.Text, Origin: by}
	if h.Call {
		name, args, _ := strings.Cut(h.Text, " ")
		in = Input{Call: &CallInput{Tool: name, Args: json.RawMessage(args)}, Origin: by}
	}
	t, err := s.submit(ctx, h.Loop, h.Input, in)
	if err != nil {
		s.held.mu.Lock()
		defer s.held.mu.Unlock()
		s.held.all = append(s.held.all, h)
	}
	return t, err
}

func (s *Session) takeHeld(id string) (HeldInput, error) {
	s.held.mu.Lock()
	defer s.held.mu.Unlock()
	i := slices.IndexFunc(s.held.all, func(h HeldInput) bool { return h.Input == id })
	if i < 0 {
		return HeldInput{}, ErrNotHeld
	}
	h := s.held.all[i]
	s.held.all = slices.Delete(s.held.all, i, i+1)
	return h, nil
}
