package protocol

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// Class is the closed list of ways in which a server can fail. It is what
// statuses, StartupError and machine-readable errors carry.
type Class string

// The classes.
const (
	ClassLaunch      Class = "launch"      // the process could not be started
	ClassIntegrity   Class = "integrity"   // sha256 or pin mismatch
	ClassTimeout     Class = "timeout"     // a bounded wait ran out
	ClassLost        Class = "lost"        // the peer went away
	ClassNoise       Class = "noise"       // too many lines that are not JSON
	ClassMalformed   Class = "malformed"   // a frame or value that the tap refused
	ClassOverLimit   Class = "over_limit"  // a bound with a name was exceeded
	ClassProtocol    Class = "protocol"    // a JSON-RPC or MCP rule was broken
	ClassUnsupported Class = "unsupported" // no common revision, unknown result type
	ClassRemote      Class = "remote"      // the server answered with an error
	ClassCancelled   Class = "cancelled"   // we cancelled
	ClassClosed      Class = "closed"      // the session is closed
	ClassPanic       Class = "panic"       // recovered from a panic in the SDK or a handler
	ClassUntrusted   Class = "untrusted"   // not started before it is trusted
	ClassConfig      Class = "config"      // a definition that cannot run
	ClassCatalog     Class = "catalog"     // a listing that was refused
	ClassAuth        Class = "auth"        // authorisation is needed
	ClassHTTP        Class = "http"        // a status without a JSON-RPC answer
	ClassEndpoint    Class = "endpoint"    // what answered does not speak MCP
	ClassRefused     Class = "refused"     // refused by the guard of the HTTP client
)

// Error is every failure of this package. Message is host-written; Detail may
// hold raw server text and must pass safetext before it is shown.
type Error struct {
	Class   Class
	Op      string // "connect", "tools/list", "tools/call" …
	Message string
	Detail  string
	// Code is the JSON-RPC error code for ClassRemote, else 0.
	Code int
	// Data is the raw "data" member of a remote error, or nil. For the
	// URL-required error (CodeURLRequired) it lists the elicitations.
	Data json.RawMessage
	// Limit, Size and Setting name an exceeded bound for ClassOverLimit.
	Limit, Size int64
	Setting     string
	// Sent says that the request may have reached the server: its outcome is
	// unknown unless the class is ClassRemote.
	Sent bool
	// Diagnostics is set by a Connect that failed after the peer was started:
	// what was known of it at that moment. Its strings are raw.
	Diagnostics *wire.Diagnostics
	// Cleanup, set by a failed Connect, is closed when every connection that
	// the attempt had opened is closed. Connect does not wait for it, because
	// it must not outlive its context; whoever owns the binding does.
	Cleanup <-chan struct{}
	Err     error
}

// JSON-RPC and MCP error codes that callers decide on.
const (
	// CodeRejected is the code with which a server is told that the user, or a
	// policy in the user's place, refused its request.
	CodeRejected            = -1
	CodeMethodNotFound      = -32601
	CodeInvalidParams       = -32602
	CodeHeaderMismatch      = -32020
	CodeMissingCapability   = -32021
	CodeUnsupportedRevision = -32022
	CodeURLRequired         = -32042
)

func (e *Error) Error() string { return e.Op + ": " + e.Reason() }

// Reason is the host-written text of the error without its operation, with the
// limit or the code where there is one.
func (e *Error) Reason() string {
	switch {
	case e.Class == ClassOverLimit:
		return fmt.Sprintf("%s: %d over the limit of %d (setting %s)", e.Message, e.Size, e.Limit, e.Setting)
	case e.Code != 0:
		return fmt.Sprintf("%s (code %d)", e.Message, e.Code)
	}
	return e.Message
}

func (e *Error) Unwrap() error { return e.Err }

// ClassOf returns the class of err, or "" when it is none of ours.
func ClassOf(err error) Class {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return ""
}
