package policy

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/looprig/looprig/harness/tool"
)

func mustNew(t *testing.T, c Config) *Policy {
	t.Helper()
	p, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func request(args string) Request {
	return Request{
		Identity: tool.Identity{Source: "mcp", Binding: "demo", Name: "add"}, Loop: "main",
		Args: json.RawMessage(args), ToolDigest: "sha256:aa", Trust: tool.TrustAccepted,
	}
}

func flag(b bool) *bool { return &b }

func TestPatterns(t *testing.T) {
	t.Parallel()
	id := func(s, b, n string) tool.Identity { return tool.Identity{Source: s, Binding: b, Name: n} }
	cases := []struct {
		pattern string
		id      tool.Identity
		want    bool
	}{
		{"*", id("builtin", "", "x"), true},
		{"*", id("mcp", "demo", "a:b"), true},
		{"mcp:*", id("mcp", "demo", "add"), true},
		{"mcp:*", id("builtin", "", "add"), false},
		{"mcp:demo:*", id("mcp", "demo", "a/b:c"), true},
		{"mcp:demo:*", id("mcp", "demo2", "a"), false},
		{"mcp:demo:*", id("mcp", "demo:x", "a"), false},
		{"mcp:*:add", id("mcp", "demo", "add"), true},
		{"mcp:*:add", id("mcp", "demo", "x:add"), false},
		{"mcp:d?mo:a*d", id("mcp", "demo", "aXXd"), true},
		{`mcp:demo:a\*`, id("mcp", "demo", "a*"), true},
		{`mcp:demo:a\*`, id("mcp", "demo", "ab"), false},
		{"mcp:demo:ADD", id("mcp", "demo", "add"), false},
		{"mcp:demo:ns:add", id("mcp", "demo", "ns:add"), true},
		{"builtin:delegate", id("builtin", "", "delegate"), true},
	}
	for _, c := range cases {
		p, err := ParsePattern(c.pattern)
		if err != nil || p.Match(c.id) != c.want {
			t.Errorf("%s on %s: %v, want %v (%v)", c.pattern, c.id, !c.want, c.want, err)
		}
	}
}

func TestGlobIsNotExponential(t *testing.T) {
	t.Parallel()
	done := make(chan bool, 1)
	go func() { done <- glob(strings.Repeat("a*", 200)+"b", strings.Repeat("a", 5000)) }()
	select {
	case got := <-done:
		if got {
			t.Fatal("matched")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("a glob takes forever")
	}
}

func TestLoadErrors(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		c    Config
		want string
	}{
		"model name": {Config{Allow: []Rule{{Pattern: "mcp__demo__add"}}}, `policy: allow[0]: pattern: "mcp__demo__add" is a model-facing name; write "mcp:demo:add"`},
		"no tool":    {Config{Deny: []Rule{{Pattern: "*"}, {Pattern: "mcp:demo"}}}, `policy: deny[1]: pattern: "mcp:demo" names no tool; write "mcp:demo:*"`},
		"no source":  {Config{Ask: []Rule{{Pattern: "demo:add"}}}, "no pattern of identities"},
		"empty":      {Config{Ask: []Rule{{Pattern: "mcp::x"}}}, "empty part"},
		"escape":     {Config{Ask: []Rule{{Pattern: `mcp:demo:x\`}}}, "backslash"},
		"jq":         {Config{Ask: []Rule{{Pattern: "*", When: ".a ="}}}, "when: not a jq expression"},
		"jq name":    {Config{Ask: []Rule{{Pattern: "*", When: "nope(1)"}}}, "when: not a usable"},
		"jq input":   {Config{Ask: []Rule{{Pattern: "*", When: "input"}}}, "when: not a usable"},
		"operator":   {Config{Operator: "never"}, "operator: must be auto or ask"},
	}
	for name, c := range cases {
		_, err := New(c.c)
		var rule *RuleError
		if !errors.As(err, &rule) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPrecedenceAndTrace(t *testing.T) {
	t.Parallel()
	p := mustNew(t, Config{
		Deny:  []Rule{{Pattern: "mcp:demo:*", When: ".path == \"/etc\""}},
		Ask:   []Rule{{Pattern: "mcp:demo:add", When: ".n > 100"}},
		Allow: []Rule{{Pattern: "mcp:other:*"}, {Pattern: "mcp:demo:add", Loop: "ma*"}},
	})
	cases := []struct {
		args, rule string
		verdict    Verdict
		considered []string
	}{
		{`{"path":"/etc","n":1000}`, "deny[0]", Deny, []string{"deny[0]"}},
		{`{"n":1000}`, "ask[0]", Ask, []string{"deny[0]", "ask[0]"}},
		{`{"n":1}`, "allow[1]", Allow, []string{"deny[0]", "ask[0]", "allow[0]", "allow[1]"}},
	}
	for _, c := range cases {
		d := p.Decide(t.Context(), request(c.args), nil)
		if d.Verdict != c.verdict || d.Rule != c.rule || !slices.Equal(d.Considered, c.considered) || d.Digest != "sha256:aa" {
			t.Errorf("%s: %+v", c.args, d)
		}
	}
	r := request(`{"n":1}`)
	r.Loop = "other"
	if d := p.Decide(t.Context(), r, nil); d.Verdict != Ask || d.Rule != RuleDefault {
		t.Errorf("other loop: %+v", d)
	}
	var none *Policy
	if d := none.Decide(t.Context(), r, nil); d.Verdict != Ask || d.Rule != RuleDefault {
		t.Errorf("no policy: %+v", d)
	}
}

// A predicate that fails matches in deny and ask, and not in allow.
func TestPredicates(t *testing.T) {
	t.Parallel()
	cases := []struct {
		when, args string
		holds      bool
		fails      bool
	}{
		{".a", `{"a":true}`, true, false},
		{".a", `{"a":false}`, false, false},
		{".a", `{}`, false, false},
		{"empty", `{}`, false, false},
		{".a", `{"a":"yes"}`, false, true},
		{".a | error", `{}`, false, true},
		{".a.b.c", `{"a":3}`, false, true},
		{"true, true", `{}`, false, true},
		{".n == 12345678901234567890", `{"n":12345678901234567890}`, true, false},
		{`.cmd | test("rm -rf")`, `{"cmd":"rm -rf /"}`, true, false},
		{"[range(1; infinite)] | length > 0", `{}`, false, true},
		{".a", `{`, false, true},
		{"env.HOME == null", `{}`, true, false},
	}
	for _, c := range cases {
		rule := []Rule{{Pattern: "*", When: c.when}}
		deny := mustNew(t, Config{Deny: rule}).Decide(t.Context(), request(c.args), nil)
		ask := mustNew(t, Config{Ask: rule, Allow: []Rule{{Pattern: "*"}}}).Decide(t.Context(), request(c.args), nil)
		allow := mustNew(t, Config{Allow: rule}).Decide(t.Context(), request(c.args), nil)
		strict := c.holds || c.fails
		if (deny.Verdict == Deny) != strict || (ask.Verdict == Ask) != strict || (allow.Verdict == Allow) != c.holds {
			t.Errorf("%s on %s: deny %+v, ask %+v, allow %+v", c.when, c.args, deny, ask, allow)
		}
		if c.fails && deny.Reason == "" {
			t.Errorf("%s on %s: a failed predicate is not named", c.when, c.args)
		}
	}
}

func TestHintsCountOnlyWhereTrusted(t *testing.T) {
	t.Parallel()
	p := mustNew(t, Config{Allow: []Rule{{Pattern: "*", Hints: tool.Hints{ReadOnly: flag(true)}}}})
	r := request(`{}`)
	r.Hints.ReadOnly = flag(true)
	if d := p.Decide(t.Context(), r, nil); d.Verdict != Ask {
		t.Errorf("untrusted: %+v", d)
	}
	r.HintsTrusted = true
	if d := p.Decide(t.Context(), r, nil); d.Verdict != Allow {
		t.Errorf("trusted: %+v", d)
	}
	r.Hints.ReadOnly = nil
	if d := p.Decide(t.Context(), r, nil); d.Verdict != Ask {
		t.Errorf("no claim: %+v", d)
	}
}

func TestOperatorIssued(t *testing.T) {
	t.Parallel()
	auto := mustNew(t, Config{Deny: []Rule{{Pattern: "mcp:demo:rm"}}, Ask: []Rule{{Pattern: "*"}}})
	asks := mustNew(t, Config{Operator: OperatorAsk})
	cases := map[string]struct {
		p       *Policy
		change  func(*Request)
		verdict Verdict
		rule    string
	}{
		"auto":                    {auto, func(*Request) {}, Allow, RuleOperator},
		"deny rules apply":        {auto, func(r *Request) { r.Identity.Name = "rm" }, Deny, "deny[0]"},
		"destructive, no person":  {auto, func(r *Request) { r.Hints.Destructive = flag(true) }, Allow, RuleOperator},
		"destructive, a person":   {auto, func(r *Request) { r.Hints.Destructive, r.Interactive = flag(true), true }, Ask, RuleOperator},
		"pending, no person":      {auto, func(r *Request) { r.Trust = tool.TrustPending }, Deny, RulePin},
		"pending, a person":       {auto, func(r *Request) { r.Trust, r.Interactive = tool.TrustPending, true }, Ask, RuleOperator},
		"trust that nobody gave":  {auto, func(r *Request) { r.Trust = "" }, Deny, RulePin},
		"operator: ask":           {asks, func(*Request) {}, Ask, RuleDefault},
		"a model is no operator":  {auto, func(r *Request) { r.Operator = false }, Ask, "ask[0]"},
		"pending, a model's call": {auto, func(r *Request) { r.Operator, r.Interactive, r.Trust = false, true, tool.TrustPending }, Deny, RulePin},
	}
	for name, c := range cases {
		r := request(`{}`)
		r.Operator = true
		c.change(&r)
		if d := c.p.Decide(t.Context(), r, nil); d.Verdict != c.verdict || d.Rule != c.rule {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

func grantFor(r Request) Grant {
	return Grant{ID: "g", Scope: ScopeSession, Tool: r.Identity.String(), Digest: r.ToolDigest, Rule: RuleDefault}
}

func TestGrants(t *testing.T) {
	t.Parallel()
	p := mustNew(t, Config{Ask: []Rule{{Pattern: "*", When: ".n > 100"}}, Deny: []Rule{{Pattern: "*", When: ".n > 1000"}}})
	g := &Grants{}
	small := request(`{"n":1}`)
	if _, err := g.Add(grantFor(small)); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Add(Grant{Tool: small.Identity.String()}); !errors.Is(err, ErrNoDigest) {
		t.Fatal(err)
	}
	if d := p.Decide(t.Context(), small, g); d.Verdict != Allow || d.Rule != RuleGrant || d.Grant != "g" || d.Considered[len(d.Considered)-1] != "grant:session g" {
		t.Errorf("granted: %+v", d)
	}
	if d := p.Decide(t.Context(), request(`{"n":500}`), g); d.Verdict != Ask || d.Rule != "ask[0]" || !slices.Contains(d.Considered, "grant:session g other_rule") {
		t.Errorf("a grant silenced a rule on arguments: %+v", d)
	}
	if d := p.Decide(t.Context(), request(`{"n":5000}`), g); d.Verdict != Deny {
		t.Errorf("a grant beat a deny rule: %+v", d)
	}
	changed := small
	changed.ToolDigest = "sha256:bb"
	if d := p.Decide(t.Context(), changed, g); d.Verdict != Ask || len(d.Lapsed) != 1 || !slices.Contains(d.Considered, "grant:session g changed") {
		t.Errorf("a grant outlived its definition: %+v", d)
	}
	moved := small
	moved.Identity.Binding = "other"
	if d := p.Decide(t.Context(), moved, g); d.Verdict != Ask {
		t.Errorf("a grant moved to another binding: %+v", d)
	}
}

// Whatever the rules: deny beats ask beats allow beats the default, a grant
// never turns a deny, and adding a deny rule never lets anything more through.
func TestPrecedenceProperty(t *testing.T) {
	t.Parallel()
	patterns := []string{"*", "mcp:*", "mcp:demo:*", "mcp:demo:add", "mcp:other:*", "mcp:*:rm", "builtin:x"}
	whens := []string{"", ".n > 5", ".n", "error", ".missing == null"}
	rapid.Check(t, func(t *rapid.T) {
		list := func(name string) []Rule {
			var out []Rule
			for range rapid.IntRange(0, 3).Draw(t, name) {
				out = append(out, Rule{Pattern: rapid.SampledFrom(patterns).Draw(t, "pattern"), When: rapid.SampledFrom(whens).Draw(t, "when")})
			}
			return out
		}
		c := Config{Deny: list("deny"), Ask: list("ask"), Allow: list("allow")}
		r := request(rapid.SampledFrom([]string{`{}`, `{"n":3}`, `{"n":9}`}).Draw(t, "args"))
		r.Identity.Name = rapid.SampledFrom([]string{"add", "rm"}).Draw(t, "tool")
		g := &Grants{}
		if rapid.Bool().Draw(t, "granted") {
			if _, err := g.Add(grantFor(r)); err != nil {
				t.Fatal(err)
			}
		}
		alone := func(c Config) Verdict {
			p, err := New(c)
			if err != nil {
				t.Fatal(err)
			}
			d := p.Decide(t.Context(), r, nil)
			if d.Rule == RuleDefault {
				return ""
			}
			return d.Verdict
		}
		deny, ask, allow := alone(Config{Deny: c.Deny}), alone(Config{Ask: c.Ask}), alone(Config{Allow: c.Allow})
		want := Ask
		switch {
		case deny == Deny:
			want = Deny
		case ask == Ask:
		case allow == Allow:
			want = Allow
		case len(g.All()) > 0:
			want = Allow
		}
		p, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		d := p.Decide(t.Context(), r, g)
		if d.Verdict != want {
			t.Fatalf("%+v is %+v, want %s", c, d, want)
		}
		looked := slices.DeleteFunc(slices.Clone(d.Considered), func(s string) bool { return strings.HasSuffix(s, " "+string(StepOtherRule)) })
		last := looked[len(looked)-1]
		if last != strings.TrimSpace(d.Rule+" "+d.Grant) {
			t.Fatalf("the trace %v does not end with the winner %s", d.Considered, d.Rule)
		}
		c.Deny = append(c.Deny, Rule{Pattern: "*"})
		if p, err = New(c); err != nil || p.Decide(t.Context(), r, g).Verdict != Deny {
			t.Fatalf("deny * lets something through: %v", err)
		}
	})
}
