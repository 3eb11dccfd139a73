package compose

import (
	"context"
	"errors"
	"fmt"

	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/model/operator"
	"github.com/looprig/looprig/harness/model/scripted"
	"github.com/looprig/looprig/harness/session"
	"github.com/looprig/looprig/internal/safetext"
)

// Resume says which session a run goes on with.
type Resume struct {
	// ID is the session's, or its beginning where that is enough. Newest takes
	// the one that was used last instead.
	ID     string
	Newest bool
	// Fork goes on with a copy, up to the end of Turn, or of the last turn.
	Fork bool
	Turn string
	// AcceptDrift goes on under a configuration that has changed. Decide, when
	// set, asks somebody; without either such a session is refused.
	AcceptDrift bool
	Decide      func(ctx context.Context, e *session.ConfigMismatchError) bool
}

// maxContinued is how many sessions are looked at for the one used last.
const maxContinued = 1000

// FindSession finds the one session whose id begins with prefix.
func FindSession(ctx context.Context, store journal.Store, prefix string) (journal.Meta, error) {
	if prefix == "" {
		return journal.Meta{}, exit.New(exit.Usage, "which session? See looprig sessions list")
	}
	metas, err := store.List(ctx, journal.Query{Prefix: prefix, Limit: 2})
	if err != nil {
		return journal.Meta{}, err
	}
	switch {
	case len(metas) == 0:
		return journal.Meta{}, exit.New(exit.Usage, "no session begins with %q: see looprig sessions list", safetext.ToLine(prefix))
	case len(metas) == 1 || metas[0].Session == prefix:
		return metas[0], nil
	}
	return journal.Meta{}, exit.New(exit.Usage, "more than one session begins with %q: give more of its id", safetext.ToLine(prefix))
}

// newest is the session that was used last: of the same mode, if there is one.
func newest(ctx context.Context, store journal.Store, mode string) (journal.Meta, error) {
	metas, err := store.List(ctx, journal.Query{Limit: maxContinued})
	if err != nil {
		return journal.Meta{}, err
	}
	var best journal.Meta
	fits := func(m journal.Meta) bool { return mode == ModeHeadless || m.Mode == mode }
	for _, m := range metas {
		better := best.Session == "" || (fits(m) && !fits(best)) || (fits(m) == fits(best) && m.Updated.After(best.Updated))
		if better {
			best = m
		}
	}
	if best.Session == "" {
		return best, exit.New(exit.Usage, "there is no session to continue yet")
	}
	return best, nil
}

// findPast reads the session that the run goes on with. It changes nothing.
func (a *App) findPast(ctx context.Context) (err error) {
	r := a.opt.Resume
	if r == nil {
		return nil
	}
	if a.store, err = openStore(ctx, DBPath(a.home)); err != nil {
		return err
	}
	var meta journal.Meta
	if r.Newest {
		meta, err = newest(ctx, a.store, a.opt.Mode)
	} else {
		meta, err = FindSession(ctx, a.store, r.ID)
	}
	if err != nil {
		return a.resumeFault(err)
	}
	if a.past, err = session.ReadPast(ctx, a.store, meta.Session); err != nil {
		return a.resumeFault(err)
	}
	a.resumed = meta.Session
	return nil
}

// pastModel is the model that a resumed session goes on with where nobody names
// one: what an operator had switched to, else its own.
func (a *App) pastModel() (string, error) {
	if a.past == nil || a.opt.Model != "" || a.opt.Scripted != nil || !a.opt.FindModel {
		return "", nil
	}
	main := MainLoop
	if len(a.conf.Loops) > 0 {
		main = a.conf.Loops[0].Name
	}
	if name := a.past.Switched(main); name != "" {
		return name, nil
	}
	if name, _, err := a.models.wanted(""); err != nil || name != "" {
		return "", err
	}
	name := a.past.Model(main)
	if name == scripted.Name || (name == operator.Name && a.opt.Mode == ModeHeadless) {
		return "", nil
	}
	return name, nil
}

// restoreSession opens the session again, or a fork of it.
func (a *App) restoreSession(ctx context.Context, opt session.Options) error {
	r := a.opt.Resume
	decision := &decideDrift{resume: r, by: a.opt.By}
	opt.Drift, opt.Past = decision.decide, a.past
	id := a.resumed
	if r.Fork {
		// A fork that is refused is never made.
		if fields := a.past.Drift(opt.Fingerprint); len(fields) > 0 {
			e := &session.ConfigMismatchError{Session: id, Fields: fields}
			if ok, _ := decision.decide(ctx, e); !ok {
				return driftFault(e)
			}
		}
		var err error
		if id, err = session.Fork(ctx, session.ForkOptions{
			Store: a.store, StoreName: opt.StoreName, Parent: id, Turn: r.Turn, App: opt.App, Mode: opt.Mode, Holder: opt.Holder, Clock: opt.Clock,
			Open: true,
		}); err != nil {
			return a.resumeFault(err)
		}
	}
	var err error
	if a.Session, err = session.Restore(ctx, opt, id); err != nil {
		return a.resumeFault(err)
	}
	if held := a.Session.Held(); len(held) > 0 {
		a.note("", "inputs_held", "warn", fmt.Sprintf("%d inputs were queued when the session ended; they are kept and not run by themselves", len(held)))
	}
	return nil
}

// resumeFault gives a session that cannot be resumed its words and exit code.
func (a *App) resumeFault(err error) error {
	var own *exit.Error
	var mismatch *session.ConfigMismatchError
	var noTurn *session.NoTurnError
	switch {
	case errors.As(err, &own):
		return err
	case errors.As(err, &mismatch):
		return driftFault(mismatch)
	case errors.As(err, &noTurn):
		return exit.New(exit.Usage, "%w", err).WithHint("looprig sessions show lists its turns")
	case errors.Is(err, journal.ErrLeased):
		return exit.New(exit.Usage, "session %s cannot be resumed: %w", a.resumed, err).
			WithHint("end that process, or go on with a copy: looprig --resume %s --fork", a.resumed)
	case errors.Is(err, journal.ErrNotFound):
		return exit.New(exit.Usage, "%w", err).WithHint("looprig sessions list names those that there are")
	}
	return StoreFault(DBPath(a.home), fmt.Errorf("resume the session: %w", err))
}

// Resumed reports whether the run goes on with a session from before.
func (a *App) Resumed() bool { return a.past != nil }

// history is the subscription of a session that may be a fork: what it has of
// the sessions before it comes first.
type history struct {
	sub   *session.Subscription
	store journal.Store
	parts []session.Part
	queue []event.Record
	from  uint64
}

// historyPage is how many records of a parent are read at a time.
const historyPage = 1000

// transcript follows everything that belongs to the session's history.
func (a *App) transcript(ctx context.Context) (*history, error) {
	sub, err := a.Session.Subscribe(session.Filter{FromSeq: 1, Ephemeral: true})
	if err != nil {
		return nil, err
	}
	h := &history{sub: sub, store: a.store, from: 1}
	if a.Resumed() {
		parts, err := session.Lineage(ctx, a.store, a.Session.ID())
		if err != nil {
			sub.Close()
			return nil, err
		}
		h.parts = parts[:len(parts)-1]
	}
	return h, nil
}

// Next is the next record, as of a Subscription.
func (h *history) Next(ctx context.Context) (event.Record, error) {
	for len(h.queue) == 0 && len(h.parts) > 0 {
		if err := h.page(ctx); err != nil {
			return event.Record{}, err
		}
	}
	if len(h.queue) > 0 {
		rec := h.queue[0]
		h.queue = h.queue[1:]
		return rec, nil
	}
	return h.sub.Next(ctx)
}

// page reads the next records of a parent.
func (h *history) page(ctx context.Context) error {
	part := h.parts[0]
	for rec, err := range h.store.Read(ctx, part.Session, h.from) {
		if err != nil {
			return fmt.Errorf("read the session that this one was forked from: %w", err)
		}
		if rec.Seq > part.Upto || len(h.queue) >= historyPage {
			break
		}
		e, err := event.Decode(rec.Line)
		if err != nil {
			return err
		}
		h.from = rec.Seq + 1
		h.queue = append(h.queue, event.Record{Event: e, Line: rec.Line, Durable: true})
	}
	if len(h.queue) == 0 || h.from > part.Upto {
		h.parts, h.from = h.parts[1:], 1
	}
	return nil
}

func (h *history) Dropped() uint64 { return h.sub.Dropped() }

func (h *history) Close() { h.sub.Close() }
