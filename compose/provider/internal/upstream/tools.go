package upstream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/looprig/looprig/harness/model"
	"github.com/looprig/looprig/internal/safetext"
)

// MaxSchemaBytes bounds a tool's input schema.
const MaxSchemaBytes = 256 << 10

// ToolRules are what a provider demands of a tool.
type ToolRules struct {
	// Provider is who demands it, for people.
	Provider string
	// NameBytes bounds a name; NameMore are the characters that it may have
	// besides letters, digits, "_" and "-"; NameLetter says that it begins with
	// a letter or "_".
	NameBytes  int
	NameMore   string
	NameLetter bool
	// RootCombiners says that the root of a schema may be an anyOf or the like.
	RootCombiners bool
	// RootProperties says that a root without properties is refused: they are
	// added, empty.
	RootProperties bool
	// PropertyBytes bounds the name of a property, which then has the characters
	// of a name and "."; 0 is no rule.
	PropertyBytes int
	// LoneRef says that nothing may stand next to a $ref.
	LoneRef bool
	// DescriptionBytes bounds a description; 0 is no rule.
	DescriptionBytes int
}

// Check finds out whether a tool can be given to the model. It fails with a
// *model.ToolError.
func (r ToolRules) Check(t model.Tool) error {
	_, err := r.Schema(t)
	return err
}

// Schema is the tool's input schema as the provider takes it: byte for byte what
// the server gave, with "type":"object" (and empty properties, where the
// provider wants them) put in front of a root that has none, which says the same
// of arguments that are an object anyway. It fails with a *model.ToolError.
func (r ToolRules) Schema(t model.Tool) (json.RawMessage, error) {
	refuse := func(code, format string, args ...any) error {
		return &model.ToolError{Tool: t.Name, Code: code, Reason: r.Provider + " " + fmt.Sprintf(format, args...)}
	}
	if why := r.name(t.Name); why != "" {
		return nil, refuse("name", "takes no tool name that %s", why)
	}
	if r.DescriptionBytes > 0 && len(t.Description) > r.DescriptionBytes {
		return nil, refuse("size", "takes descriptions of at most %d bytes, this one has %d", r.DescriptionBytes, len(t.Description))
	}
	if len(t.InputSchema) > MaxSchemaBytes {
		return nil, refuse("size", "is given schemas of at most %d bytes, this one has %d", MaxSchemaBytes, len(t.InputSchema))
	}
	raw := json.RawMessage(bytes.TrimSpace(t.InputSchema))
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	var root map[string]json.RawMessage
	if err := json.Unmarshal(raw, &root); err != nil || root == nil {
		return nil, refuse("schema", "takes no input schema that is not a JSON object")
	}
	if !r.RootCombiners {
		for _, word := range []string{"anyOf", "oneOf", "allOf", "enum", "not"} {
			if _, has := root[word]; has {
				return nil, refuse("schema", "takes no %s at the top of an input schema", word)
			}
		}
	}
	if kind, has := root["type"]; has && string(kind) != `"object"` {
		return nil, refuse("schema", "takes no input schema whose type is not object")
	}
	var all any
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, refuse("schema", "takes no input schema that is not JSON")
	}
	if why := r.walk(all); why != "" {
		return nil, refuse("schema", "takes no input schema %s", why)
	}
	return r.fronted(raw, root), nil
}

func (r ToolRules) fronted(raw json.RawMessage, root map[string]json.RawMessage) json.RawMessage {
	var front []string
	if _, has := root["type"]; !has {
		front = append(front, `"type":"object"`)
	}
	if _, has := root["properties"]; !has && r.RootProperties {
		front = append(front, `"properties":{}`)
	}
	if len(front) == 0 {
		return raw
	}
	if len(root) > 0 {
		front = append(front, string(raw[1:len(raw)-1]))
	}
	return json.RawMessage("{" + strings.Join(front, ",") + "}")
}

func (r ToolRules) name(s string) string {
	switch {
	case s == "":
		return "is empty"
	case len(s) > r.NameBytes:
		return fmt.Sprintf("has more than %d characters", r.NameBytes)
	case r.NameLetter && (s[0] >= '0' && s[0] <= '9' || s[0] == '-' || strings.IndexByte(r.NameMore, s[0]) >= 0):
		return "begins with no letter"
	case !plain(s, r.NameMore):
		return "has other characters than letters, digits, _ and -"
	}
	return ""
}

func plain(s, more string) bool {
	for i := range len(s) {
		c := s[i]
		ok := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
		if !ok && strings.IndexByte(more, c) < 0 {
			return false
		}
	}
	return true
}

// walk looks at every schema below a schema. Values that are data (an enum, a
// default, an example) are none.
func (r ToolRules) walk(schema any) string {
	object, ok := schema.(map[string]any)
	if !ok {
		return ""
	}
	if ref, has := object["$ref"]; has {
		s, isText := ref.(string)
		if !isText || !strings.HasPrefix(s, "#") {
			return "that refers to another document"
		}
		if r.LoneRef {
			for k := range object {
				if !strings.HasPrefix(k, "$") {
					return "with anything next to a $ref"
				}
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		value := object[key]
		switch key {
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
			named, ok := value.(map[string]any)
			if !ok {
				return "whose " + key + " are no object"
			}
			for _, name := range slices.Sorted(maps.Keys(named)) {
				if key == "properties" && r.PropertyBytes > 0 && (name == "" || len(name) > r.PropertyBytes || !plain(name, ".")) {
					return "with the property name " + safetext.Ident(name).String()
				}
				if why := r.walk(named[name]); why != "" {
					return why
				}
			}
		case "items", "prefixItems", "additionalProperties", "anyOf", "oneOf", "allOf", "not", "if", "then", "else",
			"contains", "propertyNames", "unevaluatedProperties", "unevaluatedItems", "additionalItems":
			list, ok := value.([]any)
			if !ok {
				list = []any{value}
			}
			for _, sub := range list {
				if why := r.walk(sub); why != "" {
					return why
				}
			}
		}
	}
	return ""
}

// Tools checks the tools of a request and returns their schemas. A tool that
// should have been withheld is a *model.Error with the *model.ToolError in it.
func (r ToolRules) Tools(tools []model.Tool) ([]json.RawMessage, error) {
	out := make([]json.RawMessage, len(tools))
	seen := map[string]bool{}
	for i, t := range tools {
		schema, err := r.Schema(t)
		if err == nil && seen[t.Name] {
			err = &model.ToolError{Tool: t.Name, Code: "duplicate", Reason: r.Provider + " takes each name once"}
		}
		if err != nil {
			return nil, &model.Error{Code: "invalid_request", Message: err.Error(), Err: err}
		}
		seen[t.Name], out[i] = true, schema
	}
	return out, nil
}
