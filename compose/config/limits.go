package config

import "github.com/looprig/looprig/compose/config/doc"

// Upper bounds of limits.
const (
	MaxSteps         = 10_000
	MaxToolCalls     = 100_000
	MaxParallelCalls = 256
	MaxDelegateDepth = 16
	MaxDelegates     = 4096
	MaxQueuedInputs  = 100_000
)

// Limits bound a session; 0 is the default of each.
type Limits struct {
	Steps         int // model steps of one turn
	ToolCalls     int // tool calls of one turn
	ParallelCalls int // calls of one step that run at the same time
	DelegateDepth int // delegates of delegates
	Delegates     int // delegates of a session
	QueuedInputs  int // inputs that wait on one loop
	// DeferShare is the part of a model's context, in percent, that a binding's
	// tools may take before the model has to search for them.
	DeferShare int
}

func readLimits(o *doc.Obj) Limits {
	l := Limits{
		Steps:         o.Int("steps", 0, 1, MaxSteps),
		ToolCalls:     o.Int("toolCalls", 0, 1, MaxToolCalls),
		ParallelCalls: o.Int("parallelCalls", 0, 1, MaxParallelCalls),
		DelegateDepth: o.Int("delegateDepth", 0, 1, MaxDelegateDepth),
		Delegates:     o.Int("delegates", 0, 1, MaxDelegates),
		QueuedInputs:  o.Int("queuedInputs", 0, 1, MaxQueuedInputs),
		DeferShare:    o.Int("deferShare", 0, 1, 100),
	}
	o.Done()
	return l
}
