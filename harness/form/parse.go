package form

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/looprig/looprig/harness/schema"
)

// ParseElicitation turns the schema of an elicitation into a form. It is
// strict: what a form cannot ask for exactly is refused with *Refusal. A schema
// without properties gives a form without fields, which is a question for
// confirmation.
func ParseElicitation(raw []byte, lim Limits) (Schema, error) {
	p := &parser{lim: lim.or(DefaultElicitationLimits()), strict: true}
	s, err := p.parse(raw)
	if err != nil {
		return Schema{}, err
	}
	return s, nil
}

// ParseArguments turns a tool's input schema into a form. It is lenient: a
// property that is not flat becomes a KindRaw field, and a schema that is no
// plain list of properties becomes a Whole form. Only a schema that is too
// large or that cannot be validated against is refused, with *Refusal.
func ParseArguments(raw []byte, lim Limits) (Schema, error) {
	p := &parser{lim: lim.or(DefaultArgumentLimits())}
	s, err := p.parse(raw)
	var r *Refusal
	if err == nil || !errors.As(err, &r) || s.Raw == nil {
		return s, err
	}
	return Schema{
		Title: s.Title, Description: s.Description, Whole: true, Raw: s.Raw,
		Fields: []Field{{Kind: KindRaw, Required: true, Note: r.Reason}},
	}, nil
}

// parser parses one schema.
type parser struct {
	lim         Limits
	strict      bool
	root        object
	definitions map[string]json.RawMessage // by reference, read when first asked for
}

func refuse(code Code, reason string) *Refusal { return &Refusal{Code: code, Reason: reason} }

func over(reason string, limit, size int, setting string) *Refusal {
	return &Refusal{Code: CodeOverLimit, Reason: reason, Limit: int64(limit), Size: int64(size), Setting: setting}
}

// parse returns a Schema whose Raw is nil if the refusal is for good, in the
// lenient case too.
func (p *parser) parse(raw []byte) (Schema, error) {
	if len(raw) > p.lim.SchemaBytes {
		return Schema{}, over("schema too large", p.lim.SchemaBytes, len(raw), p.setting("schemaBytes"))
	}
	normal, err := schema.Normal(raw)
	if err != nil {
		return Schema{}, &Refusal{Code: CodeMalformed, Reason: err.Error(), Err: err}
	}
	// Compiling comes first: nothing unsafe is looked at any further.
	if _, err := schema.Compile(normal, schema.Limits{Bytes: p.lim.SchemaBytes}); err != nil {
		return Schema{}, compileRefusal(err)
	}
	s := Schema{Raw: normal}
	if p.strict {
		s.ValueBytes = p.lim.ValueBytes
	}
	root, err := parseObject(normal)
	if err != nil {
		return s, refuse(CodeNotObject, "the schema names no properties")
	}
	p.root = root
	s.Title, s.Description = root.text("title"), root.text("description")
	if r := p.fields(&s, root); r != nil {
		return s, r
	}
	return s, nil
}

// setting names the configuration key of a limit.
func (p *parser) setting(name string) string {
	if p.strict {
		return "elicitation." + name
	}
	return "arguments." + name
}

func compileRefusal(err error) *Refusal {
	r := &Refusal{Code: CodeBadSchema, Reason: err.Error(), Err: err}
	var e *schema.Error
	if errors.As(err, &e) && e.Code == schema.CodeOverLimit {
		r.Code, r.Reason = CodeOverLimit, e.Message
		r.Limit, r.Size, r.Setting = e.Limit, e.Size, e.Setting
	}
	return r
}

func (p *parser) fields(s *Schema, root object) *Refusal {
	if r := p.object(root); r != nil {
		return r
	}
	props, r := p.properties(root)
	if r != nil {
		return r
	}
	required, r := p.required(root, props)
	if r != nil {
		return r
	}
	for _, m := range props {
		f, r := p.property(m)
		if r != nil {
			return r
		}
		f.Required = slices.Contains(required, f.Name)
		s.Fields = append(s.Fields, f)
	}
	return nil
}

// object refuses a root that does not describe an object by its properties.
func (p *parser) object(root object) *Refusal {
	switch t, ok := root.get("type"); {
	case ok:
		if name, _ := stringOf(t); name != "object" {
			return refuse(CodeNotObject, `the schema's type is not "object"`)
		}
	case p.strict && root.has("properties"):
		return refuse(CodeNotObject, `the schema has no type "object"`)
	}
	if p.strict {
		return onlyKeywords(root, "type", "properties", "required", "additionalProperties")
	}
	// The rest is left to the validation of the whole, if there is anything to
	// ask for at all.
	shaping := []string{"$ref", "$dynamicRef", "$recursiveRef"}
	if !root.has("properties") {
		shaping = append(shaping, "allOf", "anyOf", "oneOf", "if", "patternProperties", "enum", "const")
	}
	for _, kw := range shaping {
		if root.has(kw) {
			return unsupported(kw)
		}
	}
	return nil
}

func (p *parser) properties(root object) (object, *Refusal) {
	raw, ok := root.get("properties")
	if !ok {
		if open, _ := root.get("additionalProperties"); !p.strict && open != nil && string(open) != "false" {
			return nil, refuse(CodeUnsupported, "any property is allowed and none is named")
		}
		return nil, nil
	}
	props, err := parseObject(raw)
	if err != nil {
		return nil, refuse(CodeMalformed, "properties is not an object")
	}
	if len(props) > p.lim.Fields {
		return nil, over("too many fields", p.lim.Fields, len(props), p.setting("fields"))
	}
	return props, nil
}

func (p *parser) required(root, props object) ([]string, *Refusal) {
	raw, ok := root.get("required")
	if !ok {
		return nil, nil
	}
	items, err := parseArray(raw)
	if err != nil {
		return nil, refuse(CodeMalformed, "required is not a list")
	}
	var names []string
	for _, item := range items {
		name, ok := stringOf(item)
		if !ok {
			return nil, refuse(CodeMalformed, "required is not a list of names")
		}
		if !props.has(name) {
			return nil, &Refusal{Code: CodeContradiction, Field: name, Reason: "required, but not among the properties"}
		}
		names = append(names, name)
	}
	return names, nil
}

// property parses one property. A lenient parser asks for raw JSON where the
// strict one refuses.
func (p *parser) property(m member) (Field, *Refusal) {
	f, r := p.flat(m)
	if r == nil {
		return f, nil
	}
	r.Field = m.name
	if p.strict {
		return Field{}, r
	}
	f = Field{Name: m.name, Kind: KindRaw, Note: r.Reason}
	if o, err := parseObject(m.value); err == nil {
		f.Title, f.Description = o.text("title"), o.text("description")
		f.WriteOnly = o.isTrue("writeOnly")
		if def, ok := o.get("default"); ok && len(def) <= p.lim.ValueBytes && kindOf(def) != jsontext.KindNull {
			f.Default = def
		}
	}
	return f, nil
}
