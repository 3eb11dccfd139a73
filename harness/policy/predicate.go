package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/itchyny/gojq"
)

// predicateTimeout bounds one evaluation. A predicate that takes longer fails.
const predicateTimeout = 100 * time.Millisecond

// PredicateError says what is wrong with a jq expression, and where.
type PredicateError struct {
	// Line and Col are where in the expression it was noticed, from 1; 0 where
	// no place is known.
	Line, Col int
	Reason    string
	Err       error
}

func (e *PredicateError) Error() string {
	if e.Line == 0 {
		return e.Reason
	}
	return fmt.Sprintf("%s (line %d, column %d of the expression)", e.Reason, e.Line, e.Col)
}

func (e *PredicateError) Unwrap() error { return e.Err }

func compilePredicate(src string) (*gojq.Code, error) {
	if len(src) > MaxPredicateBytes {
		return nil, &PredicateError{Reason: fmt.Sprintf("longer than %d bytes", MaxPredicateBytes)}
	}
	q, err := gojq.Parse(src)
	if err != nil {
		out := &PredicateError{Reason: "not a jq expression: " + err.Error(), Err: err}
		if pe, ok := errors.AsType[*gojq.ParseError](err); ok {
			out.Line, out.Col = place(src, pe.Offset-len(pe.Token))
		}
		return nil, out
	}
	code, err := gojq.Compile(q)
	if err != nil {
		return nil, &PredicateError{Reason: "not a usable jq expression: " + err.Error(), Err: err}
	}
	return code, nil
}

// place is the line and the column, in characters, of an offset.
func place(src string, offset int) (line, col int) {
	before := src[:min(max(offset, 0), len(src))]
	last := strings.LastIndexByte(before, '\n')
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[last+1:]) + 1
}

// args decodes the arguments for predicates once per decision, when one asks.
type args struct {
	raw     json.RawMessage
	decoded bool
	value   any
	err     error
}

func (a *args) get() (any, error) {
	if !a.decoded {
		a.decoded = true
		raw := a.raw
		if len(raw) == 0 {
			raw = json.RawMessage("{}")
		}
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		a.err = dec.Decode(&a.value)
	}
	return a.value, a.err
}

// holds evaluates a predicate: true for exactly one true, false for one false
// or null or for no result, else an error.
func holds(ctx context.Context, code *gojq.Code, a *args) (bool, error) {
	v, err := a.get()
	if err != nil {
		return false, fmt.Errorf("arguments: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, predicateTimeout)
	defer cancel()
	it := code.RunWithContext(ctx, v)
	first, ok := it.Next()
	if !ok {
		return false, nil
	}
	if err, failed := first.(error); failed {
		return false, err
	}
	if _, more := it.Next(); more {
		return false, errors.New("more than one result")
	}
	switch r := first.(type) {
	case bool:
		return r, nil
	case nil:
		return false, nil
	}
	return false, errors.New("the result is neither true nor false")
}
