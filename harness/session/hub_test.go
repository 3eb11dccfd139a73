package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/ledger"
	"github.com/looprig/looprig/harness/model/scripted"
)

func notice(text string) *event.Notice {
	return &event.Notice{Code: "test", Level: "info", Text: text}
}

func stderr(line string) *event.BindingStderr {
	return &event.BindingStderr{Binding: "demo", Line: line}
}

// drain reads until the end and returns the records.
func drain(t *testing.T, s *Subscription) ([]event.Record, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var out []event.Record
	for {
		r, err := s.Next(ctx)
		if err != nil {
			return out, err
		}
		out = append(out, r)
	}
}

func TestOverflownSubscriptionReadsTheJournal(t *testing.T) {
	t.Parallel()
	w := open(t, Options{}, nil)
	slow, err := w.Subscribe(Filter{FromSeq: 1, Buffer: 4})
	w.must(err)
	late, err := w.Subscribe(Filter{Ephemeral: true, Buffer: 4})
	w.must(err)
	for i := range 50 {
		w.must(w.Publish(w.ctx(), notice(strings.Repeat("n", i))))
		w.must(w.Publish(w.ctx(), stderr("line")))
	}
	w.shut()
	recs, err := drain(t, slow)
	if !errors.Is(err, io.EOF) || len(recs) != len(w.store.all()) {
		t.Fatalf("%d records of %d: %v", len(recs), len(w.store.all()), err)
	}
	for i, r := range recs {
		if !r.Durable || r.Event.Head().Seq != uint64(i+1) || !bytes.Equal(r.Line, w.store.all()[i].Line) {
			t.Fatalf("record %d: %s", i, r.Line)
		}
	}
	recs, _ = drain(t, late)
	ephemeral := 0
	for _, r := range recs {
		if !r.Durable {
			ephemeral++
			if r.Event.Head().Seq != 0 || bytes.Contains(r.Line, []byte(`"seq"`)) {
				t.Fatalf("an ephemeral event has a seq: %s", r.Line)
			}
		}
	}
	if ephemeral != 4 || late.Dropped() != 46 || len(recs)-ephemeral != 52 {
		t.Fatalf("%d ephemeral, %d dropped, %d records", ephemeral, late.Dropped(), len(recs))
	}
	if closed := of[*event.SessionClosed](t, w.store)[0]; closed.Dropped != 46 {
		t.Fatalf("session.closed says %d were dropped", closed.Dropped)
	}
	if _, err := w.Subscribe(Filter{}); !errors.Is(err, ErrClosed) {
		t.Fatalf("subscribing to a closed session: %v", err)
	}
}

func TestUnreadableJournalIsALoss(t *testing.T) {
	t.Parallel()
	w := open(t, Options{}, nil)
	s, err := w.Subscribe(Filter{Buffer: 2})
	w.must(err)
	for range 5 {
		w.must(w.Publish(w.ctx(), notice("x")))
	}
	w.store.mu.Lock()
	w.store.readErr = errors.New("unreadable")
	w.store.mu.Unlock()
	recs, err := drain(t, s)
	var loss *LossError
	if !errors.As(err, &loss) || len(recs) != 2 || loss.From != recs[1].Event.Head().Seq+1 {
		t.Fatalf("%d records, then %v", len(recs), err)
	}
}

func TestSubscriptionEnds(t *testing.T) {
	t.Parallel()
	w := open(t, Options{}, nil)
	s, err := w.Subscribe(Filter{})
	w.must(err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Next(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("a context that ended: %v", err)
	}
	s.Close()
	if _, err := s.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Fatalf("closed: %v", err)
	}
}

func TestPublishWithLedger(t *testing.T) {
	t.Parallel()
	w := open(t, Options{}, nil)
	w.must(w.Publish(w.ctx(), &event.BindingReconfigured{Binding: "demo", Op: "disable", By: "tester"},
		ledger.Draft{Kind: ledger.KindReconfiguration, Binding: "demo", Detail: "disable"}))
	w.must(w.RecordLedger(w.ctx(), ledger.Draft{Kind: ledger.KindPin, Binding: "demo", Detail: "accepted"}))
	if d := w.store.drafts(ledger.KindReconfiguration); len(d) != 1 || d[0].Session != w.ID() {
		t.Fatalf("%+v", d)
	}
	last := w.store.appends[len(w.store.appends)-1]
	if len(last.Records) != 0 || len(last.Ledger) != 1 {
		t.Fatalf("last append %+v", last)
	}
	if err := w.Publish(w.ctx(), stderr("x"), ledger.Draft{}); err == nil {
		t.Fatal("an ephemeral event took a ledger entry")
	}
	var unknown *event.UnknownTypeError
	if err := w.Publish(w.ctx(), &event.PinChanged{Binding: "demo"}); !errors.As(err, &unknown) {
		t.Fatalf("a pin event that does not say which: %v", err)
	}
	// What cannot be encoded is refused and harms nobody else.
	bad := &event.Expectation{Value: json.RawMessage("{")}
	if err := w.Publish(w.ctx(), bad); err == nil {
		t.Fatal("a broken event was published")
	}
	w.must(w.Publish(w.ctx(), notice("fine")))
}

func TestConcurrentPublishersShareAppends(t *testing.T) {
	t.Parallel()
	w := open(t, Options{}, nil)
	const n = 200
	hold := make(chan struct{})
	w.store.setFail(func(journal.Batch) error { <-hold; return nil })
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() { w.must(w.Publish(w.ctx(), notice("x"))) })
	}
	w.eventually("the publishers wait", func() bool {
		w.hub.mu.Lock()
		defer w.hub.mu.Unlock()
		return len(w.hub.queue) >= n-maxBatchRequests
	})
	close(hold)
	wg.Wait()
	if got := len(w.store.all()); got != n+3 {
		t.Fatalf("%d records", got)
	}
	if got := len(w.store.appends); got > n*3/4 {
		t.Fatalf("%d appends for %d events", got, n)
	}
}

// What waits behind a failed append is not appended, even if it could be.
func TestNothingIsAppendedAfterTheFirstFailure(t *testing.T) {
	t.Parallel()
	w := open(t, Options{}, nil)
	w.must(w.WaitIdle(w.ctx()))
	failing, hold := make(chan struct{}), make(chan struct{})
	var once sync.Once
	w.store.setFail(func(journal.Batch) (err error) {
		once.Do(func() {
			close(failing)
			<-hold
			err = errors.New("disk full")
		})
		return err
	})
	errs := make(chan error, 2)
	publish := func() { errs <- w.Publish(context.Background(), notice("x")) }
	go publish()
	<-failing
	before := len(w.store.all())
	go publish()
	w.eventually("the second waits", func() bool {
		w.hub.mu.Lock()
		defer w.hub.mu.Unlock()
		return len(w.hub.queue) == 1
	})
	close(hold)
	for range 2 {
		var failed *JournalError
		if err := <-errs; !errors.As(err, &failed) {
			t.Fatalf("publish: %v", err)
		}
	}
	if n := len(w.store.all()); n != before {
		t.Fatalf("%d records were appended after the failure", n-before)
	}
}

// manualClock fires its timers when a test says so.
type manualClock struct {
	mu     sync.Mutex
	now    time.Time
	timers map[*manualTimer]struct{}
}

type manualTimer struct {
	at time.Time
	f  func()
}

func (c *manualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *manualClock) AfterFunc(d time.Duration, f func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &manualTimer{at: c.now.Add(d), f: f}
	if c.timers == nil {
		c.timers = map[*manualTimer]struct{}{}
	}
	c.timers[t] = struct{}{}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, was := c.timers[t]
		delete(c.timers, t)
		return was
	}
}

func (c *manualClock) advance(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	var due []func()
	for t := range c.timers {
		if !t.at.After(c.now) {
			due = append(due, t.f)
			delete(c.timers, t)
		}
	}
	c.mu.Unlock()
	for _, f := range due {
		f()
	}
}

func TestLeaseIsRenewedAndItsLossLatches(t *testing.T) {
	t.Parallel()
	clock := &manualClock{now: time.Unix(1_800_000_000, 0)}
	w := open(t, Options{Clock: clock, Limits: Limits{LeaseTTL: 30 * time.Second}}, nil)
	renewed := func(n int) func() bool {
		return func() bool {
			w.store.mu.Lock()
			defer w.store.mu.Unlock()
			return w.store.renewed >= n
		}
	}
	armed := func() bool { clock.mu.Lock(); defer clock.mu.Unlock(); return len(clock.timers) > 0 }
	w.eventually("the timer is set", armed)
	clock.advance(11 * time.Second)
	w.eventually("a renewal", renewed(1))
	w.store.mu.Lock()
	w.store.renewErr = journal.ErrFenced
	w.store.mu.Unlock()
	w.eventually("the timer is set again", armed)
	clock.advance(11 * time.Second)
	w.eventually("the loss is noticed", func() bool { return errors.Is(w.Err(), journal.ErrFenced) })
	if err := w.Publish(w.ctx(), notice("x")); !errors.Is(err, journal.ErrFenced) {
		t.Fatalf("publish without the lease: %v", err)
	}
}

func TestHostGatesAreEvents(t *testing.T) {
	t.Parallel()
	w := open(t, Options{}, []scripted.Reply{})
	id, err := w.OpenHostGate(w.ctx(), gate.Request{Kind: gate.KindConfirm, Subject: gate.Subject{Binding: "demo"}, Prompt: gate.Prompt{Title: "Sure?", Origin: gate.OriginServer}})
	w.must(err)
	w.answer(gate.Response{Action: gate.ActionAccept})
	r, err := w.AwaitGateAnswer(w.ctx(), id)
	w.must(err)
	if r.Action != gate.ActionAccept || r.Close != "" {
		t.Fatalf("%+v", r)
	}
	id, err = w.OpenHostGate(w.ctx(), gate.Request{Kind: gate.KindOpenURL, Private: gate.Private{URL: "https://example.com/secret?token=canary"}})
	w.must(err)
	w.must(w.CloseGate(w.ctx(), id, gate.ReasonWithdrawn))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err = w.OpenGate(ctx, gate.Request{Kind: gate.KindConfirm})
	if err != nil || r.Close != gate.ReasonWithdrawn || r.Action != gate.ActionCancel {
		t.Fatalf("%+v %v", r, err)
	}
	for _, rec := range w.store.all() {
		if bytes.Contains(rec.Line, []byte("canary")) {
			t.Fatalf("the private part is in the journal: %s", rec.Line)
		}
	}
	if e := of[*event.GateOpened](t, w.store); len(e) != 3 || e[0].Loop != "" {
		t.Fatalf("%+v", e)
	}
}
