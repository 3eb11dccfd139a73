package wire

import (
	"errors"
	"fmt"
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

// FrameEndError says that an oversized frame never ended within the bound for
// skipping it.
type FrameEndError struct{ Skipped, Limit int64 }

func (e *FrameEndError) Error() string {
	return fmt.Sprintf("a frame over the limit did not end after %d bytes (limit %d)", e.Skipped, e.Limit)
}

// LaunchError says that a server's process could not be started.
type LaunchError struct {
	// Command is the configured command (never its arguments).
	Command string
	// Reason is host-written: "not found on PATH", "not executable" …
	Reason string
	Err    error
}

func (e *LaunchError) Error() string {
	return fmt.Sprintf("cannot start %q: %s", e.Command, e.Reason)
}

func (e *LaunchError) Unwrap() error { return e.Err }
