package form

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/looprig/looprig/harness/schema"
)

// maxRefs bounds how many references are followed from one property.
const maxRefs = 8

// flat parses a property that one field can ask for.
func (p *parser) flat(m member) (Field, *Refusal) {
	o, err := parseObject(m.value)
	if err != nil {
		return Field{}, refuse(CodeUnsupported, "accepts any JSON, or none")
	}
	if !p.strict {
		if o, err = p.resolve(o); err != nil {
			return Field{}, refuse(CodeUnsupported, "uses references that a form cannot follow")
		}
	}
	f := Field{Name: m.name}
	o, r := f.unwrapNull(o)
	if r != nil {
		return Field{}, r
	}
	f.Title, f.Description = o.text("title"), o.text("description")
	f.WriteOnly = o.isTrue("writeOnly")
	typ, r := f.typeOf(o)
	if r != nil {
		return Field{}, r
	}
	if r := p.shape(&f, o, typ); r != nil {
		return Field{}, r
	}
	if r := p.def(&f, o); r != nil {
		return Field{}, r
	}
	return f, nil
}

// resolve follows references to definitions of the same schema, as generators
// write them for enumerations: a plain $ref, or one alone in an allOf.
func (p *parser) resolve(o object) (object, error) {
	for range maxRefs {
		inner := object(nil)
		if all, ok := o.get("allOf"); ok {
			items, err := parseArray(all)
			if err != nil || len(items) != 1 {
				return nil, errNotObject
			}
			if inner, err = parseObject(items[0]); err != nil {
				return nil, err
			}
			o = o.without("allOf")
		} else if ref := o.text("$ref"); ref != "" {
			target, ok := p.definition(ref)
			if !ok {
				return nil, errNotObject
			}
			inner, o = target, o.without("$ref")
		} else {
			return o, nil
		}
		merged, ok := o.merge(inner)
		if !ok {
			return nil, errNotObject
		}
		o = merged
	}
	return nil, errNotObject
}

// definition finds the target of a reference to a definition of the root.
func (p *parser) definition(ref string) (object, bool) {
	if p.definitions == nil {
		p.definitions = map[string]json.RawMessage{}
		for _, kw := range []string{"$defs", "definitions"} {
			defs, _ := p.root.get(kw)
			all, err := parseObject(defs)
			if err != nil {
				continue
			}
			for _, m := range all {
				if !strings.ContainsAny(m.name, "/~%") { // would be escaped in a reference
					p.definitions["#/"+kw+"/"+m.name] = m.value
				}
			}
		}
	}
	target, ok := p.definitions[ref]
	if !ok {
		return nil, false
	}
	o, err := parseObject(target)
	return o, err == nil
}

// unwrapNull takes the null alternative out of a union: {"anyOf": [X, {"type":
// "null"}]} is X, and null besides.
func (f *Field) unwrapNull(o object) (object, *Refusal) {
	for _, kw := range []string{"anyOf", "oneOf"} {
		raw, ok := o.get(kw)
		if !ok {
			continue
		}
		branches, err := parseArray(raw)
		if err != nil {
			return nil, refuse(CodeMalformed, kw+" is not a list")
		}
		rest := slices.DeleteFunc(slices.Clone(branches), isNullSchema)
		if len(rest) == len(branches) {
			continue
		}
		f.Nullable = true
		if len(rest) != 1 {
			return o.replace(kw, joinArray(rest)), nil
		}
		inner, err := parseObject(rest[0])
		if err != nil {
			return nil, refuse(CodeUnsupported, "accepts any JSON")
		}
		if inner.has("const") { // a list of one choice
			return o.replace(kw, joinArray(rest)), nil
		}
		merged, ok := o.without(kw).merge(inner)
		if !ok {
			return nil, unsupported(kw)
		}
		return merged, nil
	}
	return o, nil
}

func isNullSchema(raw json.RawMessage) bool {
	o, err := parseObject(raw)
	return err == nil && o.text("type") == "null" && onlyKeywords(o, "type") == nil
}

func (o object) replace(name string, value json.RawMessage) object {
	out := slices.Clone(o)
	for i := range out {
		if out[i].name == name {
			out[i].value = value
		}
	}
	return out
}

func joinArray(items []json.RawMessage) json.RawMessage {
	out := []byte{'['}
	for i, item := range items {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, item...)
	}
	return append(out, ']')
}

// typeOf returns the one type besides null, or "" where none is given.
func (f *Field) typeOf(o object) (string, *Refusal) {
	raw, ok := o.get("type")
	if !ok {
		return "", nil
	}
	if name, ok := stringOf(raw); ok {
		return name, nil
	}
	items, err := parseArray(raw)
	if err != nil {
		return "", refuse(CodeMalformed, "type is no name and no list of names")
	}
	var names []string
	for _, item := range items {
		name, ok := stringOf(item)
		switch {
		case !ok:
			return "", refuse(CodeMalformed, "type is not a list of names")
		case name == "null":
			f.Nullable = true
		default:
			names = append(names, name)
		}
	}
	if len(names) == 2 && slices.Contains(names, "integer") && slices.Contains(names, "number") {
		names = []string{"number"}
	}
	if len(names) != 1 {
		return "", refuse(CodeUnsupported, "has more than one type")
	}
	return names[0], nil
}

// shape fills in the kind and what belongs to it.
func (p *parser) shape(f *Field, o object, typ string) *Refusal {
	if isChoice(o) && typ != "array" && typ != "object" {
		return p.choice(f, o, typ)
	}
	for _, kw := range []string{"anyOf", "oneOf", "$ref", "const"} {
		if o.has(kw) {
			return unsupported(kw)
		}
	}
	switch typ {
	case "string":
		return p.text(f, o)
	case "number", "integer":
		return p.number(f, o, typ)
	case "boolean":
		f.Kind = KindBoolean
		return p.only(o, "type")
	case "array":
		return p.multi(f, o)
	case "":
		return refuse(CodeUnsupported, "has no type")
	}
	return refuse(CodeUnsupported, "is of type "+quoted(typ)+", which is not flat")
}

// only is onlyKeywords for the strict parser. The lenient one leaves other
// assertions to the validation of the whole.
func (p *parser) only(o object, allowed ...string) *Refusal {
	if !p.strict {
		return nil
	}
	return onlyKeywords(o, allowed...)
}

func (p *parser) text(f *Field, o object) *Refusal {
	f.Kind = KindText
	if r := p.only(o, "type", "minLength", "maxLength", "pattern", "format"); r != nil {
		return r
	}
	if r := bounds(o, "minLength", "maxLength", &f.MinLength, &f.MaxLength); r != nil {
		return r
	}
	switch format := Format(o.text("format")); format {
	case FormatNone, FormatEmail, FormatURI, FormatDate, FormatDateTime, FormatPassword:
		f.Format = format
	default:
		if p.strict {
			return refuse(CodeUnsupported, "has the format "+quoted(string(format))+", which is not checked here")
		}
	}
	f.Pattern = o.text("pattern")
	if f.Pattern == "" {
		return nil
	}
	s, err := f.patternSchema()
	if err != nil {
		return compileRefusal(err)
	}
	if len(s.Unchecked()) > 0 {
		f.Note = "the server checks the pattern; it cannot be checked here"
	}
	return nil
}

// bounds reads two counts, of which the first must not be over the second.
func bounds(o object, minKey, maxKey string, lo, hi **int) *Refusal {
	for kw, dst := range map[string]**int{minKey: lo, maxKey: hi} {
		raw, ok := o.get(kw)
		if !ok {
			continue
		}
		n, err := schema.ParseNumber(string(raw))
		if err != nil || !n.IsInt() || n.Sign() < 0 {
			return refuse(CodeMalformed, kw+" is not a count")
		}
		count := math.MaxInt32
		if n.Num().IsInt64() && n.Num().Int64() < math.MaxInt32 {
			count = int(n.Num().Int64())
		}
		*dst = &count
	}
	if *lo != nil && *hi != nil && **lo > **hi {
		return refuse(CodeContradiction, minKey+" is over "+maxKey)
	}
	return nil
}

func (p *parser) number(f *Field, o object, typ string) *Refusal {
	f.Kind = KindNumber
	allowed := []string{"type", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
	if typ == "integer" {
		f.Kind = KindInteger
	}
	if r := p.only(o, allowed...); r != nil {
		return r
	}
	for kw, dst := range map[string]*json.Number{
		"minimum": &f.Minimum, "maximum": &f.Maximum, "exclusiveMinimum": &f.ExclusiveMinimum,
		"exclusiveMaximum": &f.ExclusiveMaximum, "multipleOf": &f.MultipleOf,
	} {
		raw, ok := o.get(kw)
		if !ok {
			continue
		}
		if _, err := schema.ParseNumber(string(raw)); err != nil {
			return refuse(CodeUnsupported, kw+" is not a number")
		}
		*dst = json.Number(raw)
	}
	if f.emptyRange() {
		return refuse(CodeContradiction, "no number is within its bounds")
	}
	return nil
}

// def takes the default over, if it is a valid answer.
func (p *parser) def(f *Field, o object) *Refusal {
	raw, ok := o.get("default")
	if !ok {
		return nil
	}
	if len(raw) > p.lim.ValueBytes {
		return over("default too large", p.lim.ValueBytes, len(raw), p.setting("valueBytes"))
	}
	value, err := f.normal(raw)
	if err == nil {
		f.Default = value
		return nil
	}
	if p.strict {
		return refuse(CodeBadDefault, "the default "+err.Error())
	}
	if kindOf(raw) != jsontext.KindNull { // null is how generators write "none"
		f.Note = "the schema's default is no valid answer and is not offered"
	}
	return nil
}
