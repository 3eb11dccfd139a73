package mcpadapter

import (
	"context"
	"time"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/model"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/mcpadapter/client"
)

// GateOpener raises a gate and waits for its answer. When ctx ends first the
// gate is withdrawn; an error means that the gate could not be opened at all.
type GateOpener interface {
	OpenGate(ctx context.Context, req gate.Request) (gate.Response, error)
}

var _ GateOpener = gate.Opener(nil)

// EventPublisher takes the Manager's events, one at a time and in order.
type EventPublisher interface {
	Publish(ctx context.Context, ev event.Event) error
}

// Reporter takes notices, one at a time and in order.
type Reporter interface {
	Report(n Notice)
}

// Sampler is the model behind sampling requests. It is called after the
// request was approved and writes exactly one message. It is safe for
// concurrent use.
type Sampler interface {
	// Describe says who would write the reply for the configured model name (""
	// is the session's) and whether that is a person, who then writes it in the
	// gate: Sample is not called. It never blocks.
	Describe(model string) (display string, person bool)
	// Sample writes the message. Its errors are shown to the server as a
	// host-written refusal without detail.
	Sample(ctx context.Context, req SamplingRequest) (SamplingMessage, error)
}

// SamplingPolicy bounds what a server may ask of the model.
type SamplingPolicy = client.SamplingPolicy

// SamplingRequest is one request, as it was approved. Strings are raw.
type SamplingRequest struct {
	Binding string
	// Model is the configured name; "" is the session's model.
	Model         string
	System        string
	Messages      []content.Message
	MaxTokens     int
	Temperature   *float64
	StopSequences []string
	// Tools are the server's own: the model may use them, and the host hands the
	// uses to the server and runs none.
	Tools []model.Tool
}

// SamplingMessage is a model's answer: text, and uses of the tools that the
// request brought. Images and audio are not passed on to servers.
type SamplingMessage struct {
	Text string
	// ToolUses are as the model wrote them; what is no use of one of the
	// request's tools has the message refused.
	ToolUses []model.ToolUse
	// Model is the model's own name.
	Model string
	// Stop is "end", "tool_use" or "max_tokens".
	Stop string
	// InputTokens and OutputTokens are counted against the budget; 0 where the
	// model does not say, and an estimate is counted.
	InputTokens, OutputTokens int
}

// Level is how serious a notice is.
type Level string

// The levels.
const (
	LevelInfo  Level = "info"
	LevelWarn  Level = "warn"
	LevelError Level = "error"
)

// Notice is an out-of-band message about a binding. Code is closed, Text is
// host-written.
type Notice struct {
	Time    time.Time
	Binding string
	Code    string
	Level   Level
	Text    string
	// Err is the typed error behind the notice, or nil.
	Err error
}

// TrustKind is what a decision of trust concludes.
type TrustKind string

// The conclusions.
const (
	// Accepted: the launch or endpoint is pinned.
	Accepted TrustKind = "accepted"
	// Once: accepted for this process, nothing is stored.
	Once TrustKind = "once"
	// Refused: nothing is started.
	Refused TrustKind = "refused"
	// Pending: nobody has decided; nothing is started until Reconnect asks
	// again.
	Pending TrustKind = "pending"
)

// Decision is the answer to a TrustRequest.
type Decision struct {
	Kind TrustKind
	// Fingerprint of the launch or endpoint that the decision is about.
	Fingerprint string
	// Reason is host-written.
	Reason string
	// Changed says that a refused or pending launch or endpoint is not the one
	// that was pinned: the failure's class is then "integrity".
	Changed bool
}

// trust is the decision as tool definitions carry it.
func (d Decision) trust() tool.Trust {
	switch d.Kind {
	case Accepted:
		return tool.TrustAccepted
	case Once:
		return tool.TrustOnce
	default:
		return tool.TrustPending
	}
}

// TrustRequest asks whether a binding may be started.
type TrustRequest struct {
	Binding string
	// Kind and Origin are the transport's; Definition holds all of it.
	Kind       string
	Origin     string
	Definition client.Definition
	// Waiting is to be called before somebody is asked: the binding is shown
	// as untrusted until the function returns.
	Waiting func()
}

// TrustFunc decides whether a binding may be started. It is called before the
// first start of every binding that is not built in, on a goroutine of its own;
// it may block until ctx ends, which happens when the binding is closed.
type TrustFunc func(ctx context.Context, req TrustRequest) Decision

// Clock tells the time of events.
type Clock interface{ Now() time.Time }

// Deps are what a Manager needs of its host. All of it is optional.
type Deps struct {
	// SessionID binds the Manager at once; otherwise use BindSession.
	SessionID string
	// Gates answers elicitations; without it they are declined.
	Gates    GateOpener
	Events   EventPublisher
	Reporter Reporter
	Clock    Clock
	// Sampling writes messages for servers whose definitions allow it; without
	// it the capability is not advertised.
	Sampling Sampler
	// ContextTokens is the size of the model's context, 0 where it is not known:
	// client.DiscoveryAuto defers the tools of large catalogs by it. It is that of
	// loops whose name LoopContextTokens does not have; SetContextTokens changes
	// both.
	ContextTokens     int
	LoopContextTokens map[string]int
	// DeferPercent is the share of the context, in percent, that a binding's tools
	// may take before they are deferred; 0 is EagerContextPercent.
	DeferPercent int
	// Eras keeps what was found of servers beyond the process.
	Eras Eras
	// Trust decides on starts; nil accepts.
	Trust TrustFunc
	// DigestKey keys the hashes of secret settings in ConfigDigest. Without it
	// digests can be compared within one Manager only.
	DigestKey []byte
	// Crash is told of a panic on one of the adapter's goroutines; nil lets it
	// end the process.
	Crash func(reason any, stack []byte)
	// connect replaces the protocol in tests.
	connect client.Connector
}

func (d Deps) crash() client.Crash { return d.Crash }

// LoopState is what a LoopWatcher reports of a loop.
type LoopState = string

// The states of loops.
const (
	LoopOpened  LoopState = "opened"
	LoopIdle    LoopState = "idle"
	LoopRunning LoopState = "running"
	LoopClosed  LoopState = "closed"
)

// LoopWatcher tells about loops. fn is called for each change, in order; it
// does not block. stop ends the watch and waits for a running fn.
type LoopWatcher interface {
	WatchLoops(ctx context.Context, fn func(loopID, name string, state LoopState)) (stop func())
}

// ToolInstaller replaces the tools of one source on a loop: at once when the
// loop is idle, else when its turn ends, never inside a turn.
type ToolInstaller interface {
	ReplaceExternalTools(ctx context.Context, loop, source string, generation uint64, defs []tool.Definition) error
}
