package session

import (
	"context"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/ledger"
)

var _ gate.Opener = (*Session)(nil)

// newGates makes the session's one gate queue; its gates are events.
func (s *Session) newGates() *gate.Host {
	return gate.NewHost(gate.HostOptions{
		Clock: s.o.Clock, MaxOpen: s.o.Limits.OpenGates, Answer: s.o.Answer,
		Opened: func(env gate.Envelope) error {
			return s.hub.emit(nil, &event.GateOpened{Header: about(env.Subject), Envelope: env})
		},
		Resolved: func(r gate.Resolution) error {
			return s.hub.append([]ledger.Draft{s.gateDraft(r)}, &event.GateResolved{
				Header: about(r.Envelope.Subject), Gate: r.Envelope.ID, Kind: r.Envelope.Kind,
				Subject: r.Envelope.Subject, Reason: r.Reason, Detail: r.Response.Detail,
				Response: r.Response, WaitMS: r.Wait.Milliseconds(),
			})
		},
	})
}

func about(s gate.Subject) event.Header { return event.Header{Loop: s.Loop, Turn: s.Turn} }

// RespondGate answers an open gate. The answer is in the journal when it
// returns. It fails with gate.ErrGateClosed, gate.ErrExpired,
// gate.ErrNotOperator or a *gate.InvalidAnswerError.
func (s *Session) RespondGate(_ context.Context, id string, r gate.Response) error {
	return s.gates.Respond(id, r)
}

// Gates lists the open gates, oldest first.
func (s *Session) Gates() []gate.Envelope { return s.gates.Gates() }

// OpenHostGate opens a gate and returns its id.
func (s *Session) OpenHostGate(_ context.Context, r gate.Request) (string, error) {
	env, err := s.gates.Open(r)
	return env.ID, err
}

// AwaitGateAnswer waits for a gate to close, however it does. When ctx ends
// first its error is returned and the gate stays open.
func (s *Session) AwaitGateAnswer(ctx context.Context, id string) (gate.Response, error) {
	return s.gates.Await(ctx, id)
}

// CloseGate closes a gate without an answer.
func (s *Session) CloseGate(_ context.Context, id string, why gate.CloseReason) error {
	return s.gates.Close(id, why, "")
}

// OpenGate implements gate.Opener.
func (s *Session) OpenGate(ctx context.Context, r gate.Request) (gate.Response, error) {
	_, resp, err := s.gates.Ask(ctx, r)
	return resp, err
}
