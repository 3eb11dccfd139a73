package client

import (
	"context"
	"encoding/json"
	"time"

	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/mcpadapter/catalog"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// State is where a client is in its life.
type State = integration.State

// Class is the closed list of ways in which a server can fail.
type Class = protocol.Class

// Error is every failure of a server or of the connection to it. Its Message
// is host-written, its Detail is raw text of the server.
type Error = protocol.Error

// The codes of state changes.
const (
	CodeStarted       = "started"
	CodeConnected     = "connected"
	CodeDiscovered    = "discovered"
	CodeRefreshed     = "refreshed"
	CodeRefreshFailed = "refresh_failed"
	CodeConnectFailed = "connect_failed"
	CodeLost          = "lost"
	CodeReconnect     = "reconnect_asked"
	CodeExpired       = "session_expired"
	CodeAuthRequired  = "auth_required"
	CodeRetiring      = "retiring"
	CodeClosing       = "closing"
	CodeClosed        = "closed"
)

// Session is what a Client needs of one protocol session. All methods are safe
// for concurrent use; their errors are *protocol.Error.
type Session interface {
	Info() protocol.Info
	List(ctx context.Context, fam protocol.Family, cursor string) (protocol.Page, error)
	CallTool(ctx context.Context, req protocol.CallRequest) (*protocol.Result, error)
	Request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
	ReadResource(ctx context.Context, uri string) (json.RawMessage, error)
	GetPrompt(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error)
	Complete(ctx context.Context, req protocol.CompleteRequest) (protocol.Completion, error)
	Subscribe(ctx context.Context, uri string) error
	// SubscribeAll is Subscribe for several resources at once; the result has an
	// element for each.
	SubscribeAll(ctx context.Context, uris []string) []error
	Unsubscribe(ctx context.Context, uri string) error
	// SetRoots replaces the roots and tells the server where its revision has a
	// way to do so.
	SetRoots(ctx context.Context, roots []protocol.Root) error
	SetLogLevel(ctx context.Context, level string) error
	Notify(ctx context.Context, method string, params json.RawMessage) error
	Ping(ctx context.Context) error
	Close() error
	Done() <-chan struct{}
	Err() error
	Diagnostics() wire.Diagnostics
}

var _ Session = (*protocol.Session)(nil)

// Connector makes a session. Errors are *protocol.Error.
type Connector func(ctx context.Context, opt protocol.Options) (Session, error)

// Connect is the Connector of the real protocol.
func Connect(ctx context.Context, opt protocol.Options) (Session, error) {
	s, err := protocol.Connect(ctx, opt)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// StateChange is one step of a client's life. Text is host-written.
type StateChange struct {
	Previous, State State
	Code            string
	Class           Class
	Text            string
	Time            time.Time
	// NextTry is when the next attempt is due; zero when none is planned.
	NextTry time.Time
	// Generation is the newest catalog generation, 0 when there is none.
	Generation uint64
}

// Observer is told what happens. Every field may be nil; functions are called
// from the client's goroutines, state changes and generations in order, and
// must not block.
type Observer struct {
	State func(StateChange)
	// Candidate reports a generation that differs from prev (nil at first).
	Candidate func(prev, next *catalog.Generation)
	// Rejected reports a listing that was refused; stays is the generation that
	// remains, 0 when there is none.
	Rejected func(stays uint64, class Class, reason string)
	// Stderr gets cleaned lines; Log gets JSON whose strings are cleaned.
	Stderr func(line string)
	Log    func(level, logger string, data json.RawMessage)
	// Notice reports a remark: level is "info", "warn" or "error".
	Notice func(code, level, text string)
	// Updated reports that a subscribed resource has changed, at most once a
	// second; uri is as it was subscribed.
	Updated func(uri string)
	// Trace sees every frame; it must not keep the slice.
	Trace func(sent bool, frame []byte)
	// ElicitComplete reports that an out-of-band interaction has ended.
	ElicitComplete func(elicitationID string)
}

// ElicitRequest is one question of the server; strings are raw.
type ElicitRequest = protocol.ElicitRequest

// ElicitResult answers an ElicitRequest.
type ElicitResult = protocol.ElicitResult

// SampleRequest is one request of the server for the model; strings are raw.
type SampleRequest = protocol.SampleRequest

// SampleResult answers a SampleRequest.
type SampleResult = protocol.SampleResult

// Eras remembers which protocol revision a server was found to speak, so that a
// later connection need not probe for it. It is safe for concurrent use.
type Eras interface {
	// Known is the revision, "" when it is not known.
	Known() string
	Found(revision string)
}

// Deps are what a Client needs of its owner; every field may be zero.
type Deps struct {
	Observer Observer
	// Explain, when set, adds to the text of a failed attempt what its server says
	// of it: the Detail of the error, fit to be shown.
	Explain func(text string, err error) string
	// Elicit answers the server's questions when the definition allows them.
	// While it runs, the clocks of the calls that may wait for it stand still.
	Elicit func(ctx context.Context, req ElicitRequest) (ElicitResult, error)
	// Sample answers the server's requests for the model when the definition
	// allows them; clocks stand still as for Elicit.
	Sample func(ctx context.Context, req SampleRequest) (SampleResult, error)
	// Eras is asked before the first connection and told after each; nil
	// remembers for this Client alone.
	Eras Eras
	// Now tells the time of changes; waits use the runtime's clock.
	Now func() time.Time
	// Connect replaces the real protocol.
	Connect Connector
	// Last is the newest generation of an earlier run of the same binding, or
	// nil: its number is what this run's numbers follow.
	Last *catalog.Generation
	// Crash is told of panics on the client's goroutines.
	Crash Crash
}

// Status is a snapshot of a client. Server-written strings are raw.
type Status struct {
	State      State
	Code       string
	Class      Class
	Text       string
	Since      time.Time
	NextTry    time.Time
	Generation *catalog.Generation
	Revision   string
	Server     catalog.Server
	Peer       wire.Diagnostics
	Inflight   int
	// Tolerances were applied on this connection beyond the generation's.
	Tolerances []string
	// Probe says why the newest revision was not used, or "".
	Probe string
}
