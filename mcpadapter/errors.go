package mcpadapter

import (
	"errors"
	"fmt"
	"strings"

	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/mcpadapter/client"
)

// Errors of the Manager.
var (
	ErrAlreadyStarted = errors.New("manager is already started")
	ErrAlreadyBound   = errors.New("manager is already bound to a session")
	ErrNotBound       = errors.New("manager is not bound to a session")
	ErrManagerClosed  = errors.New("manager is closed")
	ErrNotStarted     = errors.New("manager is not started")
)

// DuplicateModelNameError says that two tools would answer to one name.
type DuplicateModelNameError = tool.DuplicateModelNameError

// Class is the closed list of ways in which a server can fail.
type Class = client.Class

// StartupError says which required bindings could not start. Everything that
// had been started is closed again.
type StartupError struct {
	Failures []BindingFailure
}

func (e *StartupError) Error() string {
	parts := make([]string, len(e.Failures))
	for i, f := range e.Failures {
		parts[i] = f.Error()
	}
	return "required bindings failed: " + strings.Join(parts, "; ")
}

// Unwrap gives errors.Is and errors.As the single failures.
func (e *StartupError) Unwrap() []error {
	out := make([]error, len(e.Failures))
	for i := range e.Failures {
		out[i] = e.Failures[i]
	}
	return out
}

// BindingFailure is why one binding could not start. It is an error.
type BindingFailure struct {
	Binding string
	Class   Class
	// Reason is host-written; what it repeats of the server is clean and marked.
	Reason string
	// Stderr holds the last lines that the server wrote to stderr, cleaned.
	Stderr []string
	Err    error
}

func (f BindingFailure) Error() string {
	s := fmt.Sprintf("binding %q: %s: %s", f.Binding, f.Class, f.Reason)
	if len(f.Stderr) > 0 {
		s += " (the server wrote: " + strings.Join(f.Stderr, " | ") + ")"
	}
	return s
}

func (f BindingFailure) Unwrap() error { return f.Err }

// ConfigError says why a set of bindings or a reconfiguration was refused;
// nothing of it was applied.
type ConfigError struct {
	Binding string
	Reason  string
	Err     error
}

func (e *ConfigError) Error() string {
	if e.Binding == "" {
		return e.Reason
	}
	return fmt.Sprintf("binding %q: %s", e.Binding, e.Reason)
}

func (e *ConfigError) Unwrap() error { return e.Err }

// UnknownBindingError says that no binding has the name.
type UnknownBindingError struct{ Name string }

func (e *UnknownBindingError) Error() string { return fmt.Sprintf("no binding is called %q", e.Name) }
