package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Canonical rewrites one JSON value so that equal documents have equal bytes:
// no white space, object keys in byte order, strings with the fewest escapes.
// Numbers stay as they were written, so that nothing is rounded. Duplicate
// keys, lone surrogates and nesting over DefaultJSONDepth are refused with
// *Error.
func Canonical(raw []byte) ([]byte, error) {
	return rewrite(raw, DefaultJSONDepth, appendCanonical)
}

// Compact removes the white space of one JSON value and keeps everything else,
// the order of keys included. It refuses what Canonical refuses.
func Compact(raw []byte) ([]byte, error) {
	return rewrite(raw, DefaultJSONDepth, appendCompact)
}

// Normal is Compact with every string in its shortest spelling: the same
// document whichever way its strings were escaped, the order of keys kept. It
// refuses what Canonical refuses.
func Normal(raw []byte) ([]byte, error) {
	return rewrite(raw, DefaultJSONDepth, appendNormal)
}

// Key returns a text that is the same for two JSON texts exactly if they are
// the same value: keys in any order, numbers by value, so that 1 is 1.0. It
// refuses what Canonical refuses, and numbers over MaxNumberBytes or
// MaxNumberExponent.
func Key(raw []byte) (string, error) {
	v, err := decode(raw, DefaultJSONDepth)
	if err != nil {
		return "", err
	}
	return valueKey(v), nil
}

// reader reads one bounded JSON value token by token.
type reader struct {
	dec   *jsontext.Decoder
	depth int // the bound
}

func newReader(raw []byte, depth int) *reader {
	return &reader{dec: jsontext.NewDecoder(bytes.NewBuffer(raw)), depth: depth}
}

// kind tells what comes next. It refuses a container over the depth bound, so
// that callers may recurse.
func (r *reader) kind() (jsontext.Kind, error) {
	k := r.dec.PeekKind()
	if (k == jsontext.KindBeginObject || k == jsontext.KindBeginArray) && r.dec.StackDepth() >= r.depth {
		return k, &Error{
			Code: CodeOverLimit, Message: "JSON nested too deeply",
			Limit: int64(r.depth), Size: int64(r.depth) + 1, Setting: "jsonDepth",
		}
	}
	return k, nil
}

// end makes sure that nothing but white space follows.
func (r *reader) end() error {
	if _, err := r.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return &Error{Code: CodeMalformed, Message: "more than one JSON value"}
	}
	return nil
}

func jsonError(err error) error {
	var own *Error
	if errors.As(err, &own) {
		return err
	}
	var syn *jsontext.SyntacticError
	path := ""
	if errors.As(err, &syn) {
		path = cleanPointer(string(syn.JSONPointer))
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return &Error{Code: CodeDuplicate, Path: path, Message: "duplicate key"}
		}
	}
	return &Error{Code: CodeMalformed, Path: path, Message: "malformed JSON"}
}

func cleanPointer(p string) string {
	if p == "" {
		return ""
	}
	return quoted(p)
}

type appender func(dst []byte, r *reader) ([]byte, error)

func rewrite(raw []byte, depth int, f appender) ([]byte, error) {
	r := newReader(raw, depth)
	out, err := f(make([]byte, 0, len(raw)), r)
	if err != nil {
		return nil, jsonError(err)
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	return out, nil
}

func appendCompact(dst []byte, r *reader) ([]byte, error) {
	return appendOrdered(dst, r, appendVerbatim)
}

func appendNormal(dst []byte, r *reader) ([]byte, error) {
	return appendOrdered(dst, r, appendScalar)
}

// appendVerbatim keeps a scalar byte for byte.
func appendVerbatim(dst []byte, r *reader) ([]byte, error) {
	v, err := r.dec.ReadValue()
	return append(dst, v...), err
}

// appendScalar keeps a scalar, a string in its shortest spelling.
func appendScalar(dst []byte, r *reader) ([]byte, error) {
	tok, err := r.dec.ReadToken()
	if err != nil {
		return nil, err
	}
	if tok.Kind() == jsontext.KindString {
		return jsontext.AppendQuote(dst, tok.String())
	}
	return append(dst, tok.String()...), nil
}

// appendOrdered keeps the order of keys.
func appendOrdered(dst []byte, r *reader, scalar appender) ([]byte, error) {
	k, err := r.kind()
	if err != nil {
		return nil, err
	}
	if k != jsontext.KindBeginObject && k != jsontext.KindBeginArray {
		return scalar(dst, r)
	}
	open, err := r.dec.ReadToken()
	if err != nil {
		return nil, err
	}
	object := open.Kind() == jsontext.KindBeginObject
	dst = append(dst, byte(k))
	for n := 0; !isEnd(r.dec.PeekKind()); n++ {
		switch {
		case object && n%2 == 1:
			dst = append(dst, ':')
		case n > 0:
			dst = append(dst, ',')
		}
		if dst, err = appendOrdered(dst, r, scalar); err != nil {
			return nil, err
		}
	}
	end, err := r.dec.ReadToken()
	if err != nil {
		return nil, err
	}
	return append(dst, byte(end.Kind())), nil
}

func isEnd(k jsontext.Kind) bool {
	return k == jsontext.KindEndObject || k == jsontext.KindEndArray
}

func appendCanonical(dst []byte, r *reader) ([]byte, error) {
	k, err := r.kind()
	if err != nil {
		return nil, err
	}
	switch k {
	case jsontext.KindBeginObject:
		return appendCanonicalObject(dst, r)
	case jsontext.KindBeginArray:
		return appendCanonicalArray(dst, r)
	}
	return appendScalar(dst, r)
}

func appendCanonicalArray(dst []byte, r *reader) ([]byte, error) {
	if _, err := r.dec.ReadToken(); err != nil {
		return nil, err
	}
	dst = append(dst, '[')
	var err error
	for n := 0; !isEnd(r.dec.PeekKind()); n++ {
		if n > 0 {
			dst = append(dst, ',')
		}
		if dst, err = appendCanonical(dst, r); err != nil {
			return nil, err
		}
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return nil, err
	}
	return append(dst, ']'), nil
}

func appendCanonicalObject(dst []byte, r *reader) ([]byte, error) {
	type member struct {
		key        string
		start, end int // its value in buf
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return nil, err
	}
	var members []member
	var buf []byte
	for !isEnd(r.dec.PeekKind()) {
		name, err := r.dec.ReadToken()
		if err != nil {
			return nil, err
		}
		m := member{key: name.String(), start: len(buf)}
		if buf, err = appendCanonical(buf, r); err != nil {
			return nil, err
		}
		m.end = len(buf)
		members = append(members, m)
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return nil, err
	}
	slices.SortFunc(members, func(a, b member) int { return bytes.Compare([]byte(a.key), []byte(b.key)) })
	dst = append(dst, '{')
	for n, m := range members {
		if n > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = jsontext.AppendQuote(dst, m.key); err != nil {
			return nil, err
		}
		dst = append(append(dst, ':'), buf[m.start:m.end]...)
	}
	return append(dst, '}'), nil
}

// decode turns one JSON value into maps, slices, strings, booleans, nil and
// json.Number.
func decode(raw []byte, depth int) (any, error) {
	r := newReader(raw, depth)
	v, err := readValue(r)
	if err != nil {
		return nil, jsonError(err)
	}
	return v, r.end()
}

func readValue(r *reader) (any, error) {
	k, err := r.kind()
	if err != nil {
		return nil, err
	}
	switch k {
	case jsontext.KindBeginObject:
		return readObject(r)
	case jsontext.KindBeginArray:
		return readArray(r)
	}
	tok, err := r.dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch k {
	case jsontext.KindString:
		return tok.String(), nil
	case jsontext.KindNumber:
		return number(r, tok.String())
	case jsontext.KindTrue, jsontext.KindFalse:
		return k == jsontext.KindTrue, nil
	case jsontext.KindNull:
		return nil, nil
	}
	return nil, &Error{Code: CodeMalformed, Message: "malformed JSON"}
}

func readObject(r *reader) (any, error) {
	if _, err := r.dec.ReadToken(); err != nil {
		return nil, err
	}
	m := map[string]any{}
	for !isEnd(r.dec.PeekKind()) {
		name, err := r.dec.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		if m[key], err = readValue(r); err != nil {
			return nil, err
		}
	}
	_, err := r.dec.ReadToken()
	return m, err
}

func readArray(r *reader) (any, error) {
	if _, err := r.dec.ReadToken(); err != nil {
		return nil, err
	}
	a := []any{}
	for !isEnd(r.dec.PeekKind()) {
		v, err := readValue(r)
		if err != nil {
			return nil, err
		}
		a = append(a, v)
	}
	_, err := r.dec.ReadToken()
	return a, err
}

func number(r *reader, text string) (any, error) {
	if err := checkNumber(text); err != nil {
		err.Path = cleanPointer(string(r.dec.StackPointer()))
		return nil, err
	}
	return json.Number(text), nil
}
