// Package exit is the one place where failures become exit codes and the
// machine-readable last line of stderr. It must not import anything that could
// fail.
package exit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/looprig/looprig/internal/safetext"
)

// Code is a process's exit code.
type Code int

// The exit codes. The first failing step decides; Integrity beats all.
const (
	OK            Code = 0
	Internal      Code = 1
	Usage         Code = 2 // usage or configuration
	Auth          Code = 3 // authorisation needed
	Unreachable   Code = 4 // a required binding failed or an endpoint is unreachable
	ToolError     Code = 5 // a tool reported an error
	GateRefused   Code = 6 // a gate was refused or unanswered
	Expectation   Code = 7 // an expectation failed
	Limit         Code = 8 // a turn, step or time limit
	Integrity     Code = 9 // ledger, journal, pin mismatch, SHA-256
	Interrupted   Code = 130
	maxStderrLine      = 64 << 10
)

// Error is a failure with its exit code.
type Error struct {
	Code Code
	// Name is the code in words: "usage", "gate_refused" …
	Name string
	// Message says what happened, where, and is host-written.
	Message string
	Binding string
	Class   string
	// Hint says what to do.
	Hint string
	Err  error
}

func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.Err }

// New makes an Error.
func New(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Name: code.String(), Message: err.Error(), Err: errors.Unwrap(err)}
}

// WithHint returns the error with a hint.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

func (c Code) String() string {
	switch c {
	case OK:
		return "ok"
	case Usage:
		return "usage"
	case Auth:
		return "auth_needed"
	case Unreachable:
		return "unreachable"
	case ToolError:
		return "tool_error"
	case GateRefused:
		return "gate_refused"
	case Expectation:
		return "expectation_failed"
	case Limit:
		return "limit"
	case Integrity:
		return "integrity"
	case Interrupted:
		return "interrupted"
	default:
		return "internal"
	}
}

// Of finds the exit code of an error: OK for nil, Internal for one that says
// nothing of it.
func Of(err error) Code {
	if err == nil {
		return OK
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Internal
}

// Worse picks the code that a run ends with: the first that is not OK, unless
// a later one is Integrity.
func Worse(first, later Code) Code {
	if first == OK || later == Integrity {
		return later
	}
	return first
}

// Report writes an error for people, and with machine set one last line of JSON.
func Report(w io.Writer, err error, machine bool) {
	if err == nil {
		return
	}
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Code: Internal, Name: Internal.String(), Message: err.Error()}
	}
	message := safetext.ToBlockN(e.Message, maxStderrLine).String()
	hint := safetext.ToBlockN(e.Hint, maxStderrLine).String()
	fmt.Fprintf(w, "looprig: %s\n", message)
	if hint != "" {
		fmt.Fprintf(w, "  %s\n", hint)
	}
	if !machine {
		return
	}
	line, jerr := json.Marshal(map[string]any{"error": map[string]any{
		"code": e.Name, "exit_code": int(e.Code), "message": message, "binding": e.Binding, "class": e.Class, "hint": hint,
	}})
	if jerr == nil {
		fmt.Fprintf(w, "%s\n", line)
	}
}
