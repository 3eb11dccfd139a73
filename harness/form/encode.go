package form

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/looprig/looprig/harness/schema"
)

// Encode builds the object to send. Fields come in form order; an untouched
// field is sent by its default and left out without one; an optional list that
// was emptied is left out where the empty list would not fit. The whole object
// is then validated against the schema that the form came from. Encode fails
// with Errors.
func (s Schema) Encode(v Values) (json.RawMessage, error) {
	errs := s.unknown(v)
	if s.Whole {
		return s.encodeWhole(v, errs)
	}
	out := []byte{'{'}
	for _, f := range s.Fields {
		value, err := s.answer(f, v)
		if err != nil {
			errs = append(errs, err)
		}
		if value == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		name, qerr := quoteJSON(f.Name)
		if qerr != nil {
			errs = append(errs, &FieldError{Field: f.Name, Message: "has a name that is not valid UTF-8"})
			continue
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	out = append(out, '}')
	if len(errs) > 0 {
		return nil, errs
	}
	return s.validated(out)
}

func (s Schema) encodeWhole(v Values, errs Errors) (json.RawMessage, error) {
	if len(errs) > 0 {
		return nil, errs
	}
	obj, err := wholeObject(v[""])
	if err != nil {
		return nil, Errors{err}
	}
	return s.validated(obj)
}

func wholeObject(raw json.RawMessage) (json.RawMessage, *FieldError) {
	if len(raw) == 0 {
		return nil, &FieldError{Message: "a JSON object is required"}
	}
	obj, err := schema.Normal(raw)
	if err != nil {
		return nil, &FieldError{Message: "is not valid JSON: " + err.Error()}
	}
	if kindOf(obj) != jsontext.KindBeginObject {
		return nil, &FieldError{Message: "must be a JSON object"}
	}
	return obj, nil
}

// unknown reports the answers to questions that were not asked.
func (s Schema) unknown(v Values) Errors {
	var errs Errors
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if _, ok := s.Field(name); !ok {
			errs = append(errs, s.noSuchField(name))
		}
	}
	return errs
}

// maxNamed is how many fields a message names.
const maxNamed = 8

func (s Schema) noSuchField(name string) *FieldError {
	var known []string
	for _, f := range s.Fields[:min(len(s.Fields), maxNamed)] {
		known = append(known, quoted(f.Name))
	}
	msg := "the form has no such field"
	if len(known) > 0 {
		msg += "; it has " + strings.Join(known, ", ")
		if len(s.Fields) > maxNamed {
			msg += " and more"
		}
	}
	return &FieldError{Field: name, Message: msg}
}

// answer returns what to send for a field, nil for nothing.
func (s Schema) answer(f Field, v Values) (json.RawMessage, *FieldError) {
	raw, set := v[f.Name]
	if !set || raw == nil {
		raw = f.Default
	}
	if raw == nil {
		if f.Required {
			return nil, &FieldError{Field: f.Name, Message: "is required"}
		}
		return nil, nil
	}
	if f.leftEmpty(raw) {
		return nil, nil
	}
	value, err := s.fit(f, raw)
	if err != nil {
		return nil, &FieldError{Field: f.Name, Message: err.Error()}
	}
	return value, nil
}

// leftEmpty reports whether raw is an empty list that an optional field does
// not take: then nothing was chosen.
func (f Field) leftEmpty(raw json.RawMessage) bool {
	if f.Kind != KindMulti || f.Required || f.MinItems == nil || *f.MinItems == 0 {
		return false
	}
	items, err := parseArray(raw)
	return err == nil && len(items) == 0
}

// fit checks one value and returns its plain spelling.
func (s Schema) fit(f Field, raw json.RawMessage) (json.RawMessage, error) {
	value, err := f.normal(raw)
	if err != nil {
		return nil, err
	}
	if s.ValueBytes > 0 && len(value) > s.ValueBytes {
		return nil, tooLarge(len(value), s.ValueBytes)
	}
	return value, nil
}

func tooLarge(size, limit int) error {
	return misfitf("is too large: %d bytes, at most %d", size, limit)
}

// validated checks the whole object against the original schema.
func (s Schema) validated(obj json.RawMessage) (json.RawMessage, error) {
	if len(s.Raw) == 0 {
		return obj, nil
	}
	sch, err := schema.Compile(s.Raw, schema.Limits{})
	if err != nil {
		return nil, Errors{{Message: "the form's schema cannot be used: " + err.Error()}}
	}
	err = sch.Validate(obj)
	var ve *schema.ValidationError
	switch {
	case err == nil:
		return obj, nil
	case errors.As(err, &ve):
		return nil, s.fieldErrors(ve)
	}
	return nil, Errors{{Message: err.Error()}}
}

// fieldErrors turns the problems of the whole into errors of fields, in field
// order.
func (s Schema) fieldErrors(ve *schema.ValidationError) Errors {
	errs := make(Errors, 0, len(ve.Problems))
	for _, p := range ve.Problems {
		name, rest := topField(p)
		fe := &FieldError{Field: name, Message: p.Message}
		if _, ok := s.Field(name); !ok || s.Whole {
			fe.Field, rest = "", p.Pointer
		}
		if rest != "" {
			fe.Message = "at " + quoted(rest) + ": " + fe.Message
		}
		errs = append(errs, fe)
	}
	slices.SortStableFunc(errs, func(a, b *FieldError) int { return s.position(a.Field) - s.position(b.Field) })
	return errs
}

// topField splits the place of a problem into the field and what is below it.
func topField(p schema.Problem) (name, rest string) {
	if p.Pointer == "" {
		return p.Property, ""
	}
	name, rest, found := strings.Cut(p.Pointer[1:], "/")
	if found {
		rest = "/" + rest
	}
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(name), rest
}

// position orders errors by field; those of no field come last.
func (s Schema) position(name string) int {
	i := slices.IndexFunc(s.Fields, func(f Field) bool { return f.Name == name })
	if i < 0 || s.Whole {
		return len(s.Fields)
	}
	return i
}
