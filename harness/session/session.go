package session

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/oklog/ulid/v2"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/ledger"
	"github.com/looprig/looprig/harness/policy"
	"github.com/looprig/looprig/harness/tool"
)

// Session coordinates loops, gates, the journal and the ledger. All methods are
// safe for concurrent use.
type Session struct {
	o      Options
	hub    *hub
	gates  *gate.Host
	grants policy.Grants
	watch  watchers
	count  counter
	used   usageBook

	// ended ends when Close has written the last record: what still runs of the
	// session's own goroutines stops then.
	ended  context.Context
	finish context.CancelFunc
	wg     sync.WaitGroup

	turns, inputs, calls atomic.Uint64 // the last id of each
	delegated            atomic.Uint64 // delegates so far

	first uint64 // the first record of this process
	held  heldInputs

	mu      sync.Mutex
	loops   []*loop
	closing bool
	closed  chan struct{} // Close has done its work
}

// Open makes a session: its journal is created and holds session.started and
// loop.started of each loop when Open returns. It fails with a *JournalError, or
// with what the store says.
func Open(ctx context.Context, o Options) (*Session, error) {
	if o.Store == nil {
		return nil, errors.New("a session needs a store")
	}
	if o.Clock == nil {
		o.Clock = gate.SystemClock{}
	}
	if o.ID == "" {
		o.ID = ulid.MustNew(ulid.Timestamp(o.Clock.Now()), rand.Reader).String()
	} else if _, err := ulid.ParseStrict(o.ID); err != nil {
		return nil, fmt.Errorf("session id: %w", err)
	}
	if o.Holder == "" {
		o.Holder = "session " + o.ID
	}
	o.Limits = o.Limits.withDefaults()
	now := o.Clock.Now().UTC()
	lease, err := o.Store.Create(ctx, journal.Meta{
		Session: o.ID, Created: now, Updated: now, Title: o.Title, Mode: o.Mode, Model: firstModel(o.Loops),
	}, o.Holder)
	if err != nil {
		return nil, fmt.Errorf("open session: %w", err)
	}
	s := &Session{o: o, closed: make(chan struct{}), watch: watchers{all: map[*watcher]struct{}{}}}
	s.ended, s.finish = context.WithCancel(context.Background())
	s.first = 1
	s.hub = newHub(o.ID, o, lease, s.guarded)
	s.gates = s.newGates()
	if err := s.begin(ctx); err != nil {
		_ = s.Close(context.WithoutCancel(ctx), CloseInfo{ExitCode: 1, Reason: "error"})
		return nil, err
	}
	s.spawn(s.keepSnapshots)
	return s, nil
}

func firstModel(loops []LoopConfig) string {
	if len(loops) == 0 || loops[0].Model == nil {
		return ""
	}
	return loops[0].Model.Info().Name
}

// begin writes the first records.
func (s *Session) begin(ctx context.Context) error {
	err := s.hub.append(nil, &event.SessionStarted{
		App: s.o.App, Model: firstModel(s.o.Loops), Mode: s.o.Mode, Title: s.o.Title, Journal: s.o.StoreName,
		Fingerprint: s.o.Fingerprint,
	})
	if err != nil {
		return err
	}
	for _, c := range s.o.Loops {
		if _, err := s.AddLoop(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// ID identifies the session.
func (s *Session) ID() string { return s.o.ID }

// SessionID is ID.
func (s *Session) SessionID() string { return s.o.ID }

// AddLoop opens one more loop. Its name must be new and not empty.
func (s *Session) AddLoop(ctx context.Context, c LoopConfig) (LoopInfo, error) {
	l, recorded, err := s.newLoop(c)
	if err != nil {
		return LoopInfo{}, err
	}
	if err := s.hub.wait(recorded); err != nil {
		return LoopInfo{}, errors.Join(err, l.close(ctx, "error"))
	}
	s.watch.notify(LoopChange{Loop: l.id, Name: l.name, Kind: ChangeOpened})
	s.watch.notify(LoopChange{Loop: l.id, Name: l.name, Kind: ChangeIdle})
	return *l.info.Load(), nil
}

// newLoop makes a loop and starts its goroutine. The request holds its first
// events: nothing that the loop does can come before them.
func (s *Session) newLoop(c LoopConfig) (*loop, *request, error) {
	if c.Name == "" || c.Model == nil {
		return nil, nil, errors.New("a loop needs a name and a model")
	}
	l, err := makeLoop(s, c)
	if err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return nil, nil, ErrClosed
	}
	if err := s.fits(c); err != nil {
		return nil, nil, err
	}
	r := &request{events: l.opened(), done: make(chan error, 1)}
	if err := s.hub.enqueue(r); err != nil {
		return nil, nil, err
	}
	s.loops = append(s.loops, l)
	s.spawn(l.run)
	return l, r, nil
}

// fits refuses a loop that is one too many or whose name another one has.
// Delegates have their own limits, and share the names of their agents. The
// caller holds the lock.
func (s *Session) fits(c LoopConfig) error {
	if c.from != nil {
		return nil
	}
	count := 0
	for _, o := range s.loops {
		if o.from != nil {
			continue
		}
		count++
		if o.name == c.Name {
			return fmt.Errorf("a loop is called %q already", c.Name)
		}
	}
	if count >= s.o.Limits.Loops {
		return &LimitError{What: "loops", Limit: s.o.Limits.Loops}
	}
	return nil
}

// isClosing reports that Close has begun.
func (s *Session) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

// Loops is a snapshot of the loops in the order of their opening.
func (s *Session) Loops() []LoopInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]LoopInfo, len(s.loops))
	for i, l := range s.loops {
		out[i] = *l.info.Load()
	}
	return out
}

// find returns a loop by id or name; "" means the first.
func (s *Session) find(name string) (*loop, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.loops {
		if name == "" || l.id == name || l.name == name {
			return l, nil
		}
	}
	return nil, &NoLoopError{Loop: name}
}

// Subscribe starts a subscription. It ends with its Close or the session's.
func (s *Session) Subscribe(f Filter) (*Subscription, error) { return s.hub.subscribe(f) }

// Publish records an event of an adapter or of the host. A durable one is in the
// journal when Publish returns; an ephemeral one is delivered. With ledger
// drafts, event and entries are durable together. The session fills in the
// header's sequence number, time and session, and owns the event from then on.
// An event that belongs to no loop leaves the header's loop empty.
func (s *Session) Publish(ctx context.Context, e event.Event, drafts ...ledger.Draft) error {
	t := event.TypeOf(e)
	if t == "" {
		return &event.UnknownTypeError{}
	}
	if !event.Durable(t) {
		if len(drafts) > 0 {
			return errors.New("an ephemeral event has no ledger entries")
		}
		return s.hub.ephemeral(e)
	}
	err := s.record(ctx, nil, drafts, e)
	if e, ok := e.(*event.SamplingCompleted); ok && err == nil {
		s.used.add(e.Model, event.ForServers, e.Usage)
	}
	return err
}

// RecordLedger makes ledger entries that belong to no event durable.
func (s *Session) RecordLedger(ctx context.Context, drafts ...ledger.Draft) error {
	return s.record(ctx, nil, drafts)
}

func (s *Session) record(ctx context.Context, grants []journal.GrantChange, drafts []ledger.Draft, events ...event.Event) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	own := make([]ledger.Draft, len(drafts))
	for i, d := range drafts {
		d.Session = s.o.ID
		own[i] = d
	}
	return s.hub.appendGrants(grants, own, events...)
}

// Coverage counts the calls so far.
func (s *Session) Coverage() event.Coverage { return s.count.snapshot() }

// Err is the *JournalError that stopped the session's calls, or nil.
func (s *Session) Err() error { return s.hub.failure() }

// Tools is the toolset that is installed on a loop, nil for an unknown loop.
func (s *Session) Tools(loop string) *tool.Set {
	l, err := s.find(loop)
	if err != nil {
		return nil
	}
	return l.set.Load()
}

// Close interrupts what runs, closes open gates as session_closed, writes
// session.closed and releases the journal. Inputs that are still queued stay in
// the journal as queued. Close waits for every goroutine of the session, no
// longer than ctx. Call WaitIdle before it to let turns end by themselves. A
// second Close waits for the first and does nothing.
func (s *Session) Close(ctx context.Context, info CloseInfo) error {
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		select {
		case <-s.closed:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	s.closing = true
	loops := append([]*loop(nil), s.loops...)
	s.mu.Unlock()
	defer close(s.closed)

	errs := []error{s.gates.Shutdown(ctx)}
	for _, l := range loops {
		errs = append(errs, l.close(ctx, "session_closed"))
	}
	s.watch.close()
	errs = append(errs, s.last(info))
	s.hub.stop()
	s.finish()
	errs = append(errs, s.await(ctx), s.o.Store.Release(context.WithoutCancel(ctx), s.hub.lease))
	return errors.Join(errs...)
}

// last writes session.closed; nothing is appended after it.
func (s *Session) last(info CloseInfo) error {
	r := &request{final: true, done: make(chan error, 1), events: []event.Event{&event.SessionClosed{
		ExitCode: info.ExitCode, Reason: info.Reason, Coverage: s.Coverage(), Usage: s.Usage(), Dropped: s.hub.droppedEvents(),
	}}}
	if err := s.hub.enqueue(r); err != nil {
		return err
	}
	return s.hub.wait(r)
}

// await waits for the session's goroutines, no longer than ctx.
func (s *Session) await(ctx context.Context) error {
	idle := make(chan struct{})
	go func() { s.wg.Wait(); close(idle) }()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("close session: something still runs: %w", ctx.Err())
	}
}

// spawn runs f on a goroutine that Close waits for.
func (s *Session) spawn(f func()) { s.wg.Go(func() { s.guarded(f) }) }

// guarded runs f and hands a panic to the crash path.
func (s *Session) guarded(f func()) {
	if s.o.Crash != nil {
		defer func() {
			if p := recover(); p != nil {
				s.o.Crash(p, debug.Stack())
			}
		}()
	}
	f()
}

// contained reports a panic that fails a turn or a call alone.
func (s *Session) contained(reason any) {
	if s.o.Recovered != nil {
		s.o.Recovered(reason, debug.Stack())
	}
}

func nextID(prefix string, n *atomic.Uint64) string {
	return prefix + strconv.FormatUint(n.Add(1), 10)
}
