package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/oklog/ulid/v2"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/ledger"
	"github.com/looprig/looprig/harness/tool"
)

// byRestart is who interrupts a turn that a restart cannot go on with, and why
// a loop that nobody configures any more is closed.
const byRestart = "restart"

// Restore opens a session again, in this process, with its whole past: loops and
// their messages, ids, coverage. What was under way is settled in one append,
// before anything else happens:
//
//   - A call with an intent and no outcome is indeterminate. It is never sent
//     again; model and user see that.
//   - A turn that waited for a permission goes on: its gate is open again, and
//     when it is answered the very call that was shown is made. Where the tool,
//     its arguments or the rule is no longer what was shown, it is asked again.
//   - Every other unfinished turn is interrupted, every other gate withdrawn.
//   - Queued inputs are held: they are told of, and run only by RunHeld.
//
// The loops are those of o; one that the session had keeps its history, and
// delegates end. What was granted for the session is granted still. o.ID is not
// used.
//
// It fails with journal.ErrNotFound, journal.ErrLeased while another process
// has the session, a *ConfigMismatchError when the decision of o.Drift was
// against it, or a *journal.CorruptError.
func Restore(ctx context.Context, o Options, id string) (_ *Session, err error) {
	if o.Store == nil {
		return nil, errors.New("a session needs a store")
	}
	if _, err := ulid.ParseStrict(id); err != nil {
		return nil, fmt.Errorf("session id: %w", err)
	}
	if o.Clock == nil {
		o.Clock = gate.SystemClock{}
	}
	if o.Holder == "" {
		o.Holder = "session " + id
	}
	o.ID, o.Limits = id, o.Limits.withDefaults()
	lease, err := o.Store.Acquire(ctx, id, o.Holder, o.Limits.LeaseTTL)
	if err != nil {
		return nil, fmt.Errorf("restore session: %w", err)
	}
	s := &Session{o: o, closed: make(chan struct{}), watch: watchers{all: map[*watcher]struct{}{}}}
	s.ended, s.finish = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			s.finish()
			err = errors.Join(err, o.Store.Release(context.WithoutCancel(ctx), lease))
		}
	}()
	ld := loader{store: o.Store, limits: o.Limits}
	if o.Past != nil && o.Past.session == id {
		ld.known = o.Past.take()
	}
	p, err := ld.load(ctx, id, 0)
	if err != nil {
		return nil, err
	}
	s.o.Title = p.Title
	if err := s.restore(ctx, p, lease); err != nil {
		return nil, err
	}
	return s, nil
}

// restore makes the session out of its past.
func (s *Session) restore(ctx context.Context, p *past, lease journal.Lease) error {
	r := &recovery{s: s, p: p}
	mismatch := r.compare(ctx)
	s.first = p.Seq + 1
	s.hub = newHubAfter(p.Seq, s.o.ID, s.o, lease, s.guarded)
	s.gates = s.newGates()
	if mismatch != nil {
		defer s.hub.stop()
		return errors.Join(mismatch, s.hub.append(r.drafts, r.refused()...))
	}
	loops, err := r.plan()
	if err == nil {
		err = s.hub.append(r.drafts, r.events...)
	}
	if err != nil {
		s.hub.stop()
		return err
	}
	s.turns.Store(p.TurnID)
	s.inputs.Store(p.InputID)
	s.calls.Store(p.CallID)
	s.delegated.Store(p.Delegated)
	s.gates.Resume(p.GateID)
	for _, g := range p.Grants {
		_, _ = s.grants.Add(g) // a session's own grants fit into it
	}
	s.count.c = p.Coverage
	s.used.by = p.Usage
	s.held.all = r.held
	s.loops = loops
	s.spawn(s.keepSnapshots)
	return r.start()
}

// recovery settles what was under way when a session's last process ended.
type recovery struct {
	s *Session
	p *past

	drift     []event.Event // the decision, where there was one
	events    []event.Event
	drafts    []ledger.Draft
	unknown   []string // calls that are indeterminate
	withdrawn int
	reinstall []gate.Envelope
	turns     []*restoredTurn
	held      []HeldInput
}

// compare has somebody decide on a configuration that is another.
func (r *recovery) compare(ctx context.Context) error {
	fields := r.p.drift(r.s.o.Fingerprint)
	if len(fields) == 0 {
		return nil
	}
	mismatch := &ConfigMismatchError{Session: r.s.o.ID, Fields: fields}
	accepted, by := false, "default"
	if r.s.o.Drift != nil {
		accepted, by = r.s.o.Drift(ctx, mismatch)
	}
	e := &event.ConfigDrift{Fields: fields, Decision: "refused", By: by}
	d := ledger.Draft{Kind: ledger.KindDecision, Session: r.s.o.ID, Rule: "config.drift", Verdict: "deny", Answerer: by, Detail: "drift_refused"}
	if accepted {
		e.Decision, d.Verdict, d.Detail = "accepted", "allow", "drift_accepted"
	}
	r.drift, r.drafts = []event.Event{e}, []ledger.Draft{d}
	if accepted {
		return nil
	}
	return mismatch
}

// refused is all that a refusal leaves: a session that was closed stays closed.
func (r *recovery) refused() []event.Event {
	if !r.p.Closed {
		return r.drift
	}
	return append(r.drift, &event.SessionClosed{ExitCode: 2, Reason: "config_drift", Coverage: r.p.Coverage})
}

// plan finds what has to be recorded, and makes the loops.
func (r *recovery) plan() ([]*loop, error) {
	o, p := r.s.o, r.p
	restored := &event.SessionRestored{App: o.App, Mode: o.Mode, Unfinished: !p.Closed, Fingerprint: o.Fingerprint, Turns: p.Turns}
	r.add(restored)
	r.add(r.drift...)
	for _, l := range p.Loops {
		r.settleTurn(l)
	}
	for _, env := range slices.Clone(p.Open) {
		if !slices.ContainsFunc(r.reinstall, func(g gate.Envelope) bool { return g.ID == env.ID }) {
			r.withdraw(env)
		}
	}
	for _, l := range p.Loops {
		if l.Turn != nil && !r.goesOn(l) {
			r.add(&event.TurnInterrupted{Header: event.Header{Loop: l.ID, Turn: l.Turn.ID}, By: byRestart})
		}
		if !l.Closed && !r.configured(l.ID) {
			r.add(&event.LoopClosed{Header: event.Header{Loop: l.ID}, Reason: byRestart})
		}
	}
	loops := make([]*loop, 0, len(o.Loops))
	for _, c := range o.Loops {
		l, err := r.makeLoop(c)
		if err != nil {
			return nil, err
		}
		restored.Messages += len(l.history)
		loops = append(loops, l)
	}
	restored.Indeterminate, restored.Withdrawn, restored.Reinstalled = r.unknown, r.withdrawn, len(r.reinstall)
	for _, h := range r.held {
		restored.Held = append(restored.Held, h.Input)
	}
	return loops, nil
}

// add records events and lets the past know of them, so that it stays what the
// records amount to.
func (r *recovery) add(events ...event.Event) {
	for _, e := range events {
		r.events = append(r.events, e)
		_ = r.p.apply(e) // fails for stored bodies alone, and these have none
	}
}

func (r *recovery) configured(loop string) bool {
	return slices.ContainsFunc(r.s.o.Loops, func(c LoopConfig) bool { return c.Name == loop })
}

func (r *recovery) goesOn(l *pastLoop) bool {
	return slices.ContainsFunc(r.turns, func(t *restoredTurn) bool { return t.past == l.Turn })
}

// settleTurn gives the calls of an unfinished turn their outcomes, but for those
// that the turn goes on with.
func (r *recovery) settleTurn(l *pastLoop) {
	t := l.Turn
	if t == nil {
		return
	}
	gates := r.permissions(l)
	if len(gates) > 0 {
		r.turns = append(r.turns, &restoredTurn{loop: l.ID, past: t, gates: gates, toolset: make(chan struct{}, 1)})
		r.reinstall = append(r.reinstall, gates...)
	}
	for _, c := range t.Calls {
		if c.Outcome == "" && (c.Started != nil || len(gates) == 0) {
			r.settleCall(l, c)
		}
	}
}

// permissions are the gates by which a loop's turn can go on.
func (r *recovery) permissions(l *pastLoop) []gate.Envelope {
	if !r.configured(l.ID) || l.Parent != "" {
		return nil
	}
	var out []gate.Envelope
	for _, env := range r.p.Open {
		if env.Kind != gate.KindPermission || !env.Restorable || env.Subject.Loop != l.ID || env.Subject.Turn != l.Turn.ID || len(env.Prompt.Calls) == 0 {
			continue
		}
		waiting := true
		for _, asked := range env.Prompt.Calls {
			c := l.Turn.call(asked.Call)
			waiting = waiting && c != nil && c.Started == nil && c.Outcome == ""
		}
		if waiting {
			out = append(out, env)
		}
	}
	return out
}

// fromBefore is the outcome of a call that a restart found without one.
func fromBefore(c *pastCall) tool.Result {
	if c.Started != nil && identityOf(c.Tool) == builtin(ToolAskUser) {
		// It went no further than the screen.
		return tool.Result{Outcome: tool.Cancelled, Class: byRestart, Reason: "the process ended before the question was answered"}
	}
	if c.Started != nil {
		return tool.Result{
			Outcome: tool.Indeterminate, Sent: true, Class: byRestart,
			Reason: "the process ended after the call was sent: whether it had an effect is not known, and it is not sent again",
		}
	}
	return tool.Result{Outcome: tool.Cancelled, Class: byRestart, Reason: "the process ended before anything was sent"}
}

func (r *recovery) settleCall(l *pastLoop, c *pastCall) {
	res := fromBefore(c)
	e := &event.ToolCompleted{
		Header: event.Header{Loop: l.ID, Turn: l.Turn.ID}, Step: c.Step, Call: c.ID, Tool: c.Tool, ModelName: c.ModelName,
		Outcome: res.Outcome, Reason: res.Reason, Class: res.Class, Sent: res.Sent, Content: []content.Block{},
	}
	d := ledger.Draft{
		Kind: ledger.KindOutcome, Session: r.s.o.ID, Loop: l.ID, Turn: l.Turn.ID, Call: c.ID, Source: c.By, Tool: c.Tool,
		Binding: identityOf(c.Tool).Binding, Outcome: string(res.Outcome), Detail: res.Class, ArgsDigest: digest(c.Args),
	}
	var dec event.Decision
	if c.Started != nil {
		dec, d.ArgsDigest = c.Started.Decision, c.Started.ArgsDigest
		if res.Outcome == tool.Indeterminate {
			r.unknown = append(r.unknown, c.ID)
		}
	} else {
		dec, d.Kind = event.Decision{Verdict: "deny", Rule: ruleNone}, ledger.KindDecision
		e.Decision = &dec
	}
	d.Rule, d.Considered, d.Verdict, d.Gate, d.ToolDigest = dec.Rule, dec.Considered, dec.Verdict, dec.Gate, dec.ToolDigest
	if a := dec.Answerer; a != nil {
		d.Answerer, d.AnswererKind = a.ID, string(a.Kind)
	}
	r.drafts = append(r.drafts, d)
	r.add(e)
}

func (r *recovery) withdraw(env gate.Envelope) {
	r.withdrawn++
	r.add(&event.GateResolved{
		Header: about(env.Subject), Gate: env.ID, Kind: env.Kind, Subject: env.Subject, Reason: gate.ReasonWithdrawn,
		Response: gate.Unanswered(env.Kind, gate.ReasonWithdrawn, ""),
	})
}

// makeLoop makes a configured loop with what the session has of it.
func (r *recovery) makeLoop(c LoopConfig) (*loop, error) {
	if c.Name == "" || c.Model == nil {
		return nil, errors.New("a loop needs a name and a model")
	}
	l, err := makeLoop(r.s, c)
	if err != nil {
		return nil, err
	}
	was := r.p.loop(l.id)
	l.history, l.before, l.looking = slices.Clone(was.History), was.Sets, slices.Clone(was.Looked)
	for _, in := range was.Queue {
		r.held = append(r.held, HeldInput{Loop: l.id, Input: in.ID, Text: in.Text, Call: in.Call})
	}
	opened := l.opened()
	for _, t := range r.turns {
		if t.loop == l.id {
			l.take(t)
			opened = slices.DeleteFunc(opened, func(e event.Event) bool { return event.TypeOf(e) == event.TypeLoopIdle })
		}
	}
	l.publish()
	r.add(opened...)
	return l, nil
}

// start lets loops and turns go on. It comes after everything is on record.
func (r *recovery) start() error {
	var errs []error
	for _, env := range r.reinstall {
		errs = append(errs, r.s.gates.Reinstall(env))
	}
	for _, l := range r.s.loops {
		running := l.running
		r.s.spawn(l.run)
		l.notify(ChangeOpened)
		if running == nil {
			l.notify(ChangeIdle)
			continue
		}
		l.notify(ChangeRunning)
		r.s.spawn(func() {
			defer func() { l.ended <- running }()
			running.run()
		})
	}
	return errors.Join(errs...)
}

// FirstSeq is the sequence number of the session's first record in this process:
// 1, or that of session.restored.
func (s *Session) FirstSeq() uint64 { return s.first }
