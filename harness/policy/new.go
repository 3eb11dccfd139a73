package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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
	// List is "deny", "ask" or "allow", or such a list of a loop:
	// "loops.planner.deny"; "" for a fault of the whole.
	List  string
	Index int
	// Place is where the rule was written, when that is known.
	Place string
	// Field is "pattern", "loop", "when" or "operator".
	Field  string
	Reason string
	Err    error
}

func (e *RuleError) Error() string {
	if e.List == "" {
		return fmt.Sprintf("policy: %s: %s", e.Field, e.Reason)
	}
	text := fmt.Sprintf("policy: %s[%d]: %s: %s", e.List, e.Index, e.Field, e.Reason)
	if e.Place != "" {
		return e.Place + ": " + text
	}
	return text
}

func (e *RuleError) Unwrap() error { return e.Err }

// Policy is a compiled Config.
type Policy struct {
	deny, ask, allow []rule
	operator         OperatorMode
}

type rule struct {
	name    string // "deny[0]"
	key     string
	place   string
	pattern pattern
	loop    string
	within  string // the one loop that the rule is for
	hints   tool.Hints
	when    *gojq.Code
	src     Rule
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
	for _, list := range []struct {
		to   *[]rule
		name string
		of   func(LoopRules) []Rule
		own  []Rule
	}{
		{&p.deny, "deny", func(l LoopRules) []Rule { return l.Deny }, c.Deny},
		{&p.ask, "ask", func(l LoopRules) []Rule { return l.Ask }, c.Ask},
		{&p.allow, "allow", func(l LoopRules) []Rule { return l.Allow }, c.Allow},
	} {
		for _, l := range c.Loops {
			if err := compileList(list.to, "loops."+l.Loop+"."+list.name, l.Loop, list.of(l)); err != nil {
				return nil, err
			}
		}
		if err := compileList(list.to, list.name, "", list.own); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func compileList(to *[]rule, list, within string, rules []Rule) error {
	for i, r := range rules {
		if len(*to) >= MaxRules {
			return &RuleError{List: list, Index: i, Field: "pattern", Reason: fmt.Sprintf("more than %d rules", MaxRules)}
		}
		c, err := compile(r)
		if err != nil {
			err.List, err.Index, err.Place = list, i, r.Place
			return err
		}
		c.name, c.within, c.key = fmt.Sprintf("%s[%d]", list, i), within, ruleKey(list, r)
		*to = append(*to, c)
	}
	return nil
}

// ruleKey names a rule by what it says.
func ruleKey(list string, r Rule) string {
	r.Place = ""
	b, err := json.Marshal(r)
	if err != nil {
		return list
	}
	sum := sha256.Sum256(b)
	return list + " " + r.Pattern + " #" + hex.EncodeToString(sum[:8])
}

func compile(r Rule) (rule, *RuleError) {
	p, err := ParsePattern(r.Pattern)
	if err != nil {
		return rule{}, &RuleError{Field: "pattern", Reason: err.Error(), Err: err}
	}
	out := rule{pattern: p.p, loop: r.Loop, hints: r.Hints, place: r.Place, src: r}
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
