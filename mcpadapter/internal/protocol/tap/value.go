package tap

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// errNotObject and errNotArray are returned for values of another type.
var (
	errNotObject = errors.New("not a JSON object")
	errNotArray  = errors.New("not a JSON array")
)

// Member is one name and value of an object; Value aliases the input.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Fields are the members of an object in their order.
type Fields []Member

// Get returns the value of the member with exactly this name, or nil.
func (f Fields) Get(name string) json.RawMessage {
	for i := range f {
		if f[i].Name == name {
			return f[i].Value
		}
	}
	return nil
}

// Object splits an object that Parse or Check has let through. Duplicate names
// are an error here as well.
func Object(raw json.RawMessage) (Fields, error) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, errNotObject
	}
	d := decoders.Get().(*decoder)
	defer d.release(len(raw))
	d.reset(raw)
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	fields := make(Fields, 0, 8)
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		m := Member{Name: name.String()}
		start := d.InputOffset()
		if err := d.SkipValue(); err != nil {
			return nil, err
		}
		m.Value = valueAt(raw, start, d.InputOffset())
		fields = append(fields, m)
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	return fields, nil
}

// Array splits an array that Parse or Check has let through.
func Array(raw json.RawMessage) ([]json.RawMessage, error) {
	if len(raw) == 0 || raw[0] != '[' {
		return nil, errNotArray
	}
	d := decoders.Get().(*decoder)
	defer d.release(len(raw))
	d.reset(raw)
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	items := []json.RawMessage{}
	for d.PeekKind() != ']' {
		start := d.InputOffset()
		if err := d.SkipValue(); err != nil {
			return nil, err
		}
		item := bytes.TrimLeft(raw[start:d.InputOffset()], " \t\r\n,")
		items = append(items, item)
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	return items, nil
}

// String decodes a JSON string. A lone surrogate becomes U+FFFD.
func String(raw json.RawMessage) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	if plain := raw[1 : len(raw)-1]; bytes.IndexByte(plain, '\\') < 0 {
		return string(plain), true
	}
	s, err := jsontext.AppendUnquote(nil, raw)
	if s == nil && err != nil {
		return "", false
	}
	return string(s), true
}

// Number decodes a JSON number that is finite as a float64.
func Number(raw json.RawMessage) (float64, bool) {
	if len(raw) == 0 || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return 0, false
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	return n, err == nil && !math.IsInf(n, 0)
}

// Bool decodes a JSON boolean.
func Bool(raw json.RawMessage) (value, ok bool) {
	return string(raw) == "true", string(raw) == "true" || string(raw) == "false"
}

// IsNull says whether raw is the JSON null.
func IsNull(raw json.RawMessage) bool { return string(raw) == "null" }

// IsObject says whether raw is a JSON object.
func IsObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

// IDKind is the JSON type of an id.
type IDKind uint8

// The kinds of an id. Only IDInteger can answer a request of ours.
const (
	IDOther   IDKind = iota // object, array, boolean, absent
	IDInteger               // a number written as an integer that fits int64
	IDString
	IDFloat // a number written with a fraction or exponent, or too large
	IDNull
)

// ParseID classifies an id. n is its numeric value where there is one that is
// integral, also for a string of digits or a float such as 7.0; else -1.
func ParseID(raw json.RawMessage) (n int64, kind IDKind) {
	switch {
	case len(raw) == 0:
		return -1, IDOther
	case IsNull(raw):
		return -1, IDNull
	case raw[0] == '"':
		s, ok := String(raw)
		if !ok {
			return -1, IDOther
		}
		return integral(s), IDString
	case raw[0] != '-' && (raw[0] < '0' || raw[0] > '9'):
		return -1, IDOther
	}
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n, IDInteger
	}
	return integral(string(raw)), IDFloat
}

func integral(s string) int64 {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return -1
	}
	return int64(f)
}
