package session

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/looprig/looprig/harness/gate"
)

// maxInputBytes bounds one input's text or arguments.
const maxInputBytes = 8 << 20

// Submit gives an input to the first loop.
func (s *Session) Submit(ctx context.Context, in Input) (Ticket, error) {
	return s.SubmitTo(ctx, "", in)
}

// SubmitTo gives an input to a loop, by id or name. While a turn runs there the
// input is queued. It fails with a *NoLoopError, a *LimitError when the queue
// is full, a *tool.UnknownToolError for a call that names no tool, an
// *ArgsError, a *JournalError, ErrNoOrigin, ErrEmptyInput or ErrClosed.
func (s *Session) SubmitTo(ctx context.Context, loop string, in Input) (Ticket, error) {
	return s.submit(ctx, loop, "", in)
}

// submit is SubmitTo for an input that may have its id already.
func (s *Session) submit(ctx context.Context, loop, id string, in Input) (Ticket, error) {
	l, err := s.find(loop)
	if err != nil {
		return Ticket{}, err
	}
	if l.from != nil {
		return Ticket{}, ErrDelegate
	}
	if err := checkInput(&in); err != nil {
		return Ticket{}, err
	}
	if err := s.Err(); err != nil {
		return Ticket{}, err
	}
	if id == "" {
		id = nextID("i", &s.inputs)
	}
	x := &input{id: id, in: in, fut: &future{done: make(chan struct{})}}
	var t Ticket
	var taken error
	err = l.do(ctx, func() {
		if in.Call != nil {
			def, err := l.tools.resolve(in.Call.Tool)
			if err != nil {
				taken = err
				return
			}
			x.call = &operatorCall{def: def, args: in.Call.Args}
		}
		t, taken = l.accept(x)
	})
	if err != nil {
		return Ticket{}, err
	}
	return t, taken
}

// checkInput refuses what no loop can take, and fills in empty arguments.
func checkInput(in *Input) error {
	// A policy is no origin: it answers gates, it wants nothing.
	if !in.Origin.Operator() || in.Origin.Kind == gate.AnswererPolicy {
		return ErrNoOrigin
	}
	if in.Call == nil {
		if in.Text == "" {
			return ErrEmptyInput
		}
		if len(in.Text) > maxInputBytes {
			return &LimitError{What: "bytes of input", Limit: maxInputBytes}
		}
		return nil
	}
	c := *in.Call
	if c.Tool == "" {
		return ErrEmptyInput
	}
	if len(c.Args) > maxInputBytes {
		return &LimitError{What: "bytes of arguments", Limit: maxInputBytes}
	}
	args := bytes.TrimSpace(c.Args)
	if len(args) == 0 {
		args = []byte("{}")
	}
	if !json.Valid(args) {
		return &ArgsError{Reason: "not JSON"}
	}
	if args[0] != '{' {
		return &ArgsError{Reason: "not a JSON object"}
	}
	c.Args = bytes.Clone(args)
	in.Call = &c
	return nil
}

// AwaitTurn waits for the turn of an input to end. It fails with ctx's error,
// and with ErrClosed when the session closed before the turn began.
func (s *Session) AwaitTurn(ctx context.Context, t Ticket) (TurnResult, error) {
	if t.fut == nil {
		return TurnResult{}, ErrEmptyInput
	}
	select {
	case <-t.fut.done:
		return t.fut.result, t.fut.err
	default:
	}
	select {
	case <-t.fut.done:
		return t.fut.result, t.fut.err
	case <-ctx.Done():
		return TurnResult{}, ctx.Err()
	}
}
