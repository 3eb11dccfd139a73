package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// The bounds on a schema as written, before the library sees it. The library
// keeps the pointer of every subschema as a string and copies its tables for
// every reference to an unusual place, so both are bounded here.
const (
	valuesPerNode    = 4       // JSON values for each node that Limits allows
	objectsPerNode   = 2       // JSON objects, likewise
	maxPointerBytes  = 2 << 20 // all pointers to subschemas together
	maxUnusualRefs   = 64      // references to places that hold no subschema by any keyword
	maxIDs           = 256     // schemas with an id of their own: the library searches them for each schema
	largestIntegerKw = 1 << 31 // a larger maxLength and its like say nothing more
)

// position tells what the JSON at a place of a schema document means.
type position int

const (
	atSchema position = iota
	atMap             // an object whose members are schemas
	atData            // values that are no schemas
)

// keywordPosition returns what the value of a keyword is.
func keywordPosition(keyword string) position {
	switch keyword {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
		return atMap
	case "enum", "const", "default", "examples", "example":
		return atData
	}
	return atSchema
}

// scan walks a decoded schema before it is compiled: it counts, classifies
// references, tries patterns, and defuses in place what the library would trip
// over.
type scan struct {
	lim       Limits
	patterns  *patternSet
	values    int
	objects   int
	ptrBytes  int
	ids       int
	unusual   map[string]struct{}
	unchecked []string // pointers to keywords that are left to the server
	anchors   []string // pointers to schemas that a dynamic reference may reach
}

func (s *scan) walk(v any, ptr string, pos position) error {
	if s.values++; s.values > valuesPerNode*s.lim.Nodes {
		return s.over("schema with too many values", s.lim.Nodes*valuesPerNode, s.values, "schemaNodes")
	}
	switch v := v.(type) {
	case map[string]any:
		if err := s.container(ptr); err != nil {
			return err
		}
		return s.object(v, ptr, pos)
	case []any:
		if err := s.container(ptr); err != nil {
			return err
		}
		for i, item := range v {
			if err := s.walk(item, ptr+"/"+strconv.Itoa(i), pos); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *scan) container(ptr string) error {
	if s.objects++; s.objects > objectsPerNode*s.lim.Nodes {
		return s.over("schema with too many objects", s.lim.Nodes*objectsPerNode, s.objects, "schemaNodes")
	}
	if s.ptrBytes += len(ptr); s.ptrBytes > maxPointerBytes {
		return s.over("schema with too long names", maxPointerBytes, s.ptrBytes, "schemaPointerBytes")
	}
	return nil
}

func (s *scan) over(msg string, limit, size int, setting string) error {
	return &Error{Code: CodeOverLimit, Message: msg, Limit: int64(limit), Size: int64(size), Setting: setting}
}

func (s *scan) object(m map[string]any, ptr string, pos position) error {
	s.patterns.meter.inTime()
	if pos == atSchema {
		if err := s.keywords(m, ptr); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		next := pos
		switch pos {
		case atSchema:
			next = keywordPosition(key)
		case atMap:
			next = atSchema
		default: // data stays data
		}
		if err := s.walk(m[key], ptr+"/"+escapePointer(key), next); err != nil {
			return err
		}
	}
	return nil
}

func (s *scan) keywords(m map[string]any, ptr string) error {
	for _, kw := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if ref, ok := m[kw].(string); ok && !usualRef(ref) {
			s.unusual[ref] = struct{}{}
			if len(s.unusual) > maxUnusualRefs {
				return s.over("schema with too many references to unusual places", maxUnusualRefs, len(s.unusual), "schemaUnusualRefs")
			}
		}
	}
	_, id4 := m["id"].(string)
	_, id := m["$id"].(string)
	if id || id4 {
		if s.ids++; s.ids > maxIDs {
			return s.over("schema with too many ids", maxIDs, s.ids, "schemaIDs")
		}
	}
	if _, ok := m["$dynamicAnchor"].(string); ok {
		s.anchors = append(s.anchors, ptr)
	} else if on, _ := m["$recursiveAnchor"].(bool); on {
		s.anchors = append(s.anchors, ptr)
	}
	if p, ok := m["pattern"].(string); ok && !s.patterns.add(p) {
		s.unchecked = append(s.unchecked, ptr+"/pattern")
	}
	if pp, ok := m["patternProperties"].(map[string]any); ok {
		for _, p := range slices.Sorted(maps.Keys(pp)) {
			if !s.patterns.add(p) {
				// Nobody can tell which properties it is about, so it says
				// nothing of any, and none counts as additional.
				pp[p] = true
				s.unchecked = append(s.unchecked, ptr+"/patternProperties/"+escapePointer(p))
			}
		}
	}
	clampIntegers(m)
	return nil
}

// clampIntegers keeps counts in the range of an int: the library takes the low
// 64 bits of whatever is written.
func clampIntegers(m map[string]any) {
	for _, kw := range []string{
		"minLength", "maxLength", "minItems", "maxItems", "minProperties",
		"maxProperties", "minContains", "maxContains",
	} {
		n, ok := m[kw].(json.Number)
		if !ok {
			continue
		}
		if r, err := ParseNumber(n.String()); err == nil && r.IsInt() && r.Sign() > 0 && r.Num().BitLen() > 31 {
			m[kw] = json.Number(strconv.Itoa(largestIntegerKw - 1))
		}
	}
}

// usualRef reports whether a reference points to where keywords put schemas.
func usualRef(ref string) bool {
	if ref == "#" || (strings.HasPrefix(ref, "#") && !strings.HasPrefix(ref, "#/")) {
		return true
	}
	if !strings.HasPrefix(ref, "#/") {
		return false
	}
	tokens := strings.Split(ref[2:], "/")
	for len(tokens) > 0 {
		n := 0
		switch tokens[0] {
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas",
			"dependencies", "allOf", "anyOf", "oneOf", "prefixItems":
			n = 2
		case "items":
			n = 1
			if len(tokens) > 1 && isIndex(tokens[1]) {
				n = 2
			}
		case "not", "if", "then", "else", "contains", "propertyNames", "additionalProperties",
			"additionalItems", "unevaluatedItems", "unevaluatedProperties":
			n = 1
		}
		if n == 0 || n > len(tokens) {
			return false
		}
		tokens = tokens[n:]
	}
	return true
}

func isIndex(s string) bool {
	rest, n := digits(s)
	return n > 0 && rest == ""
}

func escapePointer(tok string) string {
	if !strings.ContainsAny(tok, "~/") {
		return tok
	}
	return strings.ReplaceAll(strings.ReplaceAll(tok, "~", "~0"), "/", "~1")
}
