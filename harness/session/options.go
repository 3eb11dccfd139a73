package session

import (
	"context"
	"time"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/model"
	"github.com/looprig/looprig/harness/policy"
	"github.com/looprig/looprig/harness/tool"
)

// Clock tells the time and runs timers.
type Clock = gate.Clock

// Options are what a session is made of. Store is the only field that has no
// default.
type Options struct {
	// ID is a ULID; one is made when it is empty.
	ID string
	// Store keeps the journal. The session does not close it.
	Store journal.Store
	// StoreName is what session.started says of it: "sqlite", "memory".
	StoreName string
	Clock     Clock
	// Loops are opened in order. The first is the one that Submit means.
	Loops []LoopConfig
	// Agents are further configurations that delegates are made after; they are
	// looked up before Loops, and not opened themselves.
	Agents []LoopConfig
	// Delegates readies what belongs to single delegates. Nil has nothing to ready.
	Delegates DelegateHost
	// Policy decides on calls. Nil asks before every call.
	Policy *policy.Policy
	// Grants keeps what an operator grants beyond the session. Nil keeps nothing:
	// such an answer allows the call alone, and a notice says so.
	Grants policy.Store
	Limits Limits
	// App ("looprig 1.2.3"), Mode ("interactive" or "headless") and Title
	// describe the session in its first record and in listings.
	App   string
	Mode  string
	Title string
	// Holder names the process in the journal's lease.
	Holder string
	// Interactive says that a person is there to answer gates: operator calls
	// of destructive or unpinned tools are then asked about.
	Interactive bool
	// Answer, when set, is asked for every gate on a goroutine of the session.
	// When it returns false the gate closes as refused by policy with the
	// detail no_interactive_gate. It must return soon after ctx ends.
	Answer func(ctx context.Context, env gate.Envelope) (gate.Response, bool)
	// Fingerprint is what the session depends on; it is kept, and compared when
	// the session is restored.
	Fingerprint event.Fingerprint
	// Past, when set, is what was read of the session that Restore opens: only what
	// came later is read again. Restore uses it up.
	Past *Past
	// Drift decides, in Restore, whether a session goes on under a fingerprint
	// that is not its own. by names who decided. Nil refuses.
	Drift func(ctx context.Context, e *ConfigMismatchError) (accept bool, by string)
	// Crash is told of a panic on one of the session's own goroutines. Nil
	// lets the panic end the process.
	Crash func(reason any, stack []byte)
	// Recovered, when set, is told of a panic that was contained: one in a
	// model or a tool's handler, which fails its turn or its call alone.
	Recovered func(reason any, stack []byte)
}

// LoopConfig describes one loop.
type LoopConfig struct {
	// Name is the loop's id as well.
	Name   string
	Model  model.Client
	System string
	// Builtin tools fill the loop's "builtin" slot.
	Builtin []tool.Definition
	// Delegates are the agents that the loop's model may give tasks to; with any,
	// the loop has the tool ToolDelegate.
	Delegates []string
	// AskUser gives the loop the tool ToolAskUser, for as long as its model is not
	// a person.
	AskUser bool
	// Limits of the loop's turns, below those of the session.
	Limits LoopLimits

	// from and id are a delegate's.
	from *delegation
	id   string
}

// Limits bound a session. A zero field means its default.
type Limits struct {
	StepsPerTurn  int // model steps of one turn
	CallsPerTurn  int // tool calls of one turn
	ParallelCalls int // calls of one step that run at the same time
	QueuedInputs  int // inputs that wait on one loop
	Loops         int // loops of a session, delegates not counted
	DelegateDepth int // how many delegates deep a chain may be
	Delegates     int // delegates of a session, those of before a restart included
	OpenGates     int // gates that are open at once
	MessageBytes  int // text and arguments of one model message
	InlineBytes   int // a content block over this is stored apart
	// ModelTextBytes and ModelBlocks bound what a model is given of one result:
	// its text, and its blocks of content. The rest is kept with the whole.
	ModelTextBytes int
	ModelBlocks    int
	ModelRetries   int           // further attempts of a step that failed before its first chunk
	CancelGrace    time.Duration // how long a cancelled call may take to return
	AppendTimeout  time.Duration // how long one journal append may take
	LeaseTTL       time.Duration // how long the journal's lease lasts without an append
}

// The default limits.
const (
	DefaultStepsPerTurn   = 25
	DefaultCallsPerTurn   = 100
	DefaultParallelCalls  = 8
	DefaultQueuedInputs   = 256
	DefaultLoops          = 64
	DefaultOpenGates      = gate.DefaultOpenGates
	DefaultMessageBytes   = 8 << 20
	DefaultInlineBytes    = 64 << 10
	DefaultModelTextBytes = 64 << 10
	DefaultModelBlocks    = 32
	DefaultModelRetries   = 3
	DefaultCancelGrace    = 5 * time.Second
	DefaultAppendTimeout  = 30 * time.Second
	DefaultLeaseTTL       = 30 * time.Second
)

// withDefaults fills in what is zero or negative.
func (l Limits) withDefaults() Limits {
	return Limits{
		StepsPerTurn:   orDefault(l.StepsPerTurn, DefaultStepsPerTurn),
		CallsPerTurn:   orDefault(l.CallsPerTurn, DefaultCallsPerTurn),
		ParallelCalls:  orDefault(l.ParallelCalls, DefaultParallelCalls),
		QueuedInputs:   orDefault(l.QueuedInputs, DefaultQueuedInputs),
		Loops:          orDefault(l.Loops, DefaultLoops),
		DelegateDepth:  orDefault(l.DelegateDepth, DefaultDelegateDepth),
		Delegates:      orDefault(l.Delegates, DefaultDelegates),
		OpenGates:      orDefault(l.OpenGates, DefaultOpenGates),
		MessageBytes:   orDefault(l.MessageBytes, DefaultMessageBytes),
		InlineBytes:    orDefault(l.InlineBytes, DefaultInlineBytes),
		ModelTextBytes: orDefault(l.ModelTextBytes, DefaultModelTextBytes),
		ModelBlocks:    orDefault(l.ModelBlocks, DefaultModelBlocks),
		ModelRetries:   orDefault(l.ModelRetries, DefaultModelRetries),
		CancelGrace:    orDefault(l.CancelGrace, DefaultCancelGrace),
		AppendTimeout:  orDefault(l.AppendTimeout, DefaultAppendTimeout),
		LeaseTTL:       orDefault(l.LeaseTTL, DefaultLeaseTTL),
	}
}

func orDefault[T int | time.Duration](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}
