package tui

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/harness/tool"
)

// Session is the part of a session that the interface uses. ID, Model, Tools,
// Resolve and Gates answer from memory and never block; the others are called
// from commands, off the interface's goroutine, and should return as soon as the
// session has taken the request: what comes of it arrives as events.
type Session interface {
	// ID identifies the session; it is what resumes it.
	ID() string
	// Model is what to call the model: "you (no key)". Host-written.
	Model() string
	// Operator reports that no model is configured: the person chooses the
	// calls, and the first screen says how.
	Operator() bool
	// Submit gives text to the main loop. While a turn runs it is queued.
	Submit(ctx context.Context, text string) error
	// Call asks for one call by the model-facing name of a tool. The arguments
	// are one JSON object.
	Call(ctx context.Context, name string, args json.RawMessage) error
	// Interrupt ends the running turn.
	Interrupt(ctx context.Context) error
	// RespondGate answers an open gate. It fails with gate.ErrGateClosed or a
	// *gate.InvalidAnswerError, after which the gate is still open.
	RespondGate(ctx context.Context, id string, r gate.Response) error
	// Gates lists the open gates, oldest first, each with its private part.
	Gates() []gate.Envelope
	// Tools lists the tools that a call may name now.
	Tools() []tool.Definition
	// Resolve finds a tool by any spelling that people use: "demo add",
	// "demo.add", "mcp:demo:add", "mcp__demo__add".
	Resolve(spelling string) (tool.Definition, error)
}

// Events is a subscription to everything that happens in the session.
type Events interface {
	// Next waits for the next event. It returns io.EOF after the last one, and
	// any other error when the subscription is lost. One goroutine calls it.
	Next(ctx context.Context) (event.Record, error)
}

// Bindings is the port to the sources of tools.
type Bindings = integration.Port

// Clock tells the time.
type Clock interface {
	Now() time.Time
}

// Opener reaches out of the terminal on behalf of a person. Its methods are
// called from commands.
type Opener interface {
	// Open shows a page in the person's browser. It starts the browser without a
	// shell and does not wait for it.
	Open(url string) error
	// Copy puts text on a clipboard and says where it went ("clipboard",
	// "file …"). It returns ErrUseTerminal when the terminal itself is the way.
	Copy(text string) (how string, err error)
	// Remote reports that the terminal is on another machine (SSH), so that
	// copying an address is offered before opening it here.
	Remote() bool
}

// ErrUseTerminal asks the interface to hand text to the terminal's own
// clipboard (OSC 52), which only the owner of the terminal may do.
var ErrUseTerminal = errors.New("use the terminal's clipboard")
