package schema

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/looprig/looprig/internal/safetext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// maxFlattened bounds how many problems are looked at for one report.
const maxFlattened = 10_000

func validationError(ve *jsonschema.ValidationError) *ValidationError {
	problems, total := flatten(ve)
	if len(problems) == 0 {
		problems, total = []Problem{{Message: "does not fit the schema"}}, 1
	}
	return &ValidationError{Problems: problems[:min(len(problems), MaxProblems)], Total: total}
}

// flatten lists the problems of a report in a fixed order, and how many there
// were in all.
func flatten(ve *jsonschema.ValidationError) ([]Problem, int) {
	c := &collector{}
	c.collect(ve)
	slices.SortStableFunc(c.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Keyword, b.Keyword), cmp.Compare(a.Message, b.Message))
	})
	// References may lead to one problem by several ways.
	before := len(c.problems)
	c.problems = slices.Compact(c.problems)
	return c.problems, c.total - (before - len(c.problems))
}

type collector struct {
	problems []Problem
	total    int
}

func (c *collector) add(ve *jsonschema.ValidationError, keyword, property, message string) {
	c.total++
	if len(c.problems) < maxFlattened {
		c.problems = append(c.problems, Problem{
			Pointer: pointer(ve.InstanceLocation), Keyword: keyword, Property: property, Message: message,
		})
	}
}

func (c *collector) collect(ve *jsonschema.ValidationError) {
	switch k := ve.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		for _, cause := range ve.Causes {
			c.collect(cause)
		}
	case *kind.AnyOf:
		c.alternatives(ve, "anyOf")
	case *kind.OneOf:
		if len(k.Subschemas) > 1 {
			c.add(ve, "oneOf", "", "fits more than one alternative, and must fit exactly one")
			return
		}
		c.alternatives(ve, "oneOf")
	case *kind.Required:
		for _, name := range k.Missing {
			c.add(ve, "required", name, "is missing property "+ident(name))
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			c.add(ve, "additionalProperties", name, "has unknown property "+ident(name))
		}
	default:
		keyword, message := describe(ve.ErrorKind)
		c.add(ve, keyword, "", message)
	}
}

// alternatives reports a value that fits none of several. When its type rules
// out all but one, the problems of that one are what helps.
func (c *collector) alternatives(ve *jsonschema.ValidationError, keyword string) {
	var likely []*jsonschema.ValidationError
	for _, cause := range ve.Causes {
		if !wrongType(cause, len(ve.InstanceLocation)) {
			likely = append(likely, cause)
		}
	}
	if len(likely) == 1 {
		c.collect(likely[0])
		return
	}
	c.add(ve, keyword, "", fmt.Sprintf("fits none of %d alternatives", len(ve.Causes)))
}

// wrongType reports whether a cause says only that the value, at that depth,
// is of another type.
func wrongType(ve *jsonschema.ValidationError, depth int) bool {
	for len(ve.Causes) == 1 {
		ve = ve.Causes[0]
	}
	f, ok := nodeFailure(ve.ErrorKind)
	return ok && f.keyword == "type" && len(ve.InstanceLocation) == depth
}

func nodeFailure(k jsonschema.ErrorKind) (*failure, bool) {
	format, ok := k.(*kind.Format)
	if !ok {
		return nil, false
	}
	var f *failure
	return f, errors.As(format.Err, &f)
}

// describe gives the keyword and a host-written message for a single problem.
func describe(k jsonschema.ErrorKind) (keyword, message string) {
	switch k := k.(type) {
	case *kind.Format:
		if f, ok := nodeFailure(k); ok {
			return f.keyword, f.message
		}
		return "format", "is not a valid " + ident(k.Want)
	case *kind.FalseSchema:
		return "false", "nothing is allowed here"
	case *kind.Type:
		return "type", "must be " + joinOr(k.Want) + ", not " + k.Got
	case *kind.Enum:
		return "enum", "must be one of " + newValueSet(k.Want).list()
	case *kind.Const:
		return "const", "must be " + newValueSet([]any{k.Want}).list()
	case *kind.Not:
		return "not", "must not fit the schema under \"not\""
	case *kind.Pattern:
		return "pattern", "must match the pattern " + quoted(k.Want)
	case *kind.Dependency:
		return "dependencies", "has property " + ident(k.Prop) + ", which needs " + idents(k.Missing)
	case *kind.DependentRequired:
		return "dependentRequired", "has property " + ident(k.Prop) + ", which needs " + idents(k.Missing)
	case *kind.PropertyNames:
		return "propertyNames", "has property " + ident(k.Property) + ", whose name is not allowed"
	case *kind.UniqueItems:
		return "uniqueItems", fmt.Sprintf("items %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	}
	if keyword, message, ok := describeSize(k); ok {
		return keyword, message
	}
	return "schema", "does not fit the schema"
}

func describeSize(k jsonschema.ErrorKind) (keyword, message string, ok bool) {
	count := func(keyword, bound string, want, got int, what string) (string, string, bool) {
		return keyword, fmt.Sprintf("must have at %s %d %s, has %d", bound, want, what, got), true
	}
	compare := func(keyword, relation string, want *big.Rat) (string, string, bool) {
		return keyword, "must be " + relation + " " + decimal(want), true
	}
	switch k := k.(type) {
	case *kind.MinLength:
		return count("minLength", "least", k.Want, k.Got, "characters")
	case *kind.MaxLength:
		return count("maxLength", "most", k.Want, k.Got, "characters")
	case *kind.MinItems:
		return count("minItems", "least", k.Want, k.Got, "items")
	case *kind.MaxItems:
		return count("maxItems", "most", k.Want, k.Got, "items")
	case *kind.MinProperties:
		return count("minProperties", "least", k.Want, k.Got, "properties")
	case *kind.MaxProperties:
		return count("maxProperties", "most", k.Want, k.Got, "properties")
	case *kind.AdditionalItems:
		return "items", fmt.Sprintf("has %d items too many", k.Count), true
	case *kind.Contains:
		return "contains", "no item fits what the list must contain", true
	case *kind.MinContains:
		return count("minContains", "least", k.Want, len(k.Got), "fitting items")
	case *kind.MaxContains:
		return count("maxContains", "most", k.Want, len(k.Got), "fitting items")
	case *kind.Minimum:
		return compare("minimum", "at least", k.Want)
	case *kind.Maximum:
		return compare("maximum", "at most", k.Want)
	case *kind.ExclusiveMinimum:
		return compare("exclusiveMinimum", "more than", k.Want)
	case *kind.ExclusiveMaximum:
		return compare("exclusiveMaximum", "less than", k.Want)
	case *kind.MultipleOf:
		return compare("multipleOf", "a multiple of", k.Want)
	}
	return "", "", false
}

func idents(names []string) string {
	shown := make([]string, 0, maxListed)
	for _, n := range names[:min(len(names), maxListed)] {
		shown = append(shown, ident(n))
	}
	out := strings.Join(shown, ", ")
	if more := len(names) - len(shown); more > 0 {
		out = fmt.Sprintf("%s and %d more", out, more)
	}
	return out
}

// decimal shows a number, bounded.
func decimal(r *big.Rat) string {
	text := r.FloatString(12)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return safetext.ToLineN(text, 40).String()
}

func pointer(tokens []string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(escapePointer(t))
	}
	return b.String()
}
