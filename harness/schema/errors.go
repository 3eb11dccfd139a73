package schema

import (
	"fmt"
	"strings"
)

// Code is the closed list of reasons why a schema, a JSON text or a validation
// was refused.
type Code string

// The codes.
const (
	CodeMalformed  Code = "malformed"     // not one JSON value
	CodeDuplicate  Code = "duplicate_key" // an object names a key twice
	CodeOverLimit  Code = "over_limit"    // a bound with a name was exceeded
	CodeInvalid    Code = "invalid"       // not a valid schema
	CodeCycle      Code = "cycle"         // a reference cycle that does not descend into the instance
	CodeExternal   Code = "external_ref"  // a reference that leaves the document
	CodeUnresolved Code = "unresolved"    // a reference to nothing
	CodeDialect    Code = "dialect"       // a $schema that is not known
	CodeInternal   Code = "internal"      // the schema library failed
)

// Error says why something was refused. Its message is host-written; text of
// the schema in it has been cleaned.
type Error struct {
	Code Code
	// Path is a JSON pointer into the schema or text, cleaned; "" for all of it.
	Path    string
	Message string
	// Limit, Size and Setting name the exceeded bound for CodeOverLimit.
	Limit, Size int64
	Setting     string
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Message)
	if e.Path != "" {
		b.WriteString(" at ")
		b.WriteString(e.Path)
	}
	if e.Code == CodeOverLimit {
		fmt.Fprintf(&b, ": %d over the limit of %d (setting %s)", e.Size, e.Limit, e.Setting)
	}
	return b.String()
}

// Problem is one way in which an instance does not fit.
type Problem struct {
	// Pointer is the JSON pointer of the value in the instance, exact: it may
	// contain text of the instance and must be cleaned before it is shown.
	Pointer string
	// Keyword is the keyword that failed.
	Keyword string
	// Property is the name, raw, of the property that is missing or unknown, for
	// the keywords that are about one; else "".
	Property string
	// Message is host-written; text of the schema in it has been cleaned.
	Message string
}

// MaxProblems is how many problems one ValidationError lists.
const MaxProblems = 16

// ValidationError says that an instance does not fit its schema.
type ValidationError struct {
	// Problems are at most MaxProblems, ordered by position.
	Problems []Problem
	// Total is how many there were.
	Total int
}

func (e *ValidationError) Error() string {
	if len(e.Problems) == 0 {
		return "does not fit the schema"
	}
	p := e.Problems[0]
	msg := p.Message
	if p.Pointer != "" {
		msg = quoted(p.Pointer) + ": " + msg
	}
	if e.Total > 1 {
		msg = fmt.Sprintf("%s (and %d more)", msg, e.Total-1)
	}
	return msg
}
