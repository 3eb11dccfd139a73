package form

import "slices"

// assertions are the keywords of JSON Schema that say what an instance must be,
// or where more is said. Every other keyword is an annotation: the
// specification has unknown ones ignored.
var assertions = []string{
	"$defs", "$dynamicRef", "$recursiveRef", "$ref", "additionalItems", "additionalProperties", "allOf", "anyOf",
	"const", "contains", "contentEncoding", "contentMediaType", "contentSchema", "definitions", "dependencies",
	"dependentRequired", "dependentSchemas", "else", "enum", "exclusiveMaximum", "exclusiveMinimum", "format",
	"if", "items", "maxContains", "maxItems", "maxLength", "maxProperties", "maximum", "minContains", "minItems",
	"minLength", "minProperties", "minimum", "multipleOf", "not", "oneOf", "pattern", "patternProperties",
	"prefixItems", "properties", "propertyNames", "required", "then", "type", "unevaluatedItems",
	"unevaluatedProperties", "uniqueItems",
}

func isAssertion(keyword string) bool { return slices.Contains(assertions, keyword) }

// onlyKeywords refuses an assertion that is not among the allowed.
func onlyKeywords(o object, allowed ...string) *Refusal {
	for _, m := range o {
		if isAssertion(m.name) && !slices.Contains(allowed, m.name) {
			return unsupported(m.name)
		}
	}
	return nil
}

func unsupported(keyword string) *Refusal {
	return refuse(CodeUnsupported, "uses "+quoted(keyword)+", which a form cannot ask for here")
}
