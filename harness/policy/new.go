package policy

import (
	"fmt"
	"strings"

	"github.com/itchyny/gojq"

	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/internal/safetext"
)

// Bounds of a configuration.
const (
	// MaxRules is how many rules one list may have.
	MaxRules = 1000
	// MaxPredicateBytes is the longest jq expression.
	MaxPredicateBytes = 8 << 10
)

// RuleError says which rule of a configuration cannot be used and why.
type RuleError struct {
	// List is "deny", "ask" or "allow"; "" for a fault of the whole.
	List  string
	Index int
	// Field is "pattern", "loop", "when" or "operator".
	Field  string
	Reason string
	Err    error
}

func (e *RuleError) Error() string {
	if e.List == "" {
		return fmt.Sprintf("policy: %s: %s", e.Field, e.Reason)
	}
	return fmt.Sprintf("policy: %s[%d]: %s: %s", e.List, e.Index, e.Field, e.Reason)
}

func (e *RuleError) Unwrap() error { return e.Err }

// Policy is a compiled Config.
type Policy struct {
	deny, ask, allow []rule
	operator         OperatorMode
}

type rule struct {
	name    string // "deny[0]"
	pattern pattern
	loop    string
	hints   tool.Hints
	when    *gojq.Code
}

// New compiles a configuration. It fails with *RuleError.
func New(c Config) (*Policy, error) {
	p := &Policy{operator: c.Operator}
	switch c.Operator {
	case "":
		p.operator = OperatorAuto
	case OperatorAuto, OperatorAsk:
	default:
		return nil, &RuleError{Field: "operator", Reason: "must be auto or ask, is " + quote(string(c.Operator))}
	}
	var err error
	if p.deny, err = compileList("deny", c.Deny); err != nil {
		return nil, err
	}
	if p.ask, err = compileList("ask", c.Ask); err != nil {
		return nil, err
	}
	if p.allow, err = compileList("allow", c.Allow); err != nil {
		return nil, err
	}
	return p, nil
}

func compileList(list string, rules []Rule) ([]rule, error) {
	if len(rules) > MaxRules {
		return nil, &RuleError{List: list, Index: MaxRules, Field: "pattern", Reason: fmt.Sprintf("more than %d rules", MaxRules)}
	}
	out := make([]rule, len(rules))
	for i, r := range rules {
		c, err := compile(r)
		if err != nil {
			err.List, err.Index = list, i
			return nil, err
		}
		c.name = fmt.Sprintf("%s[%d]", list, i)
		out[i] = c
	}
	return out, nil
}

func compile(r Rule) (rule, *RuleError) {
	p, err := ParsePattern(r.Pattern)
	if err != nil {
		return rule{}, &RuleError{Field: "pattern", Reason: err.Error(), Err: err}
	}
	out := rule{pattern: p.p, loop: r.Loop, hints: r.Hints}
	if err := checkGlob(r.Loop); err != nil {
		return rule{}, &RuleError{Field: "loop", Reason: err.Error(), Err: err}
	}
	if r.When != "" {
		if out.when, err = compilePredicate(r.When); err != nil {
			return rule{}, &RuleError{Field: "when", Reason: err.Error(), Err: err}
		}
	}
	return out, nil
}

// pattern is a glob for each part of an identity.
type pattern struct{ source, binding, name string }

// Pattern is a compiled glob on identities, for whatever else selects tools the
// way that rules do.
type Pattern struct{ p pattern }

// Match reports whether the pattern selects the tool.
func (p Pattern) Match(id tool.Identity) bool { return p.p.match(id) }

// ParsePattern compiles a glob on identities. Its errors say how to spell what
// was probably meant.
func ParsePattern(s string) (Pattern, error) {
	if s == "*" {
		return Pattern{pattern{"*", "*", "*"}}, nil
	}
	if rest, ok := strings.CutPrefix(s, "mcp__"); ok {
		return Pattern{}, fmt.Errorf("%s is a model-facing name; write %s", quote(s), quote("mcp:"+strings.Replace(rest, "__", ":", 1)))
	}
	if err := checkGlob(s); err != nil {
		return Pattern{}, err
	}
	parts := strings.SplitN(s, ":", 3)
	switch {
	case len(parts) == 2 && parts[0] == "builtin" && parts[1] != "":
		return Pattern{pattern{"builtin", "", parts[1]}}, nil
	case parts[0] != "mcp":
		return Pattern{}, fmt.Errorf("%s is no pattern of identities; write mcp:<binding>:<tool>, builtin:<tool> or *", quote(s))
	case len(parts) == 2 && parts[1] == "*":
		return Pattern{pattern{"mcp", "*", "*"}}, nil
	case len(parts) == 2 && parts[1] != "":
		return Pattern{}, fmt.Errorf("%s names no tool; write %s", quote(s), quote(s+":*"))
	case len(parts) < 3 || parts[1] == "" || parts[2] == "":
		return Pattern{}, fmt.Errorf("%s has an empty part", quote(s))
	}
	return Pattern{pattern{"mcp", parts[1], parts[2]}}, nil
}

func (p pattern) match(id tool.Identity) bool {
	return glob(p.source, id.Source) && glob(p.binding, id.Binding) && glob(p.name, id.Name)
}

func quote(s string) string { return `"` + safetext.ToLineN(s, safetext.IdentBytes).String() + `"` }
