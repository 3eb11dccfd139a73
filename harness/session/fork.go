package session

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/internal/safetext"
)

// NoTurnError says that a session cannot be forked at a turn: it has none of
// that id that has ended, or none at all.
type NoTurnError struct{ Session, Turn string }

func (e *NoTurnError) Error() string {
	if e.Turn == "" {
		return "session " + e.Session + " has no turn that has ended, so there is nothing to fork"
	}
	return "session " + e.Session + " has no turn " + safetext.Ident(e.Turn).String() + " that has ended"
}

// ForkOptions say what is forked. Store and Parent are needed.
type ForkOptions struct {
	Store  journal.Store
	Parent string
	// Turn is the last turn that the fork has, "" the last that has ended.
	Turn string
	// App, Mode, Title and StoreName are as in Options; an empty Mode or Title is
	// the parent's.
	App, Mode, Title, StoreName string
	Holder                      string
	// Open leaves out session.closed: Restore follows at once.
	Open  bool
	Clock Clock
}

// Fork makes a session whose history begins with the parent's up to the end of a
// turn, and returns its id; Restore opens it. The parent is only read: it may be
// open elsewhere. It fails with journal.ErrNotFound or a *NoTurnError.
func Fork(ctx context.Context, o ForkOptions) (string, error) {
	if o.Clock == nil {
		o.Clock = gate.SystemClock{}
	}
	parent, seq, err := turnEnd(ctx, o.Store, o.Parent, o.Turn, 0)
	if err != nil {
		return "", err
	}
	limits := Limits{}.withDefaults()
	p, err := loader{store: o.Store, limits: limits}.load(ctx, parent, seq)
	if err != nil {
		return "", err
	}
	now := o.Clock.Now().UTC().Truncate(time.Microsecond)
	id := ulid.MustNew(ulid.Timestamp(now), rand.Reader).String()
	if o.Holder == "" {
		o.Holder = "fork " + id
	}
	started := &event.SessionStarted{
		App: o.App, Mode: orText(o.Mode, p.Mode), Title: orText(o.Title, p.Title), Journal: o.StoreName,
		Parent: parent, ParentSeq: seq, Fingerprint: p.Fingerprint,
	}
	if len(p.Loops) > 0 {
		started.Model = p.Loops[0].Model
	}
	lease, err := o.Store.Create(ctx, journal.Meta{
		Session: id, Created: now, Updated: now, Title: started.Title, Mode: started.Mode, Model: started.Model,
		Parent: parent, ParentSeq: seq,
	}, o.Holder)
	if err != nil {
		return "", fmt.Errorf("fork session: %w", err)
	}
	events := []event.Event{started}
	if !o.Open {
		events = append(events, &event.SessionClosed{Reason: "forked"})
	}
	h := newHub(id, Options{Store: o.Store, Clock: o.Clock, Limits: limits}, lease, func(f func()) { f() })
	err = h.append(nil, events...)
	h.stop()
	return id, errors.Join(err, o.Store.Release(context.WithoutCancel(ctx), lease))
}

func orText(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// turnEnd finds the record that ends a turn: in the session, or in the one that
// it was forked from.
func turnEnd(ctx context.Context, store journal.Store, session, turn string, depth int) (string, uint64, error) {
	if depth > maxForkDepth {
		return "", 0, &LimitError{What: "forks of forks", Limit: maxForkDepth}
	}
	var started *event.SessionStarted
	last := uint64(0)
	for rec, err := range store.Read(ctx, session, 1) {
		if err != nil {
			return "", 0, fmt.Errorf("read the session: %w", err)
		}
		switch event.Type(rec.Type) {
		case event.TypeSessionStarted, event.TypeTurnCompleted, event.TypeTurnFailed, event.TypeTurnInterrupted:
		default:
			continue
		}
		e, err := event.Decode(rec.Line)
		if err != nil {
			return "", 0, &journal.CorruptError{Where: fmt.Sprintf("session %s seq %d", session, rec.Seq), Reason: "no event", Err: err}
		}
		if s, ok := e.(*event.SessionStarted); ok {
			started = s
			continue
		}
		if turn == "" || e.Head().Turn == turn {
			last = rec.Seq
		}
	}
	switch {
	case last != 0:
		return session, last, nil
	case started != nil && started.Parent != "":
		return ancestor(ctx, store, started, turn, depth)
	}
	return "", 0, &NoTurnError{Session: session, Turn: turn}
}

// ancestor looks for the turn among what a fork has of its parent.
func ancestor(ctx context.Context, store journal.Store, started *event.SessionStarted, turn string, depth int) (string, uint64, error) {
	if turn == "" {
		return started.Parent, started.ParentSeq, nil
	}
	parent, seq, err := turnEnd(ctx, store, started.Parent, turn, depth+1)
	if err == nil && parent == started.Parent && seq > started.ParentSeq {
		return "", 0, &NoTurnError{Session: started.Session, Turn: turn}
	}
	return parent, seq, err
}

// Lineage lists a session and those that it was forked from, oldest first, each
// with the last of its records that belongs to the session's history; 0 is all.
func Lineage(ctx context.Context, store journal.Store, session string) ([]Part, error) {
	parts := []Part{{Session: session}}
	for len(parts) <= maxForkDepth {
		var first *event.SessionStarted
		for rec, err := range store.Read(ctx, parts[0].Session, 1) {
			if err != nil {
				return nil, fmt.Errorf("read the session: %w", err)
			}
			if e, err := event.Decode(rec.Line); err == nil {
				first, _ = e.(*event.SessionStarted)
			}
			break
		}
		if first == nil || first.Parent == "" {
			return parts, nil
		}
		parts = append([]Part{{Session: first.Parent, Upto: first.ParentSeq}}, parts...)
	}
	return nil, &LimitError{What: "forks of forks", Limit: maxForkDepth}
}

// Part is some session's share of a history.
type Part struct {
	Session string
	Upto    uint64
}
