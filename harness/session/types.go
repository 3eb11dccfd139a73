package session

import (
	"encoding/json"
	"time"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/tool"
)

// LoopState is what a loop is doing.
type LoopState string

// The states of a loop.
const (
	LoopIdle    LoopState = "idle"
	LoopRunning LoopState = "running"
	LoopClosed  LoopState = "closed"
)

// LoopInfo is a snapshot of one loop.
type LoopInfo struct {
	ID    string
	Name  string
	State LoopState
	// Turn is the running turn, or "".
	Turn string
	// Queued counts inputs that wait.
	Queued int
	// Model is the model's configured name, ModelDisplay what to show.
	Model        string
	ModelDisplay string
	// Parent is the loop that started a delegate, Agent the configured loop that it
	// was made after; both are "" for other loops. A delegate takes no input, and
	// is gone from Session.Loops when it has ended.
	Parent string
	Agent  string
}

// Input is what an operator gives to a loop: text for its model, or a call.
type Input struct {
	Text string
	// Call, when set, is an operator's call: a turn that invokes no model.
	Call *CallInput
	// Origin identifies the operator: a person or a script.
	Origin gate.Answerer
}

// CallInput is an operator's call of a tool, in any spelling that
// tool.(*Set).Resolve takes. Args is a JSON object; empty means {}.
type CallInput struct {
	Tool string
	Args json.RawMessage
}

// Ticket follows a submitted input to the end of its turn.
type Ticket struct {
	// Input is the input's id.
	Input string
	// Loop that the input went to.
	Loop string
	// Turn is set when the turn began at once, "" while the input is queued.
	Turn string

	fut *future
}

// TurnOutcome is how a turn ended.
type TurnOutcome string

// The outcomes of a turn.
const (
	TurnCompleted   TurnOutcome = "completed"
	TurnFailed      TurnOutcome = "failed"
	TurnInterrupted TurnOutcome = "interrupted"
)

// The codes of failed turns, a closed list.
const (
	CodeModelError    = "model_error"
	CodeLimitSteps    = "limit_steps"
	CodeLimitCalls    = "limit_calls"
	CodeJournalFailed = "journal_failed"
	CodeInternal      = "internal"
	// CodeContextOverflow: what the model has to be given does not fit into its
	// context, however much is summarised.
	CodeContextOverflow = "context_overflow"
)

// TurnResult is what came of a turn.
type TurnResult struct {
	Turn    string
	Outcome TurnOutcome
	// Text of the final answer; for an operator's call the text content of its
	// result.
	Text string
	// Calls in the order in which they were asked for.
	Calls []CallResult
	// Code and Reason of a turn that did not complete. Code is closed; Reason
	// is host-written.
	Code     string
	Reason   string
	Steps    int
	Usage    event.Usage
	Duration time.Duration
}

// CallResult is what came of one call of a turn.
type CallResult struct {
	tool.Result
	ID        string
	Tool      tool.Identity
	ModelName string
	// Args are the exact bytes that were decided on and sent; before Prepare
	// succeeded, what was asked for.
	Args     json.RawMessage
	Decision event.Decision
	// Duration is the whole call, Gate the part spent waiting for answers.
	Duration time.Duration
	Gate     time.Duration
}

// Text joins the text content of the result.
func (c CallResult) Text() string { return content.PlainText(c.Content) }

// Filter selects what a subscription delivers.
type Filter struct {
	// Ephemeral asks for the ephemeral events as well.
	Ephemeral bool
	// FromSeq is the first durable event to deliver; 0 means those from now on.
	// 1 delivers the whole session.
	FromSeq uint64
	// Buffer is how many events of each class are kept for the subscriber; 0
	// means DefaultBuffer. Durable events beyond it are read again from the
	// journal, ephemeral ones are dropped, oldest first.
	Buffer int
}

// DefaultBuffer is how many events of each class a subscription keeps.
const DefaultBuffer = 1024

// ChangeKind is what happened to a loop.
type ChangeKind string

// The changes of loops. ChangeIdle is an idle boundary.
const (
	ChangeOpened  ChangeKind = "opened"
	ChangeIdle    ChangeKind = "idle"
	ChangeRunning ChangeKind = "running"
	ChangeClosed  ChangeKind = "closed"
)

// LoopChange tells an adopter of toolsets about a loop.
type LoopChange struct {
	Loop string
	Name string
	Kind ChangeKind
}

// CloseInfo is what the last record says.
type CloseInfo struct {
	ExitCode int
	// Reason is closed: "completed", "interrupted", "error", "no_interactive_gate" …
	Reason string
}
