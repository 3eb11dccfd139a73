package form

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// member is one key of a JSON object with its value's exact text.
type member struct {
	name  string
	value json.RawMessage
}

// object is a JSON object in its own order. Field order is the order of the
// schema, which a Go map would lose.
type object []member

func (o object) get(name string) (json.RawMessage, bool) {
	for _, m := range o {
		if m.name == name {
			return m.value, true
		}
	}
	return nil, false
}

func (o object) has(name string) bool {
	_, ok := o.get(name)
	return ok
}

// text returns the string at name, or "" when there is none.
func (o object) text(name string) string {
	v, _ := o.get(name)
	s, _ := stringOf(v)
	return s
}

// isTrue reports whether the value at name is true.
func (o object) isTrue(name string) bool {
	v, _ := o.get(name)
	return string(v) == "true"
}

// without returns the object without one key.
func (o object) without(name string) object {
	out := make(object, 0, len(o))
	for _, m := range o {
		if m.name != name {
			out = append(out, m)
		}
	}
	return out
}

// merge adds the members of inner to those of o. Annotations of o win; a name
// of an assertion in both makes it fail.
func (o object) merge(inner object) (object, bool) {
	out := append(object{}, o...)
	for _, m := range inner {
		switch {
		case !o.has(m.name):
			out = append(out, m)
		case isAssertion(m.name):
			return nil, false
		}
	}
	return out, true
}

var (
	errNotObject = errors.New("not a JSON object")
	errNotArray  = errors.New("not a JSON array")
)

// parseObject reads the members of a JSON object. Duplicate keys are refused.
func parseObject(raw []byte) (object, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != jsontext.KindBeginObject {
		return nil, errNotObject
	}
	var o object
	for dec.PeekKind() != jsontext.KindEndObject {
		tok, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		m := member{name: tok.String()}
		v, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		m.value = json.RawMessage(bytes.Clone(v))
		o = append(o, m)
	}
	return o, end(dec)
}

// parseArray reads the items of a JSON array.
func parseArray(raw []byte) ([]json.RawMessage, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != jsontext.KindBeginArray {
		return nil, errNotArray
	}
	items := []json.RawMessage{}
	for dec.PeekKind() != jsontext.KindEndArray {
		v, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		items = append(items, json.RawMessage(bytes.Clone(v)))
	}
	return items, end(dec)
}

// end reads the closing token and makes sure that nothing follows.
func end(dec *jsontext.Decoder) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}

// kindOf returns the kind of a JSON value.
func kindOf(raw json.RawMessage) jsontext.Kind { return jsontext.Value(bytes.TrimSpace(raw)).Kind() }

// stringOf decodes a JSON string.
func stringOf(raw json.RawMessage) (string, bool) {
	if kindOf(raw) != jsontext.KindString {
		return "", false
	}
	s, err := jsontext.AppendUnquote(nil, bytes.TrimSpace(raw))
	return string(s), err == nil
}

// quoteJSON encodes a string as JSON. Invalid UTF-8 is an error.
func quoteJSON(s string) (json.RawMessage, error) { return jsontext.AppendQuote(nil, s) }
