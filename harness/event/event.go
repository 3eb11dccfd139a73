// Package event is the sealed union of everything that happens in a session
// and its one JSON encoding: a journal line, a line of `--output json` and
// what a remote watcher sees are the same bytes.
//
// There are two classes. Durable events are journaled, carry a gap-free
// sequence number that the session's hub assigns, and reach every subscriber in
// order or the subscriber gets a typed loss error. Ephemeral events carry no
// sequence number, are never journaled and may be dropped under load, oldest
// first, with a counter.
//
// The encoding is flat, snake_case, with durations as *_ms and digests as
// "sha256:<hex>", and additive under version 1. Every control, format (Cf) and
// line-separator character is escaped, so that a line holds no raw byte that a
// terminal would obey.
//
// The package must not import the session, an adapter or an interface.
package event

import (
	"encoding/json"
	"time"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/tool"
)

// Version is the version of the encoding.
const Version = 1

// Type names an event.
type Type string

// Header is what all events share. The hub alone assigns V, Seq, Time and
// Session; order is Seq, never Time.
type Header struct {
	V       int       `json:"v"`
	Seq     uint64    `json:"seq,omitempty"`
	Time    time.Time `json:"time"`
	Session string    `json:"session"`
	Loop    string    `json:"loop,omitempty"`
	Turn    string    `json:"turn,omitempty"`
	Type    Type      `json:"type"`
}

// Head gives the hub access to the header.
func (h *Header) Head() *Header { return h }

func (*Header) sealed() {}

// Event is one member of the union; always a pointer to a struct of this
// package.
type Event interface {
	Head() *Header
	sealed()
}

// Record is an event as it is delivered: Line is its encoding without a
// trailing newline. Line and Event must not be modified.
type Record struct {
	Event   Event
	Line    []byte
	Durable bool
}

// Coverage counts how much of a session's calls was seen, gated and recorded.
type Coverage struct {
	Calls         int `json:"calls"`
	Gated         int `json:"gated"`
	Ledgered      int `json:"ledgered"`
	Pinned        int `json:"pinned"`
	Outcomes      int `json:"outcomes"`
	Indeterminate int `json:"indeterminate"`
}

// Usage counts tokens as the model reported them.
type Usage struct {
	Input  int `json:"input,omitempty"`
	Output int `json:"output,omitempty"`
	// Of Input, what a cache served and what was written to one; of Output, what
	// was reasoning.
	CacheRead  int `json:"cache_read,omitempty"`
	CacheWrite int `json:"cache_write,omitempty"`
	Reasoning  int `json:"reasoning,omitempty"`
	// CostMicro is the price in millionths of Currency by the configured price
	// list; both are empty where no price is known.
	CostMicro int64  `json:"cost_micro,omitempty"`
	Currency  string `json:"currency,omitempty"`
}

// ForServers is the purpose of messages that servers asked for (sampling).
const ForServers = "sampling"

// ModelUsage is what one model used, summed over so many messages.
type ModelUsage struct {
	Model string `json:"model"`
	// Purpose is ForServers, or "" for the messages of loops.
	Purpose  string `json:"purpose,omitempty"`
	Messages int    `json:"messages"`
	Usage
}

// Decision is the journaled resolution of a call.
type Decision struct {
	// Verdict is "allow", "deny" or "ask".
	Verdict string `json:"verdict"`
	// Rule is the rule that won: "deny[0]", "allow[2]", "default",
	// "operator-issued", "grant:session", "grant:always".
	Rule string `json:"rule"`
	// Considered lists the rules that were looked at, in order.
	Considered []string `json:"considered,omitempty"`
	ToolDigest string   `json:"tool_digest,omitempty"`
	// Gate is the gate that settled an "ask", with who answered it.
	Gate     string         `json:"gate,omitempty"`
	Answerer *gate.Answerer `json:"answerer,omitempty"`
	Reason   string         `json:"reason,omitempty"`
	// Grant is the id of the grant that allowed the call.
	Grant string `json:"grant,omitempty"`
}

// The session's events.
type (
	// SessionStarted opens a journal.
	SessionStarted struct {
		Header
		App     string `json:"app"`
		Model   string `json:"model"`
		Mode    string `json:"mode"` // "interactive" or "headless"
		Title   string `json:"title,omitempty"`
		Journal string `json:"journal"` // "sqlite" or "memory"
		// Parent and ParentSeq of a fork: its history begins with the parent's
		// records up to that one.
		Parent    string `json:"parent,omitempty"`
		ParentSeq uint64 `json:"parent_seq,omitempty"`
		// Fingerprint is what the session was configured with (see Fingerprint).
		Fingerprint Fingerprint `json:"fingerprint,omitempty"`
	}
	// SessionClosed is the last event of a session.
	SessionClosed struct {
		Header
		ExitCode int      `json:"exit_code"`
		Reason   string   `json:"reason"`
		Coverage Coverage `json:"coverage"`
		// Usage of the whole session, by model.
		Usage   []ModelUsage `json:"usage,omitempty"`
		Dropped uint64       `json:"dropped,omitempty"` // ephemeral events that no subscriber got
	}
	// LoopStarted says that a loop exists and takes input.
	LoopStarted struct {
		Header
		Model string `json:"model"`
		// Of a delegate: the loop that started it, the call that did, and how many
		// delegates deep it is. The loop's own id names the whole chain, from the
		// outermost: "main/reviewer-1".
		Parent string `json:"parent,omitempty"`
		Call   string `json:"call,omitempty"`
		Depth  int    `json:"depth,omitempty"`
		// Agent is the configured loop that a delegate is an instance of.
		Agent string `json:"agent,omitempty"`
	}
	// LoopIdle says that a loop waits for input: an idle boundary.
	LoopIdle struct{ Header }
	// LoopClosed says that a loop takes no more input.
	LoopClosed struct {
		Header
		Reason string `json:"reason"`
	}
	// ToolsetAdopted says that a loop's next turns run under a new toolset.
	ToolsetAdopted struct {
		Header
		Source     string `json:"source"`
		Generation uint64 `json:"generation"` // of the slot, counts replacements
		Digest     string `json:"digest"`
		Tools      int    `json:"tools"`
		// Deferred are those of Tools that a model has to search for.
		Deferred int                 `json:"deferred,omitempty"`
		Bindings []BindingGeneration `json:"bindings,omitempty"`
	}
	// InputQueued says that input waits for a running turn to end.
	InputQueued struct {
		Header
		Input    string `json:"input"`
		Text     string `json:"text"`
		Position int    `json:"position"`
		// Kind is "call" for an operator's call, "compact" for a compaction, "" for
		// text to the model.
		Kind string `json:"kind,omitempty"`
	}
)

// BindingGeneration names a catalog generation of a binding.
type BindingGeneration struct {
	Binding    string `json:"binding"`
	Generation uint64 `json:"generation"`
	Digest     string `json:"digest"`
}

// The turn's events.
type (
	// TurnStarted begins a turn.
	TurnStarted struct {
		Header
		Input string `json:"input"`
		// Origin is "person" or "script"; Kind is "user" for text to the model,
		// "call" for an operator's call, "compact" for a compaction by hand.
		Origin  string `json:"origin"`
		Kind    string `json:"kind"`
		Text    string `json:"text,omitempty"`
		Toolset string `json:"toolset"`
	}
	// TurnCompleted ends a turn with an answer.
	TurnCompleted struct {
		Header
		Text       string `json:"text"`
		Steps      int    `json:"steps"`
		Calls      int    `json:"calls"`
		Usage      Usage  `json:"usage"`
		DurationMS int64  `json:"duration_ms"`
	}
	// TurnFailed ends a turn that could not go on.
	TurnFailed struct {
		Header
		// Code is closed: "model_error", "limit_steps", "limit_calls",
		// "context_overflow", "journal_failed", "unknown_tool", "internal".
		Code       string `json:"code"`
		Reason     string `json:"reason"`
		DurationMS int64  `json:"duration_ms"`
	}
	// TurnInterrupted ends a turn that an operator stopped.
	TurnInterrupted struct {
		Header
		By         string `json:"by"`
		DurationMS int64  `json:"duration_ms"`
	}
	// MessageCompleted is one whole message that joined the history.
	MessageCompleted struct {
		Header
		Step    int             `json:"step"`
		Role    content.Role    `json:"role"`
		Content []content.Block `json:"content"`
		Usage   Usage           `json:"usage"`
		Stop    string          `json:"stop,omitempty"`
	}
	// ToolRequested says that a call was asked for.
	ToolRequested struct {
		Header
		Step      int             `json:"step"`
		Call      string          `json:"call"`
		Tool      string          `json:"tool"`
		ModelName string          `json:"model_name"`
		Args      json.RawMessage `json:"args"`
		// By is "model", "person" or "script".
		By string `json:"by"`
	}
	// ToolStarted says that a call's intent is in the ledger and its bytes are
	// about to be sent.
	ToolStarted struct {
		Header
		Step       int             `json:"step"`
		Call       string          `json:"call"`
		Tool       string          `json:"tool"`
		ModelName  string          `json:"model_name"`
		Binding    string          `json:"binding,omitempty"`
		Generation uint64          `json:"generation,omitempty"`
		Args       json.RawMessage `json:"args"`
		ArgsDigest string          `json:"args_digest"`
		Decision   Decision        `json:"decision"`
		// Pinned says that the binding's launch or address was accepted.
		Pinned bool `json:"pinned,omitempty"`
	}
	// ToolCompleted is a call's outcome, also of calls that were never sent.
	ToolCompleted struct {
		Header
		Step              int             `json:"step"`
		Call              string          `json:"call"`
		Tool              string          `json:"tool"`
		ModelName         string          `json:"model_name"`
		Outcome           tool.Outcome    `json:"outcome"`
		Reason            string          `json:"reason,omitempty"`
		Class             string          `json:"class,omitempty"`
		Sent              bool            `json:"sent"`
		Attempts          int             `json:"attempts,omitempty"`
		Content           []content.Block `json:"content"`
		Structured        json.RawMessage `json:"structured,omitempty"`
		StructuredInvalid string          `json:"structured_invalid,omitempty"`
		// Args of a call that was not started, where preparing had changed them.
		Args json.RawMessage `json:"args,omitempty"`
		// Withheld counts what of the result the model was not given; all of it is
		// in Content, Structured and the bodies that they refer to.
		Withheld   *Withheld `json:"withheld,omitempty"`
		Decision   *Decision `json:"decision,omitempty"` // for calls that were not started
		DurationMS int64     `json:"duration_ms"`
		GateMS     int64     `json:"gate_ms,omitempty"`
		ServerMS   int64     `json:"server_ms,omitempty"`
	}
)

// Withheld counts what is over the caps of a result that goes to the model.
type Withheld struct {
	// Bytes of text, Data of images and audio not counted.
	Bytes int64 `json:"bytes,omitempty"`
	// Blocks that the model was given nothing of.
	Blocks int `json:"blocks,omitempty"`
}

// The gates' events.
type (
	// GateOpened shows an open gate's public part.
	GateOpened struct {
		Header
		gate.Envelope
	}
	// GateResolved says how a gate closed.
	GateResolved struct {
		Header
		Gate     string           `json:"gate"`
		Kind     gate.Kind        `json:"kind"`
		Subject  gate.Subject     `json:"subject"`
		Reason   gate.CloseReason `json:"reason"`
		Detail   string           `json:"detail,omitempty"`
		Response gate.Response    `json:"response"`
		WaitMS   int64            `json:"wait_ms"`
	}
)
