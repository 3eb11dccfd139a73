// Package wire is the seam between the byte transports (transport/stdio,
// transport/streamhttp, transport/sse) and the protocol layer: whole JSON-RPC
// frames in both directions and what is known of the peer's process. It knows
// neither the MCP SDK nor any MCP method.
//
// Invariants: a Conn never delivers a frame that is over its limit, never
// delivers bytes that are not one JSON value, and its Close is bounded.
package wire

import (
	"context"
	"time"
)

// Dialer opens connections to one server. Every Dial is a fresh connection
// (for stdio: a fresh process). Implementations are safe for concurrent use.
type Dialer interface {
	// Dial starts the server or opens the endpoint. The context bounds the
	// dialling alone; the connection outlives it.
	Dial(ctx context.Context, opt Options) (Conn, error)
	// Origin is the redacted description of the peer: transport kind and, for
	// stdio, the base name of the command; for HTTP, scheme and host. It never
	// holds arguments, paths, queries, headers or environment values.
	Origin() string
	// Kind is "stdio", "http" or "sse".
	Kind() string
}

// Options are the per-connection settings of a Dial.
type Options struct {
	// FrameBytes bounds one inbound frame, enforced while reading.
	FrameBytes int
	// NoiseLines bounds the inbound lines that are not JSON before the
	// connection fails with a *NoiseError. Stdio only.
	NoiseLines int
	// Stderr, when set, receives each stderr line (raw bytes, at most
	// MaxStderrLine long). It must not block.
	Stderr func(line []byte)
	// Noise, when set, receives each skipped stdout line that was not JSON,
	// cut to MaxStderrLine. It must not block.
	Noise func(line []byte)
	// Trace, when set, sees every frame as it was sent or received. It must
	// not block and must not keep the slice.
	Trace func(dir Direction, frame []byte)
	// CloseGrace overrides the waiting times of an orderly close (stdin EOF →
	// grace → SIGTERM → grace → SIGKILL). Zero means DefaultCloseGrace.
	CloseGrace time.Duration
}

// DefaultCloseGrace is the wait after stdin's end and again after SIGTERM.
const DefaultCloseGrace = time.Second

// MaxStderrLine bounds one stderr or noise line in bytes; longer lines are
// delivered in pieces.
const MaxStderrLine = 8 << 10

// Direction tells who sent a frame.
type Direction uint8

// The two directions of a frame.
const (
	Inbound Direction = iota
	Outbound
)

// Outgoing is one frame to be sent, with what a transport that has headers
// tells in them. A transport without headers sends the frame alone.
type Outgoing struct {
	// Frame is one JSON-RPC message.
	Frame []byte
	// ID is the id of a request; 0 for notifications and answers.
	ID int64
	// Method is the method of a request or notification, "" for answers.
	Method string
	// Name is the tool or prompt that is called or got, or the URI of the
	// resource that is read; else "".
	Name string
	// Revision is the negotiated revision, in a handshake the one offered.
	Revision string
	// Params are the arguments that the tool's definition asks to repeat in
	// headers (2026-07-28, x-mcp-header); values are as the definition's type
	// is written in text, not yet encoded for a header.
	Params []Param
	// Stream says that the answer is a stream that is meant to stay open.
	Stream bool
}

// Param is one argument that is repeated in a header. Name is what the
// definition calls the header, without a prefix.
type Param struct{ Name, Value string }

// Frame is one inbound frame. Exactly one of Data, Oversize and Failure is set.
type Frame struct {
	// Data is one JSON value without surrounding white space. Batch arrays are
	// delivered as they are; refusing them is the protocol layer's job.
	Data []byte
	// Oversize reports a frame that was over the limit and has been skipped to
	// its end.
	Oversize *Oversize
	// Failure reports that a request of ours gets no answer though the
	// connection lives.
	Failure *Failure
}

// Failure is the end of one request without an answer. Err is typed: a
// *StatusError, *NotEndpointError, *GuardError or *LossError.
type Failure struct {
	ID int64
	// Sent says that the request may have reached the server.
	Sent bool
	Err  error
}

// Oversize names a frame that was refused for its size.
type Oversize struct {
	// ID is the raw JSON of the frame's "id" member when it was found in the
	// first bytes of the frame, else nil.
	ID []byte
	// Method is the frame's "method" when found in the first bytes, else "".
	Method string
	// Size is the number of bytes that were skipped or kept, whole frame.
	Size int64
	// Limit is the limit that was exceeded.
	Limit int
	// Crowded says that the frame would have been within Limit, and found no room
	// beside the others that are read at the same time: see Budget.
	Crowded bool
}

// Conn is one live connection. Read is called by one goroutine; Write, Close
// and Diagnostics may be called concurrently with everything.
type Conn interface {
	// Read returns the next frame. After the peer is gone it returns io.EOF or
	// a *LossError; after Close, ErrClosed.
	Read(ctx context.Context) (Frame, error)
	// Write sends one frame (no trailing newline needed). It has a write
	// deadline of its own (WriteTimeout): a peer that never reads fails typed.
	// It returns when the frame is handed over; what becomes of a request whose
	// sending takes an exchange of its own (HTTP) is told by Read. An error ends
	// the connection, except that of a context that ended.
	Write(ctx context.Context, out Outgoing) error
	// Forget tells that nobody waits for the answer to the request with this id
	// any more, because it has arrived or was given up: what the connection
	// holds for it (an open response, its retries) is let go. It does not wait.
	// Unknown ids are ignored.
	Forget(id int64)
	// Close ends the connection within a bounded time, and for stdio leaves no
	// process behind. It is idempotent.
	Close() error
	// Done is closed when the connection is finished for whatever reason.
	Done() <-chan struct{}
	// Diagnostics is a snapshot of what is known about the peer.
	Diagnostics() Diagnostics
}

// WriteTimeout bounds one Write to a peer that does not read.
const WriteTimeout = 10 * time.Second

// Diagnostics describes the peer for status lines and error reports. Strings
// are raw: callers pass them through safetext before showing them.
type Diagnostics struct {
	PID        int
	Exited     bool
	ExitCode   int
	ExitSignal string
	NoiseLines int
	// StderrTail holds the last lines of stderr, oldest first.
	StderrTail []string
	// StderrDropped counts the lines that the ring no longer holds.
	StderrDropped int
	// Warnings are host-written remarks of the launch (a skipped PATH element,
	// a script that is not swap-proof).
	Warnings []string
	// WithheldEnv names the variables of the host's environment that were not
	// passed on and that servers often want.
	WithheldEnv []string
}
