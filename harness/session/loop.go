package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/model"
	"github.com/looprig/looprig/harness/tool"
)

// loop is one agent. Its goroutine alone touches what is below "state"; others
// reach it through commands and read the published snapshots.
type loop struct {
	s      *Session
	id     string
	name   string
	model  model.Client
	system string
	marks  boundary
	limits LoopLimits
	config LoopConfig  // that it was made of; its model is the first
	from   *delegation // of a delegate, else nil

	cmds  chan func()
	ended chan *turn    // capacity 1: there is one turn at a time
	done  chan struct{} // the goroutine has ended
	info  atomic.Pointer[LoopInfo]
	set   atomic.Pointer[tool.Set]

	// state
	running  *turn
	queue    []*input
	history  []content.Message
	waiting  []chan struct{} // for the loop to be idle with an empty queue
	tools    toolbox
	measured measure                              // of the history
	next     *switching                           // the model from the next idle boundary on, or nil
	looked   []openedTool                         // deferred tools whose schemas the model has
	told     map[string]bool                      // withheld tools that a notice was given for; the running turn's
	parked   *restoredTurn                        // the running turn waits, since a restart, for its answer and its tools
	looking  []string                             // tools whose schemas were asked for before a restart
	before   map[string][]event.BindingGeneration // the toolsets from before a restart, until compared
	closing  string                               // the reason, once the loop is to close
	over     bool
}

// input is one accepted input.
type input struct {
	id      string
	in      Input
	call    *operatorCall
	compact bool // nothing but a compaction
	fut     *future
}

// operatorCall is an operator's call whose spelling has been resolved.
type operatorCall struct {
	def  tool.Definition
	args []byte
}

// future is where the result of an input arrives.
type future struct {
	done   chan struct{}
	result TurnResult
	err    error
}

func (f *future) settle(r TurnResult, err error) {
	f.result, f.err = r, err
	close(f.done)
}

func makeLoop(s *Session, c LoopConfig) (*loop, error) {
	l := &loop{
		s: s, id: c.Name, name: c.Name, model: c.Model, system: c.System, marks: newBoundary(), limits: c.Limits, config: c, from: c.from,
		cmds: make(chan func()), ended: make(chan *turn, 1), done: make(chan struct{}),
		tools: newToolbox(),
	}
	if c.id != "" {
		l.id = c.id
	}
	set, err := l.tools.begin(l.builtins(c))
	if err != nil {
		return nil, fmt.Errorf("loop %q: %w", c.Name, err)
	}
	l.set.Store(set)
	l.publish()
	return l, nil
}

func (l *loop) head() event.Header { return event.Header{Loop: l.id} }

// opened are the events of a new loop.
func (l *loop) opened() []event.Event {
	started := &event.LoopStarted{Header: l.head(), Model: l.model.Info().Name}
	if l.from != nil {
		started.Parent, started.Call, started.Depth, started.Agent = l.from.parent.id, l.from.call, l.from.depth, l.name
	}
	return []event.Event{started, &event.LoopIdle{Header: l.head()}}
}

// publish renews the snapshot.
func (l *loop) publish() {
	m := l.model.Info()
	i := &LoopInfo{ID: l.id, Name: l.name, State: LoopIdle, Queued: len(l.queue), Model: m.Name, ModelDisplay: m.Display}
	if l.from != nil {
		i.Parent, i.Agent = l.from.parent.id, l.name
	}
	switch {
	case l.over:
		i.State = LoopClosed
	case l.running != nil:
		i.State, i.Turn = LoopRunning, l.running.id
	}
	l.info.Store(i)
}

// notify tells those who watch the loops. A delegate's host gives it its tools
// before its one turn, and releases them after it: to hear that it is idle would
// only have others look after it as well.
func (l *loop) notify(k ChangeKind) {
	if l.from != nil && k != ChangeRunning && k != ChangeClosed {
		return
	}
	l.s.watch.notify(LoopChange{Loop: l.id, Name: l.name, Kind: k})
}

// run is the loop's goroutine.
func (l *loop) run() {
	defer close(l.done)
	for !l.over {
		select {
		case cmd := <-l.cmds:
			cmd()
		case t := <-l.ended:
			l.boundary(t)
		}
		l.publish()
	}
	l.notify(ChangeClosed)
}

// do runs f on the loop's goroutine and waits for it.
func (l *loop) do(ctx context.Context, f func()) error {
	ran := make(chan struct{})
	select {
	case l.cmds <- func() { defer close(ran); f(); l.publish() }:
		<-ran
		return nil
	case <-l.done:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// accept starts an input or queues it.
func (l *loop) accept(in *input) (Ticket, error) {
	t := Ticket{Input: in.id, Loop: l.id, fut: in.fut}
	if l.closing != "" {
		return Ticket{}, ErrClosed
	}
	if l.running == nil {
		l.start(in)
		t.Turn = l.running.id
		return t, nil
	}
	if len(l.queue) >= l.s.o.Limits.QueuedInputs {
		return Ticket{}, &LimitError{What: "queued inputs", Limit: l.s.o.Limits.QueuedInputs}
	}
	err := l.s.hub.emit(nil, &event.InputQueued{
		Header: l.head(), Input: in.id, Text: in.text(), Position: len(l.queue) + 1, Kind: in.kind(),
	})
	if err != nil {
		return Ticket{}, err
	}
	l.queue = append(l.queue, in)
	return t, nil
}

// text is how an input reads: what was said, or the call.
func (in *input) text() string {
	if in.call == nil {
		return in.in.Text
	}
	return in.call.def.Identity.String() + " " + string(in.call.args)
}

// kind is "call" for an operator's call, "compact" for a compaction, else "".
func (in *input) kind() string {
	if in.compact {
		return kindCompact
	}
	if in.call == nil {
		return ""
	}
	return kindCall
}

// start begins a turn under the toolset that is installed now.
func (l *loop) start(in *input) {
	ctx, cancel := context.WithCancelCause(context.Background())
	t := &turn{
		s: l.s, loop: l, id: nextID("t", &l.s.turns), in: in, set: l.set.Load(), ctx: ctx, cancel: cancel,
		history: l.history, measured: l.measured, model: l.model, began: l.s.o.Clock.Now(), budget: l.newTurnBudget(),
		withdrawn: l.tools.withdrawn(), opened: slices.Clone(l.looked),
	}
	l.running = t
	l.publish()
	l.notify(ChangeRunning)
	l.s.spawn(func() {
		defer func() { l.ended <- t }()
		t.run()
	})
}

// boundary is the idle boundary after a turn: toolsets that wait are installed,
// then the next input starts.
func (l *loop) boundary(t *turn) {
	t.cancel(nil)
	l.running = nil
	l.history, l.looked, l.measured = t.history, t.opened, t.measured
	_ = l.switchModel() // that it cannot be recorded leaves the session latched, which says so
	l.adopt()
	_ = l.s.hub.emit(nil, &event.LoopIdle{Header: l.head()})
	if l.closing != "" {
		t.in.fut.settle(t.result, nil)
		l.shut()
		return
	}
	l.publish()
	l.notify(ChangeIdle)
	if len(l.queue) > 0 {
		next := l.queue[0]
		l.queue = l.queue[1:]
		l.start(next)
	} else {
		l.release()
	}
	l.publish()
	t.in.fut.settle(t.result, nil)
}

// release tells those who wait for the loop to be idle.
func (l *loop) release() {
	for _, w := range l.waiting {
		close(w)
	}
	l.waiting = nil
}

// shut ends the loop's goroutine. Nothing runs any more.
func (l *loop) shut() {
	for _, in := range l.queue {
		in.fut.settle(TurnResult{}, ErrClosed)
	}
	l.queue = nil
	l.release()
	_ = l.s.hub.emit(nil, &event.LoopClosed{Header: l.head(), Reason: l.closing})
	l.over = true
	l.publish()
}

// close interrupts the running turn and ends the loop, waiting no longer than
// ctx.
func (l *loop) close(ctx context.Context, reason string) error {
	err := l.do(ctx, func() {
		if l.closing != "" {
			return
		}
		l.closing = reason
		if l.running == nil {
			l.shut()
			return
		}
		l.running.cancel(&interruption{by: reason})
	})
	if err != nil && !errors.Is(err, ErrClosed) {
		return err
	}
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("loop %q still runs: %w", l.name, ctx.Err())
	}
}

// interruption is the cause of an interrupted turn.
type interruption struct{ by string }

func (i *interruption) Error() string { return "interrupted by " + i.by }

// Interrupt ends the running turn of a loop; its queue goes on. It is no error
// when nothing runs.
func (s *Session) Interrupt(ctx context.Context, loop string, by gate.Answerer) error {
	if !by.Operator() {
		return ErrNoOrigin
	}
	l, err := s.find(loop)
	if err != nil {
		return err
	}
	return l.do(ctx, func() {
		if l.running != nil {
			l.running.cancel(&interruption{by: string(by.Kind) + ":" + by.ID})
		}
	})
}

// WaitIdle waits until the named loops (all when none is named) have neither a
// running turn nor a queue. A loop that has closed is idle.
func (s *Session) WaitIdle(ctx context.Context, loops ...string) error {
	if len(loops) == 0 {
		for _, l := range s.Loops() {
			if l.Parent == "" { // the turn of its parent ends after a delegate's
				loops = append(loops, l.ID)
			}
		}
	}
	for _, name := range loops {
		l, err := s.find(name)
		if err != nil {
			return err
		}
		if err := l.waitIdle(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (l *loop) waitIdle(ctx context.Context) error {
	idle := make(chan struct{})
	err := l.do(ctx, func() {
		if l.running == nil {
			close(idle)
			return
		}
		l.waiting = append(l.waiting, idle)
	})
	if errors.Is(err, ErrClosed) {
		return nil
	}
	if err != nil {
		return err
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
