package gate

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// Bounds of a Host.
const (
	// DefaultOpenGates is how many gates may be open at once.
	DefaultOpenGates = 256
	// keptAnswers is how many closed gates a host remembers, for askers that
	// have not collected their answer and for telling late answers why.
	keptAnswers = 1024
)

// Resolution is how a gate closed.
type Resolution struct {
	Envelope Envelope
	Reason   CloseReason
	Response Response
	Wait     time.Duration
}

// HostOptions are what a Host is made of. The zero value works.
type HostOptions struct {
	Clock Clock
	// MaxOpen bounds the queue; 0 means DefaultOpenGates.
	MaxOpen int
	// Opened is told of each gate in the order of the queue, before anybody can
	// answer it. It must not call the host. An error keeps the gate from
	// opening.
	Opened func(Envelope) error
	// Resolved is told of each gate once, before its asker gets the response.
	// After an error the asker gets a refusal instead of the answer.
	Resolved func(Resolution) error
	// Answer, when set, is asked for each gate on a goroutine of the host, with
	// a context that ends when the gate closes. False closes the gate as refused
	// by policy.
	Answer func(ctx context.Context, env Envelope) (Response, bool)
}

// Host is the queue of open gates of one session. It gives ids that are unique
// within it ("g1", "g2" …), keeps the order, ends gates whose deadline passes
// and lets each be answered once, by an operator, with something that fits it.
// All methods are safe for concurrent use.
type Host struct {
	o HostOptions

	mu     sync.Mutex
	next   uint64
	open   []*entry // the queue, oldest first
	kept   map[string]*entry
	order  []string // ids of closed entries in kept, oldest first
	waits  map[string]time.Duration
	closed bool
	wg     sync.WaitGroup
}

type entry struct {
	env       Envelope
	cancel    context.CancelFunc // of the answerer's context, or nil
	stop      func() bool        // of the deadline's timer, or nil
	resolving bool               // nobody else may answer any more
	response  Response           // readable once done is closed
	done      chan struct{}
}

// Errors of hosts.
var (
	// ErrTooManyGates: the queue is full.
	ErrTooManyGates = errors.New("too many open gates")
	// ErrHostClosed: the host takes no more gates.
	ErrHostClosed = errors.New("gate host is closed")
)

// NewHost makes a host.
func NewHost(o HostOptions) *Host {
	if o.Clock == nil {
		o.Clock = SystemClock{}
	}
	if o.MaxOpen <= 0 {
		o.MaxOpen = DefaultOpenGates
	}
	return &Host{o: o, kept: map[string]*entry{}, waits: map[string]time.Duration{}}
}

// Open puts a gate at the end of the queue.
func (h *Host) Open(req Request) (Envelope, error) {
	if Actions(req.Kind) == nil {
		return Envelope{}, fmt.Errorf("unknown kind of gate %q", string(req.Kind))
	}
	if err := checkSampling(req); err != nil {
		return Envelope{}, err
	}
	if err := checkQuestion(req); err != nil {
		return Envelope{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return Envelope{}, ErrHostClosed
	case len(h.open) >= h.o.MaxOpen:
		return Envelope{}, ErrTooManyGates
	}
	h.next++
	e := &entry{done: make(chan struct{}), env: Envelope{
		ID: "g" + strconv.FormatUint(h.next, 10), Kind: req.Kind, Subject: req.Subject,
		Prompt: req.Prompt, OpenedAt: h.o.Clock.Now().UTC().Truncate(time.Microsecond),
		DeadlineMS: req.Deadline.Milliseconds(), Restorable: req.Restorable, Private: req.Private,
	}}
	if h.o.Opened != nil {
		if err := h.o.Opened(e.env); err != nil {
			return Envelope{}, fmt.Errorf("open gate: %w", err)
		}
	}
	h.open = append(h.open, e)
	h.kept[e.env.ID] = e
	if req.Deadline > 0 {
		e.stop = h.o.Clock.AfterFunc(req.Deadline, func() { _ = h.Close(e.env.ID, ReasonTimedOut, "") })
	}
	if h.o.Answer != nil {
		h.ask(e)
	}
	return e.env, nil
}

// ask runs the automatic answerer. The caller holds the lock.
func (h *Host) ask(e *entry) {
	ctx, cancel := context.WithCancel(context.Background())
	e.cancel = cancel
	h.wg.Go(func() {
		defer cancel()
		r, ok, err := h.consult(ctx, e.env)
		switch {
		case err != nil:
			_ = h.Close(e.env.ID, ReasonPolicy, "the answerer failed")
		case !ok:
			_ = h.Close(e.env.ID, ReasonPolicy, string(ReasonNoGate))
		default:
			if err := h.Respond(e.env.ID, r); err != nil {
				_ = h.Close(e.env.ID, ReasonPolicy, err.Error())
			}
		}
	})
}

// consult turns a panic of the answerer into an error.
func (h *Host) consult(ctx context.Context, env Envelope) (r Response, ok bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("answerer panicked: %v", p)
		}
	}()
	r, ok = h.o.Answer(ctx, env)
	return r, ok, nil
}

// Gates lists the open gates, oldest first.
func (h *Host) Gates() []Envelope {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]Envelope, 0, len(h.open))
	for _, e := range h.open {
		if !e.resolving {
			out = append(out, e.env)
		}
	}
	return out
}

// Respond answers an open gate. It fails with ErrNotOperator, ErrGateClosed,
// ErrExpired or an *InvalidAnswerError, after which the gate is still open.
func (h *Host) Respond(id string, r Response) error {
	if !r.Answerer.Operator() {
		return ErrNotOperator
	}
	h.mu.Lock()
	e, err := h.openEntry(id)
	h.mu.Unlock()
	if err != nil {
		return err
	}
	r, err = fit(e.env, r)
	if err != nil {
		return err
	}
	return h.resolve(id, ReasonAnswered, r)
}

// Close ends a gate that nobody answered. Detail is host-written or "". A reason
// that is none of a gate without an answer counts as withdrawn.
func (h *Host) Close(id string, why CloseReason, detail string) error {
	switch why {
	case ReasonPolicy, ReasonTimedOut, ReasonWithdrawn, ReasonSessionClosed:
	default:
		why = ReasonWithdrawn
	}
	h.mu.Lock()
	e, err := h.openEntry(id)
	h.mu.Unlock()
	if err != nil {
		return err
	}
	return h.resolve(id, why, Unanswered(e.env.Kind, why, detail))
}

// openEntry finds a gate that can still be answered. The caller holds the lock.
func (h *Host) openEntry(id string) (*entry, error) {
	e, ok := h.kept[id]
	if !ok {
		return nil, ErrGateClosed
	}
	select {
	case <-e.done:
		if e.response.Close == ReasonTimedOut {
			return nil, ErrExpired
		}
		return nil, ErrGateClosed
	default:
	}
	if e.resolving {
		return nil, ErrGateClosed
	}
	return e, nil
}

// resolve closes a gate once: whoever comes second gets ErrGateClosed.
func (h *Host) resolve(id string, why CloseReason, r Response) error {
	h.mu.Lock()
	e, err := h.openEntry(id)
	if err != nil {
		h.mu.Unlock()
		return err
	}
	e.resolving = true
	h.mu.Unlock()

	if e.stop != nil {
		e.stop()
	}
	if e.cancel != nil {
		e.cancel()
	}
	wait := h.o.Clock.Now().Sub(e.env.OpenedAt)
	if h.o.Resolved != nil {
		err = h.o.Resolved(Resolution{Envelope: e.env, Reason: why, Response: r, Wait: wait})
		if err != nil {
			r = Unanswered(e.env.Kind, ReasonPolicy, "the answer could not be recorded")
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	e.response = r
	close(e.done)
	h.forget(e, wait)
	if err != nil {
		return fmt.Errorf("record answer: %w", err)
	}
	return nil
}

// forget takes a closed gate out of the queue and bounds what is remembered.
// The caller holds the lock.
func (h *Host) forget(e *entry, wait time.Duration) {
	for i, o := range h.open {
		if o == e {
			h.open = append(h.open[:i:i], h.open[i+1:]...)
			break
		}
	}
	if e.env.Subject.Call != "" && len(h.waits) < keptAnswers {
		h.waits[e.env.Subject.Call] += wait
	}
	h.order = append(h.order, e.env.ID)
	if len(h.order) > keptAnswers {
		delete(h.kept, h.order[0])
		h.order = h.order[1:]
	}
}

// Await waits for a gate to close and returns its response. When ctx ends first
// its error is returned and the gate stays open.
func (h *Host) Await(ctx context.Context, id string) (Response, error) {
	h.mu.Lock()
	e, ok := h.kept[id]
	h.mu.Unlock()
	if !ok {
		return Response{}, ErrGateClosed
	}
	select {
	case <-e.done:
		return e.response, nil
	default:
	}
	select {
	case <-e.done:
		return e.response, nil
	case <-ctx.Done():
		return Response{}, ctx.Err()
	}
}

// Ask opens a gate and waits. When ctx ends first the gate is withdrawn and the
// response says so.
func (h *Host) Ask(ctx context.Context, req Request) (Envelope, Response, error) {
	env, err := h.Open(req)
	if err != nil {
		return Envelope{}, Response{}, err
	}
	r, err := h.Await(ctx, env.ID)
	if err == nil {
		return env, r, nil
	}
	_ = h.Close(env.ID, ReasonWithdrawn, "")
	// Whoever closed it, the response comes now: nothing waits but its record.
	r, err = h.Await(context.WithoutCancel(ctx), env.ID)
	return env, r, err
}

// TakeWait returns how long gates about a call were open, and forgets it.
func (h *Host) TakeWait(call string) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	d := h.waits[call]
	delete(h.waits, call)
	return d
}

// Shutdown refuses further gates, closes the open ones as session_closed and
// waits for the answerers, no longer than ctx.
func (h *Host) Shutdown(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	ids := make([]string, 0, len(h.open))
	for _, e := range h.open {
		ids = append(ids, e.env.ID)
	}
	h.mu.Unlock()
	for _, id := range ids {
		_ = h.Close(id, ReasonSessionClosed, "")
	}
	idle := make(chan struct{})
	go func() { h.wg.Wait(); close(idle) }()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
