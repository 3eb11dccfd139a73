package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/looprig/looprig/harness/schema"
)

// errNotObject says that a listed item is no JSON object.
var errNotObject = errors.New("a listed item is not an object")

// member is one member of a listed item: its key, canonical and raw value.
type member struct {
	key       string
	canonical []byte
	raw       json.RawMessage
}

// item is a listed item with its members in key order.
type item []member

// parseItem splits a listed item. It refuses duplicate keys, and values that
// have no canonical form.
func parseItem(raw json.RawMessage) (item, error) {
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	if d.PeekKind() != jsontext.KindBeginObject {
		return nil, errNotObject
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	var it item
	for d.PeekKind() != jsontext.KindEndObject {
		name, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		m := member{key: name.String()}
		value, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		m.raw = json.RawMessage(slices.Clone(value))
		if m.canonical, err = schema.Canonical(m.raw); err != nil {
			return nil, err
		}
		it = append(it, m)
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	slices.SortFunc(it, func(a, b member) int { return bytes.Compare([]byte(a.key), []byte(b.key)) })
	return it, nil
}

func (it item) member(key string) (member, bool) {
	for _, m := range it {
		if m.key == key {
			return m, true
		}
	}
	return member{}, false
}

// raw returns a member as received, nil when it is absent or null.
func (it item) raw(key string) json.RawMessage {
	m, ok := it.member(key)
	if !ok || string(m.canonical) == "null" {
		return nil
	}
	return m.raw
}

// text returns a string member; ok is false when it has another type.
func (it item) text(key string) (s string, ok bool) {
	raw := it.raw(key)
	if raw == nil {
		return "", true
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", false
	}
	return s, true
}

// size is about what the item takes up in memory.
func (it item) size() int {
	n := 0
	for _, m := range it {
		n += len(m.key) + len(m.canonical) + len(m.raw)
	}
	return n
}

// digest covers every member in canonical form.
func (it item) digest(domain string) string {
	h := newHash(domain)
	for _, m := range it {
		h.frame([]byte(m.key))
		h.frame(m.canonical)
	}
	return h.sum()
}
