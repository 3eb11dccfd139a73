package form

import "encoding/json"

// ParseText turns what a person typed into the JSON of one field. It fails
// with *FieldError.
func (s Schema) ParseText(f Field, text string) (json.RawMessage, error) {
	return json.Marshal(text)
}

// Encode builds the object to send: fields in order, an untouched field by its
// default, and left out without one. It fails with Errors.
func (s Schema) Encode(v Values) (json.RawMessage, error) {
	return json.RawMessage("{}"), nil
}

// Decode reads an object as answers, for answers files and for filling a form
// in advance. An unknown field or a value that does not fit fails with Errors.
func (s Schema) Decode(obj json.RawMessage) (Values, error) {
	return Values{}, nil
}

// JSON returns the one stable encoding of the form, the same as MarshalJSON.
func (s Schema) JSON() (json.RawMessage, error) { return json.Marshal(s) }
