package session

import (
	"errors"
	"fmt"
)

// Errors of sessions.
var (
	// ErrClosed: the session or the loop takes nothing more.
	ErrClosed = errors.New("session is closed")
	// ErrNoOrigin: an input, an interruption or an answer names no operator.
	ErrNoOrigin = errors.New("input has no operator as its origin")
	// ErrEmptyInput: neither text nor a call was given.
	ErrEmptyInput = errors.New("input is empty")
	// ErrDelegate: a delegate has the task that its parent gave it, and takes no
	// input.
	ErrDelegate = errors.New("a delegate takes no input: speak to the loop that it works for")
)

// NoLoopError says that no loop has the name.
type NoLoopError struct{ Loop string }

func (e *NoLoopError) Error() string {
	if e.Loop == "" {
		return "the session has no loop"
	}
	return fmt.Sprintf("no loop is called %q", e.Loop)
}

// LimitError says which limit refused something.
type LimitError struct {
	// What is the limit's name: "queued inputs", "loops".
	What  string
	Limit int
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("over the limit of %d %s", e.Limit, e.What)
}

// ArgsError says that an operator's arguments are no JSON object.
type ArgsError struct{ Reason string }

func (e *ArgsError) Error() string { return "arguments: " + e.Reason }

// StaleGenerationError says that a toolset is older than what the loop has.
type StaleGenerationError struct {
	Loop, Source string
	Have, Given  uint64
}

func (e *StaleGenerationError) Error() string {
	return fmt.Sprintf("toolset %q of loop %q: generation %d is older than %d", e.Source, e.Loop, e.Given, e.Have)
}

// JournalError says that the journal could not be written. It latches: the
// session makes no further calls.
type JournalError struct{ Err error }

func (e *JournalError) Error() string {
	return fmt.Sprintf("the journal cannot be written, no further calls are made: %v", e.Err)
}

func (e *JournalError) Unwrap() error { return e.Err }

// LossError says that a subscription cannot deliver the durable events from a
// sequence number on.
type LossError struct {
	From uint64
	Err  error
}

func (e *LossError) Error() string {
	return fmt.Sprintf("events from %d on cannot be delivered: %v", e.From, e.Err)
}

func (e *LossError) Unwrap() error { return e.Err }
