package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/looprig/looprig/internal/safetext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// node takes over the keywords of one compiled schema whose cost in the library
// depends on the instance (type, const, enum, uniqueItems, false), and counts.
// It sits where the library checks a format: after nothing, before everything
// that may recurse. So no schema is applied without being counted.
type node struct {
	meter  *meter
	never  bool
	types  []string
	enum   *valueSet
	isOnly bool // enum came from const
	unique bool
	format *jsonschema.Format
}

// failure is what a node reports. Message is host-written and clean.
type failure struct {
	keyword string
	message string
}

func (f *failure) Error() string { return f.message }

// install moves the keywords of s into a node.
func install(s *jsonschema.Schema, m *meter) {
	if s.Bool != nil && *s.Bool {
		return
	}
	n := &node{meter: m, unique: s.UniqueItems, format: s.Format}
	if n.format != nil && n.format.Name == "regex" {
		n.format = nil // would compile patterns of the instance
	}
	if s.Types != nil {
		n.types = s.Types.ToStrings()
	}
	if s.Bool != nil {
		n.never, s.Bool = true, nil
	}
	switch {
	case s.Const != nil && s.Enum != nil:
		only := valueKey(*s.Const)
		n.enum = newValueSet(slices.DeleteFunc(slices.Clone(s.Enum.Values), func(v any) bool {
			return valueKey(v) != only
		}))
	case s.Const != nil:
		n.enum, n.isOnly = newValueSet([]any{*s.Const}), true
	case s.Enum != nil:
		n.enum = newValueSet(s.Enum.Values)
	}
	s.Types, s.Enum, s.Const, s.UniqueItems = nil, nil, nil, false
	s.Format = &jsonschema.Format{Name: "", Validate: n.check}
}

func (n *node) check(v any) error {
	n.meter.step()
	if f := n.failure(v); f != nil {
		n.meter.fail()
		return f
	}
	return nil
}

func (n *node) failure(v any) *failure {
	switch {
	case n.never:
		return &failure{"false", "nothing is allowed here"}
	case len(n.types) > 0 && !typeFits(n.types, v):
		return &failure{"type", "must be " + joinOr(n.types) + ", not " + typeName(v)}
	case n.enum != nil && !n.enum.has(v):
		if n.isOnly {
			return &failure{"const", "must be " + n.enum.list()}
		}
		return &failure{"enum", "must be one of " + n.enum.list()}
	}
	if n.format != nil && n.format.Validate(v) != nil {
		return &failure{"format", "is not a valid " + ident(n.format.Name)}
	}
	if items, ok := v.([]any); ok && n.unique {
		return n.duplicate(items)
	}
	return nil
}

func (n *node) duplicate(items []any) *failure {
	seen := make(map[string]int, len(items))
	for i, item := range items {
		key := valueKey(item)
		if j, ok := seen[key]; ok {
			return &failure{"uniqueItems", fmt.Sprintf("items %d and %d are equal", j, i)}
		}
		seen[key] = i
	}
	return nil
}

func typeFits(names []string, v any) bool {
	if slices.Contains(names, typeName(v)) {
		return true
	}
	num, ok := v.(json.Number)
	return ok && slices.Contains(names, "integer") && isInteger(num.String())
}

// isInteger reports whether a JSON number has no fraction: 3, 3.0 and 30e-1.
func isInteger(text string) bool {
	if !strings.ContainsAny(text, ".eE") {
		return true
	}
	r, err := ParseNumber(text)
	return err == nil && r.IsInt()
}

func typeName(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "unknown"
}

func joinOr(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// valueSet is the values of an enum, by key.
type valueSet struct {
	keys  map[string]struct{}
	kinds map[string]bool
	text  string // clean, bounded
}

// maxListed is how many values of an enum a message lists.
const maxListed = 8

func newValueSet(values []any) *valueSet {
	set := &valueSet{keys: make(map[string]struct{}, len(values)), kinds: map[string]bool{}}
	var shown []string
	for i, v := range values {
		key := valueKey(v)
		set.keys[key] = struct{}{}
		set.kinds[typeName(v)] = true
		if i < maxListed {
			shown = append(shown, safetext.ToLineN(showValue(v), 64).String())
		}
	}
	set.text = strings.Join(shown, ", ")
	if more := len(values) - len(shown); more > 0 {
		set.text = fmt.Sprintf("%s and %d more", set.text, more)
	}
	return set
}

// has does not look at a value of a kind that no member has: making the key of
// a large value costs its size.
func (s *valueSet) has(v any) bool {
	if !s.kinds[typeName(v)] {
		return false
	}
	_, ok := s.keys[valueKey(v)]
	return ok
}

func (s *valueSet) list() string {
	if s.text == "" {
		return "nothing"
	}
	return s.text
}

func showValue(v any) string {
	switch v := v.(type) {
	case string:
		return `"` + v + `"`
	case json.Number:
		return v.String()
	case nil, bool:
		return fmt.Sprint(jsonWord(v))
	}
	return "an " + typeName(v)
}

func jsonWord(v any) string {
	switch v {
	case nil:
		return "null"
	case true:
		return "true"
	}
	return "false"
}

// valueKey is a text that is equal for equal JSON values: keys sorted, numbers
// by value (1 and 1.0 are the same).
func valueKey(v any) string {
	var b strings.Builder
	writeKey(&b, v)
	return b.String()
}

func writeKey(b *strings.Builder, v any) {
	switch v := v.(type) {
	case string:
		fmt.Fprintf(b, "s%d:%s", len(v), v)
	case json.Number:
		b.WriteByte('n')
		if r, err := ParseNumber(v.String()); err == nil {
			b.WriteString(r.RatString())
		} else {
			b.WriteString(v.String())
		}
		b.WriteByte(';')
	case []any:
		b.WriteByte('[')
		for _, item := range v {
			writeKey(b, item)
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		for _, k := range slices.Sorted(maps.Keys(v)) {
			writeKey(b, k)
			writeKey(b, v[k])
		}
		b.WriteByte('}')
	default:
		b.WriteString(jsonWord(v))
	}
}
