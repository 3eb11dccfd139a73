package form

import (
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/looprig/looprig/harness/schema"
)

// isChoice reports whether a schema lists its values: an enum, a const, or
// alternatives that are each one constant.
func isChoice(o object) bool {
	if o.has("enum") || o.has("const") {
		return true
	}
	for _, kw := range []string{"oneOf", "anyOf"} {
		raw, ok := o.get(kw)
		if !ok {
			continue
		}
		branches, err := parseArray(raw)
		if err != nil || len(branches) == 0 {
			return false
		}
		for _, b := range branches {
			if branch, err := parseObject(b); err != nil || !branch.has("const") {
				return false
			}
		}
		return true
	}
	return false
}

func (p *parser) choice(f *Field, o object, typ string) *Refusal {
	f.Kind = KindChoice
	if o.has("const") && p.strict {
		return unsupported("const")
	}
	if r := p.only(o, "type", "enum", "oneOf", "anyOf"); r != nil {
		return r
	}
	options, r := p.options(f, o, typ)
	if r != nil {
		return r
	}
	f.Options = options
	return nil
}

// options reads the values of a list of choices. A null among them makes f
// nullable.
func (p *parser) options(f *Field, o object, typ string) ([]Option, *Refusal) {
	var listed []Option
	var r *Refusal
	switch {
	case o.has("const"):
		v, _ := o.get("const")
		listed = []Option{{Value: v}}
	case o.has("enum"):
		if o.has("oneOf") || o.has("anyOf") {
			return nil, refuse(CodeUnsupported, "lists its values twice")
		}
		listed, r = enumOptions(o)
	default:
		listed, r = constOptions(o)
	}
	if r != nil {
		return nil, r
	}
	if len(listed) > p.lim.Options {
		return nil, over("too many options", p.lim.Options, len(listed), p.setting("options"))
	}
	var options []Option
	for _, opt := range listed {
		switch {
		case len(opt.Value) > p.lim.ValueBytes:
			return nil, over("option too large", p.lim.ValueBytes, len(opt.Value), p.setting("valueBytes"))
		case kindOf(opt.Value) == jsontext.KindNull:
			// null is offered by way of Nullable, and only where the type has it.
			f.Nullable = f.Nullable || typ == ""
			continue
		case !ofType(opt.Value, typ):
			return nil, refuse(CodeContradiction, "has an option that is not of its type")
		}
		options = append(options, opt)
	}
	if len(options) == 0 {
		return nil, refuse(CodeContradiction, "has no options")
	}
	if hasDuplicates(options) {
		return nil, refuse(CodeContradiction, "has two options of the same value")
	}
	label(options)
	return options, nil
}

func enumOptions(o object) ([]Option, *Refusal) {
	raw, _ := o.get("enum")
	values, err := parseArray(raw)
	if err != nil {
		return nil, refuse(CodeMalformed, "enum is not a list")
	}
	options := make([]Option, len(values))
	for i, v := range values {
		options[i].Value = v
	}
	names, ok := o.get("enumNames")
	if !ok {
		return options, nil
	}
	titles, err := parseArray(names)
	if err != nil || len(titles) != len(values) {
		return nil, refuse(CodeContradiction, "enumNames does not name the values of enum one by one")
	}
	for i, t := range titles {
		if options[i].Title, ok = stringOf(t); !ok {
			return nil, refuse(CodeMalformed, "enumNames is not a list of names")
		}
	}
	return options, nil
}

func constOptions(o object) ([]Option, *Refusal) {
	kw := "oneOf"
	if !o.has(kw) {
		kw = "anyOf"
	} else if o.has("anyOf") {
		return nil, refuse(CodeUnsupported, "lists its values twice")
	}
	raw, _ := o.get(kw)
	branches, err := parseArray(raw)
	if err != nil {
		return nil, refuse(CodeMalformed, kw+" is not a list")
	}
	options := make([]Option, 0, len(branches))
	for _, b := range branches {
		branch, err := parseObject(b)
		if err != nil {
			return nil, unsupported(kw)
		}
		if r := onlyKeywords(branch, "const", "type"); r != nil {
			return nil, r
		}
		value, ok := branch.get("const")
		if !ok || !ofType(value, branch.text("type")) {
			return nil, unsupported(kw)
		}
		options = append(options, Option{Value: value, Title: branch.text("title")})
	}
	return options, nil
}

// ofType reports whether a scalar is of a JSON Schema type; "" is any scalar.
func ofType(v json.RawMessage, typ string) bool {
	switch kindOf(v) {
	case jsontext.KindString:
		return typ == "string" || typ == ""
	case jsontext.KindTrue, jsontext.KindFalse:
		return typ == "boolean" || typ == ""
	case jsontext.KindNumber:
		if typ == "integer" {
			n, err := schema.ParseNumber(string(v))
			return err == nil && n.IsInt()
		}
		return typ == "number" || typ == ""
	}
	return false
}

func hasDuplicates(options []Option) bool { return len(optionsByKey(options)) < len(options) }

// optionsByKey finds the options' own spelling of a value.
func optionsByKey(options []Option) map[string]json.RawMessage {
	byKey := make(map[string]json.RawMessage, len(options))
	for _, o := range options {
		if key, err := schema.Key(o.Value); err == nil {
			byKey[key] = o.Value
		}
	}
	return byKey
}

// label gives every option a text of its own to be chosen by.
func label(options []Option) {
	used := map[string]int{}
	for _, o := range options {
		used[o.plainLabel()]++
	}
	taken := map[string]bool{}
	for i := range options {
		o := &options[i]
		o.Label = o.plainLabel()
		if used[o.Label] > 1 {
			o.Label += " (" + o.valueText() + ")"
		}
		for n := 2; taken[o.Label]; n++ {
			o.Label = fmt.Sprintf("%s #%d", o.plainLabel(), n)
		}
		taken[o.Label] = true
	}
}

func (o Option) plainLabel() string {
	if o.Title != "" {
		return o.Title
	}
	return o.valueText()
}

// valueText is the value as one would type it.
func (o Option) valueText() string {
	if s, ok := stringOf(o.Value); ok && s != "" {
		return s
	}
	return string(o.Value)
}

func (p *parser) multi(f *Field, o object) *Refusal {
	f.Kind = KindMulti
	if r := p.only(o, "type", "items", "minItems", "maxItems", "uniqueItems"); r != nil {
		return r
	}
	raw, _ := o.get("items")
	items, err := parseObject(raw)
	if err != nil || !isChoice(items) || o.has("prefixItems") {
		return refuse(CodeUnsupported, "is a list whose items are not chosen from given ones")
	}
	if r := onlyKeywords(items, "type", "enum", "oneOf", "anyOf"); r != nil {
		return r
	}
	inner := Field{}
	typ, r := inner.typeOf(items)
	if r != nil {
		return r
	}
	if f.Options, r = p.options(&inner, items, typ); r != nil {
		return r
	}
	if inner.Nullable {
		return refuse(CodeUnsupported, "is a list with null among its options")
	}
	if r := bounds(o, "minItems", "maxItems", &f.MinItems, &f.MaxItems); r != nil {
		return r
	}
	f.Unique = o.isTrue("uniqueItems")
	if f.Unique && f.MinItems != nil && *f.MinItems > len(f.Options) {
		return refuse(CodeContradiction, "minItems is over the number of options")
	}
	return nil
}
