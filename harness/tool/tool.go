// Package tool defines what a loop can call: definitions, immutable sets of
// them, the two-phase call (prepare, then invoke the exact bytes prepared) and
// the closed list of outcomes. It knows nothing of where a tool comes from; it
// must not import the session, a journal or any adapter.
package tool

import (
	"context"
	"encoding/json"
	"time"

	"github.com/looprig/looprig/harness/content"
)

// Outcome is how a call ended. None of them ends the turn.
type Outcome string

// The outcomes.
const (
	OK               Outcome = "ok"
	ToolError        Outcome = "tool_error"        // the tool ran and reported an error
	InvalidArguments Outcome = "invalid_arguments" // refused before any gate
	Denied           Outcome = "denied"            // policy or a person refused
	Unavailable      Outcome = "unavailable"       // the tool is gone or its source cannot serve
	SchemaChanged    Outcome = "schema_changed"    // the definition is not the one the turn has
	Cancelled        Outcome = "cancelled"
	Timeout          Outcome = "timeout"
	OverLimit        Outcome = "over_limit"
	Indeterminate    Outcome = "indeterminate" // sent, outcome unknown; never re-sent
	Failed           Outcome = "failed"        // a typed failure of the source
)

// Identity is the name by which policy, grants and people know a tool. It
// never changes with the shortening of model-facing names.
type Identity struct {
	// Source is the slot that the tool came from: "builtin" or "mcp".
	Source  string
	Binding string
	// Name is the raw name within the binding.
	Name string
}

// String is "mcp:<binding>:<raw name>", or "builtin:<name>".
func (id Identity) String() string {
	if id == (Identity{}) {
		return ""
	}
	if id.Binding == "" {
		return id.Source + ":" + id.Name
	}
	return id.Source + ":" + id.Binding + ":" + id.Name
}

// Hints are the source's own claims about a tool. They are claims: only where
// the operator trusts a binding's annotations may they influence a decision,
// and never to lower a gate unasked.
type Hints struct {
	ReadOnly    *bool `json:"read_only,omitempty"`
	Destructive *bool `json:"destructive,omitempty"`
	Idempotent  *bool `json:"idempotent,omitempty"`
	OpenWorld   *bool `json:"open_world,omitempty"`
}

// Trust is the state of a tool's or its binding's pin.
type Trust string

// The trust states. TrustBuiltin is for tools that the host itself provides.
const (
	TrustBuiltin  Trust = "builtin"
	TrustAccepted Trust = "accepted"
	TrustOnce     Trust = "once"
	TrustPending  Trust = "pending"
)

// MaxInstructions is how many bytes of a source's instructions a model is given.
// How much is left out is said, to the model too; people see the whole.
const MaxInstructions = 4 << 10

// Definition is one callable tool. It is immutable.
type Definition struct {
	// Name is the model-facing name, unique within a Set.
	Name        string
	Title       string
	Description string
	// Instructions are what the tool's source says of how all its tools are used,
	// raw: the same text for each of them, "" where there is none.
	Instructions string
	// InputSchema and OutputSchema are kept as received.
	InputSchema  json.RawMessage
	OutputSchema json.RawMessage
	Hints        Hints
	HintsTrusted bool
	Identity     Identity
	// Digest ("sha256:<hex>") covers everything that steers a model or a
	// person; grants are bound to it.
	Digest string
	// Generation is the catalog generation that the definition belongs to.
	Generation uint64
	// Deferred keeps the definition out of a model's requests until the model
	// has asked for it. People see and call the tool like any other.
	Deferred bool
	Trust    Trust
	// Pin is the launch or endpoint fingerprint of the tool's source, or "".
	Pin string
	// Parallel allows calls of one step to run at the same time as others of
	// the same binding.
	Parallel bool
	// Tokens estimates what the definition costs in a model's context.
	Tokens  int
	Handler Handler
}

// Handler prepares calls of one tool. It is safe for concurrent use.
type Handler interface {
	// Prepare validates and normalises arguments: the result's Args are the
	// exact bytes that Invoke sends. It returns an *ArgumentError for
	// arguments that do not fit; nothing has been sent then.
	Prepare(ctx context.Context, args json.RawMessage) (Prepared, error)
}

// Prepared is one call that is ready to be decided on and then sent.
type Prepared interface {
	// Args are compact JSON without duplicate keys, the bytes to be sent.
	Args() json.RawMessage
	// Check says whether the call can still be served as defined: nil, or a
	// *Refusal with the outcome Unavailable or SchemaChanged. It may wait a
	// bounded time for a listing that is known to be stale. It is asked before
	// the gates and again after them.
	Check(ctx context.Context) *Refusal
	// Invoke sends the bytes once and waits for the outcome. It never panics
	// and always returns a Result; a context that ends is an outcome.
	Invoke(ctx context.Context, call Call) Result
}

// Call carries the ids of a call to its handler.
type Call struct {
	ID      string
	Session string
	Loop    string
	Turn    string
	Step    int
	// Progress receives progress reports; it may be nil and must not block.
	Progress func(Progress)
}

// Progress is one progress report. Message is raw text of the source.
type Progress struct {
	Progress, Total float64
	Message         string
}

// Result is what came of a call.
type Result struct {
	Outcome Outcome
	Content []content.Block
	// Structured is the structured content as received, or nil.
	Structured json.RawMessage
	// StructuredInvalid says, when not empty, how Structured breaks the output
	// schema; the content is delivered all the same.
	StructuredInvalid string
	// Reason is a host-written sentence for every outcome but OK.
	Reason string
	// Class is the source's error class for failures ("timeout", "lost" …).
	Class string
	// Sent says that bytes of this call may have reached the tool.
	Sent bool
	// Attempts counts the sends of this logical call.
	Attempts int
	// ServerTime is the time spent waiting for the source, gates excluded.
	ServerTime time.Duration
}

// Refusal is why a call cannot be made.
type Refusal struct {
	Outcome Outcome
	Reason  string
}

func (r *Refusal) Error() string { return string(r.Outcome) + ": " + r.Reason }

// ArgumentError says which arguments do not fit and why.
type ArgumentError struct {
	Tool     string
	Problems []ArgumentProblem
}

// ArgumentProblem is one misfit; Pointer is a JSON pointer into the arguments.
type ArgumentProblem struct {
	Pointer string
	Message string
}

func (e *ArgumentError) Error() string {
	s := "invalid arguments for " + e.Tool
	for i, p := range e.Problems {
		if i == 0 {
			s += ": "
		} else {
			s += "; "
		}
		if p.Pointer != "" {
			s += p.Pointer + ": "
		}
		s += p.Message
	}
	return s
}
