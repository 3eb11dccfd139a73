package session

import (
	"context"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/ledger"
	"github.com/looprig/looprig/harness/tool"
)

// Session coordinates loops, gates, the journal and the ledger. All methods are
// safe for concurrent use.
type Session struct{}

// Subscription delivers records to one consumer.
type Subscription struct{}

type future struct{}

// Open makes a session: its journal is created and holds session.started and
// loop.started of each loop when Open returns.
func Open(ctx context.Context, o Options) (*Session, error) { return nil, ErrClosed }

// ID identifies the session.
func (s *Session) ID() string { return "" }

// SessionID is ID.
func (s *Session) SessionID() string { return s.ID() }

// Loops is a snapshot of the loops in the order of their opening.
func (s *Session) Loops() []LoopInfo { return nil }

// Submit gives an input to the first loop.
func (s *Session) Submit(ctx context.Context, in Input) (Ticket, error) { return Ticket{}, ErrClosed }

// SubmitTo gives an input to a loop, by id or name. While a turn runs there the
// input is queued. It fails with a *NoLoopError, a *LimitError when the queue
// is full, a *tool.UnknownToolError for a call that names no tool, an
// *ArgsError, ErrNoOrigin, ErrEmptyInput or ErrClosed.
func (s *Session) SubmitTo(ctx context.Context, loop string, in Input) (Ticket, error) {
	return Ticket{}, ErrClosed
}

// AwaitTurn waits for the turn of an input to end. It fails with ctx's error,
// and with ErrClosed when the session closed before the turn began.
func (s *Session) AwaitTurn(ctx context.Context, t Ticket) (TurnResult, error) {
	return TurnResult{}, ErrClosed
}

// Interrupt ends the running turn of a loop; its queue goes on. It is no error
// when nothing runs.
func (s *Session) Interrupt(ctx context.Context, loop string, by gate.Answerer) error { return nil }

// WaitIdle waits until the named loops (all when none is named) have neither a
// running turn nor a queue.
func (s *Session) WaitIdle(ctx context.Context, loops ...string) error { return nil }

// AddLoop opens one more loop.
func (s *Session) AddLoop(ctx context.Context, c LoopConfig) (LoopInfo, error) {
	return LoopInfo{}, ErrClosed
}

// Subscribe starts a subscription. It ends with its Close or the session's.
func (s *Session) Subscribe(f Filter) (*Subscription, error) { return nil, ErrClosed }

// Next waits for the next record. It returns io.EOF after the session's last
// one and a *LossError when durable events cannot be delivered. One goroutine
// calls it.
func (s *Subscription) Next(ctx context.Context) (event.Record, error) {
	return event.Record{}, ErrClosed
}

// Dropped counts the ephemeral events that this subscription lost.
func (s *Subscription) Dropped() uint64 { return 0 }

// Close ends the subscription.
func (s *Subscription) Close() {}

// Publish records an event of an adapter or of the host. A durable one is in the
// journal when Publish returns; an ephemeral one is delivered. With ledger
// drafts, event and entries are durable together. The session fills in the
// header's sequence number, time and session, and owns the event from then on.
func (s *Session) Publish(ctx context.Context, e event.Event, drafts ...ledger.Draft) error {
	return ErrClosed
}

// RecordLedger makes ledger entries that belong to no event durable.
func (s *Session) RecordLedger(ctx context.Context, drafts ...ledger.Draft) error { return ErrClosed }

// RespondGate answers an open gate. The answer is in the journal when it
// returns. It fails with gate.ErrGateClosed, gate.ErrExpired,
// gate.ErrNotOperator or a *gate.InvalidAnswerError.
func (s *Session) RespondGate(ctx context.Context, id string, r gate.Response) error {
	return ErrClosed
}

// Gates lists the open gates, oldest first.
func (s *Session) Gates() []gate.Envelope { return nil }

// OpenHostGate opens a gate and returns its id.
func (s *Session) OpenHostGate(ctx context.Context, r gate.Request) (string, error) {
	return "", ErrClosed
}

// AwaitGateAnswer waits for a gate to close, however it does. When ctx ends
// first its error is returned and the gate stays open.
func (s *Session) AwaitGateAnswer(ctx context.Context, id string) (gate.Response, error) {
	return gate.Response{}, ErrClosed
}

// CloseGate closes a gate without an answer.
func (s *Session) CloseGate(ctx context.Context, id string, why gate.CloseReason) error {
	return ErrClosed
}

// OpenGate implements gate.Opener.
func (s *Session) OpenGate(ctx context.Context, r gate.Request) (gate.Response, error) {
	return gate.Response{}, ErrClosed
}

var _ gate.Opener = (*Session)(nil)

// ReplaceExternalTools fills a loop's slot for a source: at once when the loop
// is idle, else when its running turn has ended. toolset.adopted tells when. It
// fails with a *tool.DuplicateModelNameError when a name is another slot's and
// with a *StaleGenerationError when the slot has a newer generation.
func (s *Session) ReplaceExternalTools(ctx context.Context, loop, source string, generation uint64, defs []tool.Definition) error {
	return ErrClosed
}

// Tools is the toolset that is installed on a loop, nil for an unknown loop.
func (s *Session) Tools(loop string) *tool.Set { return nil }

// WatchLoops tells of the opening, the idle boundaries and the closing of
// loops, beginning with those that are there. Changes that the reader is too
// slow for are merged to the newest of each loop. The channel is closed when
// ctx or the session ends.
func (s *Session) WatchLoops(ctx context.Context) <-chan LoopChange { return nil }

// Coverage counts the calls so far.
func (s *Session) Coverage() event.Coverage { return event.Coverage{} }

// Err is the *JournalError that stopped the session's calls, or nil.
func (s *Session) Err() error { return nil }

// Close interrupts what runs, closes open gates as session_closed, writes
// session.closed and releases the journal. Inputs that are still queued stay in
// the journal as queued. Close waits for every goroutine of the session, no
// longer than ctx. Call WaitIdle before it to let turns end by themselves.
func (s *Session) Close(ctx context.Context, info CloseInfo) error { return nil }
