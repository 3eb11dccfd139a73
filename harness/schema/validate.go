package schema

import (
	"errors"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Validate checks one JSON instance. What does not fit is a *ValidationError;
// an instance that cannot be judged within the bounds, or that is not one JSON
// value without duplicate keys, is an *Error.
func (s *Schema) Validate(instance []byte) error {
	v, err := decode(instance, s.lim.JSONDepth)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.met.start("validating", s.lim.ValidateTime)
	s.met.unknownMatches = true
	err = s.run(v)
	var misfit *jsonschema.ValidationError
	if !errors.As(err, &misfit) {
		return err
	}
	if len(s.unchecked) > 0 {
		// A pattern that is left to the server must not refuse anything, under
		// a "not" either. So what fits under one of both answers fits.
		s.met.unknownMatches = false
		if s.run(v) == nil {
			return nil
		}
	}
	return validationError(misfit)
}

// run calls the library and turns what unwound it into an error.
func (s *Schema) run(v any) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case stop:
			err = r.err
		default:
			err = &Error{Code: CodeInternal, Message: "the schema library failed on this value"}
		}
	}()
	return s.root.Validate(v)
}
