package session

import (
	"context"
	"errors"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/model"
)

// switching is a model that a loop gets at its next idle boundary.
type switching struct {
	to model.Client
	by string
}

// SetModel gives a loop another model from its next turn on: at once when the
// loop is idle, else when its running turn has ended, before the next input
// begins; a later SetModel then takes the place of an earlier one. It reports
// whether the model waits for that. model.changed tells when. The history stays:
// what a provider attached to it for itself alone is given to no other. Fails
// with a *NoLoopError, a *JournalError, ErrNoOrigin or ErrClosed; the loop then
// keeps the model that it has.
func (s *Session) SetModel(ctx context.Context, loop string, to model.Client, by gate.Answerer) (queued bool, err error) {
	switch {
	case to == nil:
		return false, errors.New("no model is given")
	case !by.Operator() || by.Kind == gate.AnswererPolicy:
		return false, ErrNoOrigin
	}
	l, err := s.find(loop)
	if err != nil {
		return false, err
	}
	if err := s.Err(); err != nil {
		return false, err
	}
	var refused error
	err = l.do(ctx, func() {
		if l.closing != "" {
			refused = ErrClosed
			return
		}
		l.next = &switching{to: to, by: string(by.Kind) + ":" + by.ID}
		if queued = l.running != nil; !queued {
			refused = l.switchModel()
			l.adopt()
		}
	})
	return queued, errors.Join(err, refused)
}

// switchModel gives the loop the model that waits for it, and has the host's own
// tools follow it with the next adoption. It runs at an idle boundary. The record comes first: a switch that is not on record is none.
func (l *loop) switchModel() error {
	n := l.next
	if n == nil {
		return nil
	}
	l.next = nil
	from, to := l.model.Info().Name, n.to.Info().Name
	if err := l.s.hub.append(nil, &event.ModelChanged{Header: l.head(), From: from, To: to, By: n.by}); err != nil {
		return err
	}
	l.model, l.measured, l.told = n.to, measure{}, nil
	l.tools.own(l.builtins(l.config))
	l.publish()
	l.notify(ChangeIdle)
	return nil
}
