package session

import (
	"context"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/journal"
)

// Past is what can be told of a session without opening it.
type Past struct {
	session string
	p       *past
	used    bool
}

// take hands the past over, once: a session changes it.
func (p *Past) take() *past {
	if p.used {
		return nil
	}
	p.used = true
	return p.p
}

// ReadPast reads a session that may be open elsewhere: it takes no lease.
func ReadPast(ctx context.Context, store journal.Store, session string) (*Past, error) {
	p, err := loader{store: store, limits: Limits{}.withDefaults()}.load(ctx, session, 0)
	if err != nil {
		return nil, err
	}
	return &Past{session: session, p: p}, nil
}

// Drift lists what of a configuration is not as the session was left with it,
// as far as somebody has to decide on it.
func (p *Past) Drift(is event.Fingerprint) []event.DriftField { return p.p.drift(is) }

// Switched is the model that an operator gave a loop in the session, "" for none.
func (p *Past) Switched(loop string) string {
	for _, l := range p.p.Loops {
		if l.ID == loop {
			return l.Switched
		}
	}
	return ""
}

// Model is the model that a loop had last, "" for a loop that never was.
func (p *Past) Model(loop string) string {
	for _, l := range p.p.Loops {
		if l.ID == loop {
			return l.Model
		}
	}
	return ""
}

// Mode and Title of the session.
func (p *Past) Mode() string { return p.p.Mode }

// Title of the session.
func (p *Past) Title() string { return p.p.Title }

// Turns that have ended.
func (p *Past) Turns() int { return p.p.Turns }

// Coverage of the session's calls.
func (p *Past) Coverage() event.Coverage { return p.p.Coverage }

// Unfinished are the calls that have an intent and no outcome.
func (p *Past) Unfinished() []string {
	var out []string
	for _, l := range p.p.Loops {
		if l.Turn == nil {
			continue
		}
		for _, c := range l.Turn.Calls {
			if c.Started != nil && c.Outcome == "" {
				out = append(out, c.ID)
			}
		}
	}
	return out
}
