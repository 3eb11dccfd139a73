package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/itchyny/gojq"
)

// predicateTimeout bounds one evaluation. A predicate that takes longer fails.
const predicateTimeout = 100 * time.Millisecond

func compilePredicate(src string) (*gojq.Code, error) {
	if len(src) > MaxPredicateBytes {
		return nil, fmt.Errorf("longer than %d bytes", MaxPredicateBytes)
	}
	q, err := gojq.Parse(src)
	if err != nil {
		return nil, fmt.Errorf("not a jq expression: %w", err)
	}
	code, err := gojq.Compile(q)
	if err != nil {
		return nil, fmt.Errorf("not a usable jq expression: %w", err)
	}
	return code, nil
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
