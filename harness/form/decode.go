package form

import (
	"encoding/json"

	"github.com/looprig/looprig/harness/schema"
)

// Decode reads an object as answers, for answers files and for filling a form
// in advance; it need not answer every field. An unknown field and a value that
// does not fit its field fail with Errors.
func (s Schema) Decode(obj json.RawMessage) (Values, error) {
	whole, fe := wholeObject(obj)
	if fe != nil {
		return nil, Errors{fe}
	}
	if s.Whole {
		return Values{"": whole}, nil
	}
	members, err := parseObject(whole)
	if err != nil {
		return nil, Errors{{Message: "must be a JSON object"}}
	}
	values := make(Values, len(members))
	var errs Errors
	for _, m := range members {
		f, ok := s.Field(m.name)
		if !ok {
			errs = append(errs, s.noSuchField(m.name))
			continue
		}
		value := m.value
		if !f.leftEmpty(value) {
			if value, err = s.fit(f, m.value); err != nil {
				errs = append(errs, &FieldError{Field: f.Name, Message: err.Error()})
				continue
			}
		}
		values[f.Name] = value
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return values, nil
}

// JSON returns the one stable encoding of the form, as events carry it.
func (s Schema) JSON() (json.RawMessage, error) { return json.Marshal(s) }

type plain Schema // without methods

var (
	_ json.Marshaler   = Schema{}
	_ json.Unmarshaler = (*Schema)(nil)
)

// MarshalJSON encodes the form with its original schema. Equal forms have equal
// encodings.
func (s Schema) MarshalJSON() ([]byte, error) {
	if s.Fields == nil {
		s.Fields = []Field{} // a form without fields says so
	}
	return json.Marshal(plain(s))
}

// UnmarshalJSON reads what MarshalJSON wrote, however its strings were escaped
// since.
func (s *Schema) UnmarshalJSON(b []byte) error {
	var p plain
	if err := json.Unmarshal(b, &p); err != nil {
		return err
	}
	if len(p.Fields) == 0 {
		p.Fields = nil
	}
	if err := normalise(&p.Raw); err != nil {
		return err
	}
	for i := range p.Fields {
		f := &p.Fields[i]
		if err := normalise(&f.Default); err != nil {
			return err
		}
		for j := range f.Options {
			if err := normalise(&f.Options[j].Value); err != nil {
				return err
			}
		}
	}
	*s = Schema(p)
	return nil
}

func normalise(raw *json.RawMessage) error {
	if *raw == nil {
		return nil
	}
	out, err := schema.Normal(*raw)
	*raw = out
	return err
}
