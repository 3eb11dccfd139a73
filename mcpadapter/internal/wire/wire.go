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

// Frame is one inbound frame. Exactly one of Data and Oversize is set.
type Frame struct {
	// Data is one JSON value without surrounding white space. Batch arrays are
	// delivered as they are; refusing them is the protocol layer's job.
	Data []byte
	// Oversize reports a frame that was over the limit and has been skipped to
	// its end.
	Oversize *Oversize
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
}

// Conn is one live connection. Read is called by one goroutine; Write, Close
// and Diagnostics may be called concurrently with everything.
type Conn interface {
	// Read returns the next frame. After the peer is gone it returns io.EOF or
	// a *LossError; after Close, ErrClosed.
	Read(ctx context.Context) (Frame, error)
	// Write sends one frame (no trailing newline needed). It has a write
	// deadline of its own (WriteTimeout): a peer that never reads fails typed.
	Write(ctx context.Context, frame []byte) error
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
