package protocol

import (
	"context"
	"encoding/json"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// Session is one live MCP session. All methods are safe for concurrent use.
// Every error is a *Error.
type Session struct {
	conn wire.Conn
	info Info
	done chan struct{}
}

// Connect dials a server, negotiates a revision and returns the session. It
// never outlives ctx; the session does. All errors are *Error.
func Connect(ctx context.Context, opt Options) (*Session, error) {
	return nil, &Error{Class: ClassUnsupported, Op: "connect", Message: "not available"}
}

// Info is what negotiation found; it does not change.
func (s *Session) Info() Info { return s.info }

// List fetches one page of a family; cursor "" asks for the first page.
func (s *Session) List(ctx context.Context, fam Family, cursor string) (Page, error) {
	return Page{}, s.unavailable(string(fam))
}

// CallTool runs one logical tool call.
func (s *Session) CallTool(ctx context.Context, req CallRequest) (*Result, error) {
	return nil, s.unavailable("tools/call")
}

// Request sends one raw request and returns the raw result. It refuses
// tools/call and the methods of the handshake.
func (s *Session) Request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	return nil, s.unavailable(method)
}

// ReadResource reads a resource and returns the raw result.
func (s *Session) ReadResource(ctx context.Context, uri string) (json.RawMessage, error) {
	return nil, s.unavailable("resources/read")
}

// GetPrompt gets a prompt; args is a JSON object of strings or nil.
func (s *Session) GetPrompt(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	return nil, s.unavailable("prompts/get")
}

// Subscribe asks for updates of one resource, on every revision.
func (s *Session) Subscribe(ctx context.Context, uri string) error {
	return s.unavailable("resources/subscribe")
}

// Unsubscribe ends a subscription.
func (s *Session) Unsubscribe(ctx context.Context, uri string) error {
	return s.unavailable("resources/unsubscribe")
}

// SetLogLevel sets the level of log notifications, on every revision.
func (s *Session) SetLogLevel(ctx context.Context, level string) error {
	return s.unavailable("logging/setLevel")
}

// Notify sends one notification.
func (s *Session) Notify(ctx context.Context, method string, params json.RawMessage) error {
	return s.unavailable(method)
}

// Ping checks that the server answers.
func (s *Session) Ping(ctx context.Context) error { return s.unavailable("ping") }

// Close ends the session within a bounded time; it is idempotent.
func (s *Session) Close() error { return s.unavailable("close") }

// Done is closed when the session is lost or closed.
func (s *Session) Done() <-chan struct{} { return s.done }

// Err is the cause of the session's end, nil while it lives.
func (s *Session) Err() error { return nil }

// Diagnostics describes the peer; its strings are raw.
func (s *Session) Diagnostics() wire.Diagnostics { return s.conn.Diagnostics() }

func (s *Session) unavailable(op string) error {
	return &Error{Class: ClassUnsupported, Op: op, Message: "not available"}
}
