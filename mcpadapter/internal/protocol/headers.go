package protocol

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/looprig/looprig/mcpadapter/internal/protocol/tap"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

const (
	// annotation is the schema keyword with which a tool asks for an argument
	// to be repeated in a header (2026-07-28, Streamable HTTP).
	annotation = "x-mcp-header"
	// maxMirrors and maxMirrorBytes bound the annotations of one tool,
	// maxMirroredBytes those that are kept of all tools.
	maxMirrors       = 64
	maxMirrorBytes   = 16 << 10
	maxMirroredBytes = 2 << 20
	// maxMirroredSchema bounds the schema that is searched for annotations; a
	// larger one is refused by the catalog anyway.
	maxMirroredSchema = 256 << 10
	// maxHeaderValues bounds the values that one call repeats in headers, all
	// together.
	maxHeaderValues = 32 << 10
	maxSafeInteger  = 1<<53 - 1
)

const tooManyHeaders = "too many headers are asked for"

// mirror is one annotated argument: its header and the path to its value.
type mirror struct {
	header string
	path   []string
}

// mirrors keeps the annotations of the newest listing of each tool.
type mirrors struct {
	mu sync.Mutex
	// round counts listings from their first page; what was not listed in the
	// last two is forgotten.
	round int
	tools map[string]mirrored
	size  int
}

type mirrored struct {
	round int
	list  []mirror
	size  int
}

// begin is called for the first page of a listing.
func (m *mirrors) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.round++
	for name, t := range m.tools {
		if t.round < m.round-1 {
			m.drop(name)
		}
	}
}

func (m *mirrors) drop(tool string) {
	m.size -= m.tools[tool].size
	delete(m.tools, tool)
}

// put keeps the annotations of a tool in the place of earlier ones; false says
// that there is no room for them.
func (m *mirrors) put(tool string, list []mirror) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(tool)
	if len(list) == 0 {
		return true
	}
	size := len(tool) + mirrorSize(list)
	if m.size+size > maxMirroredBytes {
		return false
	}
	if m.tools == nil {
		m.tools = map[string]mirrored{}
	}
	m.tools[tool] = mirrored{m.round, list, size}
	m.size += size
	return true
}

// mirrorSize is about what a list of annotations takes.
func mirrorSize(list []mirror) (size int) {
	for _, m := range list {
		size += len(m.header) + 64
		for _, part := range m.path {
			size += len(part) + 16
		}
	}
	return size
}

func (m *mirrors) of(tool string) []mirror {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tools[tool].list
}

// mirroring says whether arguments are repeated in headers: on Streamable HTTP
// of 2026-07-28. Other transports may ignore the annotations, and do.
func (s *Session) mirroring() bool { return s.modern && s.kind == kindHTTP }

// screen learns the annotations of one page of tools and takes the tools out
// whose annotations are not valid, as the specification demands.
func (s *Session) screen(page *Page, first bool) {
	if !s.mirroring() {
		return
	}
	if first {
		s.mirrors.begin()
	}
	kept := page.Items[:0]
	for _, item := range page.Items {
		f, _ := tap.Object(item)
		name, _ := tap.String(f.Get("name"))
		list, fault := annotations(f.Get("inputSchema"))
		if !s.mirrors.put(name, list) {
			fault = "all tools together ask for more headers than are kept"
		}
		if fault != "" {
			page.Excluded = append(page.Excluded, Excluded{Name: bounded(name, maxIDBytes), Reason: fault})
			continue
		}
		kept = append(kept, item)
	}
	page.Items = kept
}

// annotations reads a tool's annotations; fault, host-written, says why they
// are not valid.
func annotations(schema json.RawMessage) (list []mirror, fault string) {
	if len(schema) > maxMirroredSchema || !mentions(schema) {
		return nil, ""
	}
	w := walk{seen: map[string]bool{}}
	w.schema(schema, nil, true)
	if w.fault == "" && mirrorSize(w.list) > maxMirrorBytes {
		w.fault = tooManyHeaders
	}
	if w.fault != "" {
		return nil, w.fault
	}
	return w.list, ""
}

// mentions says whether the schema may hold the keyword, however it is written.
func mentions(schema []byte) bool {
	return bytes.Contains(schema, []byte(annotation)) || bytes.Contains(schema, []byte(`\u`))
}

// walk goes through a schema. Its depth is bounded by that of the frame.
type walk struct {
	list  []mirror
	seen  map[string]bool
	fault string
}

// schema visits one schema. reachable says that only "properties" lead to it;
// path is then the way to its value.
func (w *walk) schema(raw json.RawMessage, path []string, reachable bool) {
	fields, err := tap.Object(raw)
	if err != nil || w.fault != "" {
		return
	}
	for _, m := range fields {
		switch m.Name {
		case annotation:
			w.annotated(m.Value, fields.Get("type"), path, reachable)
		case "properties":
			w.each(m.Value, path, reachable)
		case "patternProperties", "$defs", "definitions", "dependentSchemas":
			w.each(m.Value, nil, false)
		case "items", "prefixItems", "additionalItems", "contains", "unevaluatedItems",
			"additionalProperties", "propertyNames", "unevaluatedProperties", "contentSchema",
			"allOf", "anyOf", "oneOf", "not", "if", "then", "else":
			w.schema(m.Value, nil, false)
			items, _ := tap.Array(m.Value)
			for _, item := range items {
				w.schema(item, nil, false)
			}
		}
	}
}

// each visits the schemas of a map of them.
func (w *walk) each(raw json.RawMessage, path []string, reachable bool) {
	fields, _ := tap.Object(raw)
	for _, m := range fields {
		w.schema(m.Value, append(path[:len(path):len(path)], m.Name), reachable)
	}
}

func (w *walk) annotated(value, kind json.RawMessage, path []string, reachable bool) {
	header, ok := tap.String(value)
	switch lower := strings.ToLower(header); {
	case !reachable || len(path) == 0:
		w.fault = "a header is asked for at a place of the schema that no fixed path leads to"
	case !primitive(kind):
		w.fault = "a header is asked for an argument that is not a string, integer or boolean"
	case !ok || !isToken(header):
		w.fault = "a header is asked for under a name that no header can have"
	case w.seen[lower]:
		w.fault = "a header is asked for twice"
	case len(w.list) >= maxMirrors:
		w.fault = tooManyHeaders
	default:
		w.seen[lower] = true
		w.list = append(w.list, mirror{header, path})
	}
}

// primitive says whether a schema's type is one that headers may carry, or its
// union with null: a null is not repeated.
func primitive(kind json.RawMessage) bool {
	kinds, err := tap.Array(kind)
	if err != nil {
		kinds = []json.RawMessage{kind}
	}
	found := 0
	for _, k := range kinds {
		switch name, _ := tap.String(k); name {
		case "string", "integer", "boolean":
			found++
		case "null":
		default:
			return false
		}
	}
	return found == 1
}

// isToken says whether a name is a field name of HTTP.
func isToken(name string) bool {
	for _, c := range []byte(name) {
		alnum := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !alnum && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return name != ""
}

// headerParams are the arguments of a call that its tool wants in headers.
func (s *Session) headerParams(op, tool string, args json.RawMessage) ([]wire.Param, *Error) {
	var params []wire.Param
	size := 0
	for _, m := range s.mirrors.of(tool) {
		value, ok := headerValue(lookup(args, m.path))
		if !ok {
			continue
		}
		if size += len(value); size > maxHeaderValues {
			return nil, &Error{
				Class: ClassOverLimit, Op: op, Message: "the arguments that the tool wants in headers are too large",
				Size: int64(size), Limit: maxHeaderValues, Setting: settingFixed,
			}
		}
		params = append(params, wire.Param{Name: m.header, Value: value})
	}
	return params, nil
}

// lookup follows a path through objects; nil when it leads nowhere.
func lookup(value json.RawMessage, path []string) json.RawMessage {
	for _, name := range path {
		f, err := tap.Object(value)
		if err != nil {
			return nil
		}
		value = f.Get(name)
	}
	return value
}

// headerValue is the text of a value in a header; a value of another type than
// a header carries has none.
func headerValue(raw json.RawMessage) (string, bool) {
	if text, ok := tap.String(raw); ok {
		return text, true
	}
	if yes, ok := tap.Bool(raw); ok {
		return strconv.FormatBool(yes), true
	}
	n, ok := tap.Number(raw)
	if !ok || n != math.Trunc(n) || math.Abs(n) > maxSafeInteger {
		return "", false
	}
	return strconv.FormatInt(int64(n), 10), true
}
