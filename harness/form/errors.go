package form

import (
	"fmt"
	"strings"
)

// Code is the closed list of reasons why a schema makes no form.
type Code string

// The codes.
const (
	CodeMalformed     Code = "malformed"     // not JSON, or a duplicate key
	CodeOverLimit     Code = "over_limit"    // a bound with a name was exceeded
	CodeNotObject     Code = "not_object"    // the schema does not describe an object
	CodeUnsupported   Code = "unsupported"   // a construct that a form cannot ask for
	CodeContradiction Code = "contradiction" // bounds that nothing can meet
	CodeBadDefault    Code = "bad_default"   // a default that is no valid answer
	CodeBadSchema     Code = "bad_schema"    // not a valid or not a safe JSON Schema
)

// Refusal says why a schema was not turned into a form. Its text is
// host-written; names of the schema in it have been cleaned.
type Refusal struct {
	Code Code
	// Field is the name of the property concerned, raw; "" for the whole schema.
	Field  string
	Reason string
	// Limit, Size and Setting name the exceeded bound for CodeOverLimit.
	Limit, Size int64
	Setting     string
	Err         error
}

func (e *Refusal) Error() string {
	var b strings.Builder
	b.WriteString("form refused: ")
	if e.Field != "" {
		fmt.Fprintf(&b, "field %s: ", quoted(e.Field))
	}
	b.WriteString(e.Reason)
	if e.Code == CodeOverLimit {
		fmt.Fprintf(&b, ": %d over the limit of %d (setting %s)", e.Size, e.Limit, e.Setting)
	}
	return b.String()
}

func (e *Refusal) Unwrap() error { return e.Err }

// FieldError says why one field's value does not fit.
type FieldError struct {
	// Field is the field's name, raw; "" when no single field is at fault.
	Field string
	// Message is host-written and clean.
	Message string
}

func (e *FieldError) Error() string {
	if e.Field == "" {
		return e.Message
	}
	return "field " + quoted(e.Field) + ": " + e.Message
}

// Errors are all that is wrong with an answer, in field order and never empty.
type Errors []*FieldError

func (e Errors) Error() string {
	if len(e) == 0 {
		return "invalid answer"
	}
	if len(e) == 1 {
		return e[0].Error()
	}
	return fmt.Sprintf("%s (and %d more)", e[0].Error(), len(e)-1)
}

// Unwrap gives errors.As the single errors.
func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i, fe := range e {
		out[i] = fe
	}
	return out
}

// Field returns the message for a field, or "".
func (e Errors) Field(name string) string {
	for _, fe := range e {
		if fe.Field == name {
			return fe.Message
		}
	}
	return ""
}
