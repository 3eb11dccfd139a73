package session

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/ledger"
)

// Bounds of the hub.
const (
	// maxBatchRequests is how many waiting requests one append takes.
	maxBatchRequests = 128
	// maxWaitingRequests is how many requests wait for the journal before
	// whoever comes next has to wait as well.
	maxWaitingRequests = 1024
	// flushDelay is how long events that nobody waits for are kept back, so that
	// they share an append with the next one that somebody does wait for. It is
	// real time: it decides about the number of appends and nothing else.
	flushDelay = 3 * time.Millisecond
	// renewalsPerTTL is how often a lease is renewed in its lifetime.
	renewalsPerTTL = 3
)

// hub gives events their order: it assigns sequence numbers and times, encodes
// each event once, appends it and only then delivers the same bytes. One
// goroutine writes; requests that come while it does are appended together.
type hub struct {
	session string
	store   journal.Store
	lease   journal.Lease
	clock   Clock
	limits  Limits
	crash   func(func())

	mu        sync.Mutex
	space     *sync.Cond // queue has room, or the hub ended
	queue     []*request
	due       bool          // the queue is to be appended now
	flush     *time.Timer   // makes the queue due; nil while none runs
	wake      chan struct{} // capacity 1: the writer has something to do
	renew     chan struct{} // capacity 1: the lease is due
	snapshot  chan struct{} // capacity 1: a snapshot is due
	closing   bool
	err       *JournalError
	subs      map[*Subscription]struct{}
	delivered uint64            // last sequence number that subscribers were given
	dropped   uint64            // by subscriptions that have ended
	completed map[string]uint64 // where the outcomes of the latest calls are
	finished  []string          // those calls, oldest first
	done      chan struct{}

	seq uint64 // of the writer alone
}

// request is one atomic append.
type request struct {
	events []event.Event
	drafts []ledger.Draft
	grants []journal.GrantChange
	done   chan error // capacity 1, or nil when nobody waits
	final  bool       // the hub ends after it
}

func newHub(id string, o Options, lease journal.Lease, crash func(func())) *hub {
	return newHubAfter(0, id, o, lease, crash)
}

// newHubAfter makes the hub of a journal that has records up to last.
func newHubAfter(last uint64, id string, o Options, lease journal.Lease, crash func(func())) *hub {
	h := &hub{
		seq: last, delivered: last, snapshot: make(chan struct{}, 1),
		session: id, store: o.Store, lease: lease, clock: o.Clock, limits: o.Limits, crash: crash,
		wake: make(chan struct{}, 1), renew: make(chan struct{}, 1),
		subs: map[*Subscription]struct{}{}, done: make(chan struct{}),
	}
	h.space = sync.NewCond(&h.mu)
	go h.crash(h.run)
	return h
}

// append makes events and entries durable and delivers the events. It does not
// return earlier because a context ends: the append itself is bounded.
func (h *hub) append(drafts []ledger.Draft, events ...event.Event) error {
	return h.appendGrants(nil, drafts, events...)
}

// appendGrants is append with the standing grants that the events tell of.
func (h *hub) appendGrants(grants []journal.GrantChange, drafts []ledger.Draft, events ...event.Event) error {
	r := &request{events: events, drafts: drafts, grants: grants, done: make(chan error, 1)}
	if err := h.enqueue(r); err != nil {
		return err
	}
	return h.wait(r)
}

// emit is append without waiting, after flushDelay at the latest: whatever is
// appended later is durable only if this is. It fails when the journal has
// failed already.
func (h *hub) emit(drafts []ledger.Draft, events ...event.Event) error {
	return h.enqueue(&request{events: events, drafts: drafts})
}

func (h *hub) wait(r *request) error {
	select {
	case err := <-r.done:
		return err
	case <-h.done:
	}
	select {
	case err := <-r.done:
		return err
	default:
		return ErrClosed
	}
}

func (h *hub) enqueue(r *request) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.queue) >= maxWaitingRequests && h.err == nil && !h.closing {
		h.space.Wait()
	}
	if h.err != nil {
		return h.err
	}
	if h.closing {
		return ErrClosed
	}
	h.closing = r.final
	h.queue = append(h.queue, r)
	switch {
	case r.done != nil || len(h.queue) >= maxBatchRequests:
		h.hasten()
	case h.flush == nil && !h.due:
		h.flush = time.AfterFunc(flushDelay, func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.hasten()
		})
	}
	return nil
}

// hasten makes the queue due. The caller holds the lock.
func (h *hub) hasten() {
	if h.flush != nil {
		h.flush.Stop()
		h.flush = nil
	}
	h.due = true
	h.signal()
}

// signal wakes the writer. The caller holds the lock.
func (h *hub) signal() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// failure is the latched error, or nil.
func (h *hub) failure() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil {
		return nil
	}
	return h.err
}

// stop ends the writer, after what is queued.
func (h *hub) stop() {
	h.mu.Lock()
	h.closing = true
	h.space.Broadcast()
	h.signal()
	h.mu.Unlock()
	<-h.done
}

func (h *hub) run() {
	defer h.end()
	stopTimer := h.schedule()
	defer func() { stopTimer() }()
	for {
		batch, last := h.take()
		if len(batch) > 0 {
			h.commit(batch)
			continue
		}
		if last {
			return
		}
		select {
		case <-h.wake:
		case <-h.renew:
			h.renewLease()
			stopTimer = h.schedule()
		}
	}
}

// take removes the next requests from the queue; last says that none will come.
func (h *hub) take() (batch []*request, last bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.due && !h.closing {
		return nil, false
	}
	n := min(len(h.queue), maxBatchRequests)
	batch = h.queue[:n:n]
	h.queue = h.queue[n:]
	h.due = len(h.queue) > 0
	h.space.Broadcast()
	return batch, h.closing && n == 0
}

// schedule sets the timer of the next renewal.
func (h *hub) schedule() func() bool {
	return h.clock.AfterFunc(h.limits.LeaseTTL/renewalsPerTTL, func() {
		select {
		case h.renew <- struct{}{}:
		default:
		}
	})
}

func (h *hub) renewLease() {
	ctx, cancel := context.WithTimeout(context.Background(), h.limits.AppendTimeout)
	defer cancel()
	err := h.store.Renew(ctx, h.lease, h.limits.LeaseTTL)
	// Other errors show themselves at the next append, if they last.
	if errors.Is(err, journal.ErrFenced) {
		_ = h.latch(err)
	}
}

// commit appends requests in one batch and delivers their events.
func (h *hub) commit(reqs []*request) {
	if err := h.failure(); err != nil {
		answer(reqs, err)
		return
	}
	now := h.clock.Now().UTC().Truncate(time.Microsecond)
	batch := journal.Batch{ExpectedSeq: h.seq}
	var out []event.Record
	kept := reqs[:0:0]
	for _, r := range reqs {
		recs, blobs, err := h.encode(r.events, h.seq+uint64(len(out)), now)
		if err != nil {
			h.refuse(r, err)
			continue
		}
		for _, rec := range recs {
			head := rec.Event.Head()
			batch.Records = append(batch.Records, journal.Record{Seq: head.Seq, Type: string(head.Type), Time: now, Line: rec.Line})
		}
		out = append(out, recs...)
		batch.Blobs = append(batch.Blobs, blobs...)
		batch.Ledger = append(batch.Ledger, r.drafts...)
		batch.Grants = append(batch.Grants, r.grants...)
		kept = append(kept, r)
	}
	if len(kept) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), h.limits.AppendTimeout)
	defer cancel()
	if _, err := h.store.Append(ctx, h.lease, batch); err != nil {
		answer(kept, h.latch(err))
		return
	}
	if before := h.seq / SnapshotEvery; (h.seq+uint64(len(out)))/SnapshotEvery > before {
		h.dueSnapshot()
	}
	h.seq += uint64(len(out))
	h.deliver(out)
	answer(kept, nil)
}

// refuse fails a request whose events have no encoding. When nobody waits to
// hear of it the journal would silently lack it, so that the hub stops.
func (h *hub) refuse(r *request, err error) {
	if r.done == nil {
		_ = h.latch(err)
		return
	}
	r.done <- err
}

func (h *hub) encode(events []event.Event, seq uint64, now time.Time) ([]event.Record, []journal.Blob, error) {
	recs := make([]event.Record, 0, len(events))
	var blobs []journal.Blob
	for i, e := range events {
		e, apart := setApart(e, h.limits.InlineBytes)
		head := e.Head()
		head.Seq, head.Time, head.Session = seq+uint64(i)+1, now, h.session
		line, err := event.Encode(e)
		if err != nil {
			return nil, nil, err
		}
		recs = append(recs, event.Record{Event: e, Line: line, Durable: true})
		blobs = append(blobs, apart...)
	}
	return recs, blobs, nil
}

func answer(reqs []*request, err error) {
	for _, r := range reqs {
		if r.done != nil {
			r.done <- err
		}
	}
}

// latch keeps the first error: nothing is appended after it.
func (h *hub) latch(err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil {
		h.err = &JournalError{Err: err}
		h.space.Broadcast()
		for s := range h.subs {
			s.lose(h.delivered+1, h.err)
		}
	}
	return h.err
}
