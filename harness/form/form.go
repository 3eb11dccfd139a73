// Package form is the one form model: a flat, typed list of fields with the
// JSON Schema that it came from. Elicitations, tool arguments and answers files
// all pass through it, so that an answer means the same whoever gave it.
//
// Values are raw JSON throughout. A field that nobody set is absent from
// [Values]; it is submitted only if it has a default. Numbers are never turned
// into floating point. Titles, descriptions and option titles are a server's
// text, kept as received: clean them before they are shown. Error messages are
// host-written and already clean.
//
// The package knows nothing of terminals, of MCP or of sessions and must not
// import them.
package form

import "encoding/json"

// Kind is how a field is asked for and what JSON it yields.
type Kind string

// The kinds.
const (
	KindText    Kind = "text"    // a JSON string
	KindNumber  Kind = "number"  // a JSON number
	KindInteger Kind = "integer" // a JSON number without a fraction
	KindBoolean Kind = "boolean" // true or false
	KindChoice  Kind = "choice"  // one of Options
	KindMulti   Kind = "multi"   // an array of values of Options
	KindRaw     Kind = "raw"     // any JSON, checked against the schema alone
)

// Format is a check on the text of a KindText field.
type Format string

// The formats that are checked. Others are left to the server.
const (
	FormatNone     Format = ""
	FormatEmail    Format = "email"
	FormatURI      Format = "uri"
	FormatDate     Format = "date"
	FormatDateTime Format = "date-time"
	// FormatPassword is no check; Credential finds it.
	FormatPassword Format = "password"
)

// Schema is a form. It is plain data: copy it, compare it, encode it.
type Schema struct {
	Title       string  `json:"title,omitempty"`
	Description string  `json:"description,omitempty"`
	Fields      []Field `json:"fields"`
	// Whole says that the object cannot be asked for field by field: Fields is
	// then one KindRaw field named "" whose value is the whole object.
	Whole bool `json:"whole,omitempty"`
	// Raw is the JSON Schema that the form was parsed from, without white space
	// and otherwise as received. A form made by the host may have none; then the
	// fields alone are checked.
	Raw json.RawMessage `json:"schema,omitempty"`
	// ValueBytes bounds the JSON text of each answer; 0 means no bound.
	ValueBytes int `json:"value_bytes,omitempty"`
}

// Field is one question.
type Field struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Kind        Kind   `json:"kind"`
	Format      Format `json:"format,omitempty"`
	Required    bool   `json:"required,omitempty"`
	// Nullable says that JSON null is an answer as well.
	Nullable bool `json:"nullable,omitempty"`
	// WriteOnly is the schema's keyword of that name; Credential finds it.
	WriteOnly bool `json:"write_only,omitempty"`
	// Default is submitted when nothing was set; nil means that there is none.
	Default json.RawMessage `json:"default,omitempty"`

	// MinLength and MaxLength count characters (code points) of a text.
	MinLength *int   `json:"min_length,omitempty"`
	MaxLength *int   `json:"max_length,omitempty"`
	Pattern   string `json:"pattern,omitempty"`

	// The bounds of a number, as the schema wrote them; "" means none.
	Minimum          json.Number `json:"minimum,omitempty"`
	Maximum          json.Number `json:"maximum,omitempty"`
	ExclusiveMinimum json.Number `json:"exclusive_minimum,omitempty"`
	ExclusiveMaximum json.Number `json:"exclusive_maximum,omitempty"`
	MultipleOf       json.Number `json:"multiple_of,omitempty"`

	// Options are the choices of KindChoice and KindMulti, in the schema's order.
	Options  []Option `json:"options,omitempty"`
	MinItems *int     `json:"min_items,omitempty"`
	MaxItems *int     `json:"max_items,omitempty"`
	Unique   bool     `json:"unique,omitempty"`

	// Note says, host-written, why a field is KindRaw or what of it is left to
	// the server.
	Note string `json:"note,omitempty"`
}

// Option is one choice.
type Option struct {
	Value json.RawMessage `json:"value"`
	Title string          `json:"title,omitempty"`
	// Label is what to show: the title, or the value, made unique among the
	// field's options. It is a server's text.
	Label string `json:"label"`
}

// Values are the answers by field name: present means set by the user, absent
// means untouched.
type Values map[string]json.RawMessage

// Field returns the field of that name.
func (s Schema) Field(name string) (Field, bool) {
	for _, f := range s.Fields {
		if f.Name == name {
			return f, true
		}
	}
	return Field{}, false
}

// HasFreeText reports whether some field takes text or JSON that is not chosen
// from a list.
func (s Schema) HasFreeText() bool {
	for _, f := range s.Fields {
		if f.Kind == KindText || f.Kind == KindRaw {
			return true
		}
	}
	return false
}

// DisplayName is what to call the field: its title, or its name. It is a
// server's text.
func (f Field) DisplayName() string {
	if f.Title != "" {
		return f.Title
	}
	return f.Name
}
