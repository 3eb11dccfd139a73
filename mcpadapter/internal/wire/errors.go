package wire

import (
	"errors"
	"fmt"
	"time"
)

// ErrClosed is returned after Close.
var ErrClosed = errors.New("connection closed")

// LossError says that the peer went away without being asked to.
type LossError struct {
	// Reason is a host-written, closed text: "process exited", "stream ended",
	// "write timed out" …
	Reason string
	// ExitCode is the process's exit code, -1 when there is none.
	ExitCode int
	// Signal is the name of the signal that ended the process, or "".
	Signal string
	Err    error
}

func (e *LossError) Error() string {
	switch {
	case e.Signal != "":
		return fmt.Sprintf("connection lost: %s (signal %s)", e.Reason, e.Signal)
	case e.ExitCode >= 0:
		return fmt.Sprintf("connection lost: %s (exit code %d)", e.Reason, e.ExitCode)
	}
	return "connection lost: " + e.Reason
}

func (e *LossError) Unwrap() error { return e.Err }

// NoiseError says that the peer printed more lines that are not JSON than the
// limit allows.
type NoiseError struct{ Lines, Limit int }

func (e *NoiseError) Error() string {
	return fmt.Sprintf("%d lines on stdout that are not JSON (limit noiseLines %d)", e.Lines, e.Limit)
}

// FrameEndError says that a frame over the limit never ended within the bounds
// for skipping it: it grew over Limit bytes, or Waited was over.
type FrameEndError struct {
	// ID is the raw JSON of the frame's "id" member, nil when it was not found.
	ID []byte
	// Skipped are the bytes of the frame so far, Limit how many may come.
	Skipped, Limit int64
	// Waited is how long its end was waited for, 0 when Limit was the bound.
	Waited time.Duration
	// Frame is the limit of a frame, which it was over.
	Frame int
}

func (e *FrameEndError) Error() string {
	if e.Waited > 0 {
		return fmt.Sprintf("a frame over the limit of %d bytes did not end within %s (%d bytes came)", e.Frame, e.Waited, e.Skipped)
	}
	return fmt.Sprintf("a frame over the limit of %d bytes did not end within %d bytes, at which it is given up", e.Frame, e.Limit)
}

// LaunchError says that a server's process could not be started.
type LaunchError struct {
	// Command is the configured command (never its arguments).
	Command string
	// Reason is host-written: "not found on PATH", "not executable" …
	Reason string
	// Dir says that it is the working directory that is at fault.
	Dir bool
	Err error
}

func (e *LaunchError) Error() string {
	return fmt.Sprintf("cannot start %q: %s", e.Command, e.Reason)
}

func (e *LaunchError) Unwrap() error { return e.Err }

// Setting is the configuration's key that is at fault, and why, for those who
// ask a person for it: "command" or "cwd".
func (e *LaunchError) Setting() (key, reason string) {
	if e.Dir {
		return "cwd", e.Reason
	}
	return "command", e.Reason
}

// ReasonSessionExpired is the Reason of the *LossError with which a connection
// over HTTP ends when the server no longer knows its session.
const ReasonSessionExpired = "the server ended the session"

// StatusError says that a request over HTTP was answered with a status that
// carries no JSON-RPC answer.
type StatusError struct {
	Status int
	// Body is the beginning of the answer's body, raw, at most MaxStatusBody
	// bytes, and only where it is text.
	Body string
	// MediaType is the answer's, without parameters, raw.
	MediaType string
	// Challenge is the raw WWW-Authenticate header of a 401 or 403.
	Challenge string
	// RetryAfter is how long the server asks to wait, 0 when it does not.
	RetryAfter time.Duration
}

// MaxStatusBody bounds what is kept of the body behind a *StatusError.
const MaxStatusBody = 4 << 10

func (e *StatusError) Error() string {
	return fmt.Sprintf("the server answered with status %d", e.Status)
}

// FailureClass is the class of the failure: "auth" where the server asks for
// authorisation, else "http".
func (e *StatusError) FailureClass() string {
	if e.Status == 401 || e.Status == 403 && e.Challenge != "" {
		return "auth"
	}
	return "http"
}

// NotEndpointError says that what answered does not speak MCP: a web page, an
// event stream that is none, an empty body.
type NotEndpointError struct {
	// Status is the answer's, 0 where what came was no HTTP.
	Status int
	// MediaType is the answer's, without parameters, raw.
	MediaType string
	// Reason is host-written.
	Reason string
}

func (e *NotEndpointError) Error() string {
	if e.Status == 0 {
		return "not an MCP endpoint: " + e.Reason
	}
	return fmt.Sprintf("not an MCP endpoint: %s (status %d)", e.Reason, e.Status)
}

// FailureClass is "endpoint".
func (*NotEndpointError) FailureClass() string { return "endpoint" }

// GuardError says that the client refused to go on for the user's safety: a
// redirect to another origin, an address that is not allowed, plain HTTP where
// TLS is asked for. Reason is host-written and names neither path nor query.
type GuardError struct {
	Reason string
	Err    error
}

func (e *GuardError) Error() string { return "refused: " + e.Reason }

func (e *GuardError) Unwrap() error { return e.Err }

// FailureClass is "refused".
func (*GuardError) FailureClass() string { return "refused" }
