package policy

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/looprig/looprig/harness/tool"
)

func TestLint(t *testing.T) {
	t.Parallel()
	known := Known{
		Bindings: []string{"demo", "docs"}, Trusting: []string{"docs"}, Loops: []string{"main", "planner"},
		Tools: map[string][]string{"demo": {"add", "echo"}}, Builtins: []string{"delegate"},
	}
	read := tool.Hints{ReadOnly: flag(true)}
	cases := map[string]struct {
		c    Config
		want []string // rule and code
	}{
		"clean":              {Config{Deny: []Rule{{Pattern: "mcp:demo:add", When: ".a > 3"}}, Allow: []Rule{{Pattern: "mcp:demo:*"}, {Pattern: "mcp:docs:*", Hints: read}}}, nil},
		"same list":          {Config{Allow: []Rule{{Pattern: "mcp:demo:*"}, {Pattern: "mcp:demo:add"}}}, []string{"allow[1] shadowed"}},
		"denied":             {Config{Deny: []Rule{{Pattern: "mcp:demo:*"}}, Ask: []Rule{{Pattern: "mcp:demo:e*", When: ".x"}}}, []string{"ask[0] shadowed"}},
		"same predicate":     {Config{Ask: []Rule{{Pattern: "mcp:demo:*", When: ".x"}}, Allow: []Rule{{Pattern: "mcp:demo:add", When: ".x"}}}, []string{"allow[0] shadowed"}},
		"other predicate":    {Config{Ask: []Rule{{Pattern: "mcp:demo:*", When: ".x"}}, Allow: []Rule{{Pattern: "mcp:demo:add", When: ".y"}}}, nil},
		"narrower loop":      {Config{Deny: []Rule{{Pattern: "*", Loop: "planner"}}, Allow: []Rule{{Pattern: "mcp:demo:add"}}}, nil},
		"rule of a loop":     {Config{Deny: []Rule{{Pattern: "*"}}, Loops: []LoopRules{{Loop: "planner", Deny: []Rule{{Pattern: "mcp:demo:*"}}, Allow: []Rule{{Pattern: "mcp:docs:*"}}}}}, []string{"loops.planner.allow[0] shadowed"}},
		"narrower hints":     {Config{Ask: []Rule{{Pattern: "mcp:docs:*", Hints: read}}, Allow: []Rule{{Pattern: "mcp:docs:x"}}}, nil},
		"unknown binding":    {Config{Allow: []Rule{{Pattern: "mcp:dmeo:add"}}}, []string{"allow[0] unknown_binding"}},
		"unknown tool":       {Config{Allow: []Rule{{Pattern: "mcp:demo:ad"}, {Pattern: "mcp:docs:ad"}}}, []string{"allow[0] unknown_tool"}},
		"unknown builtin":    {Config{Allow: []Rule{{Pattern: "builtin:delgate"}}}, []string{"allow[0] unknown_tool"}},
		"unknown loop":       {Config{Allow: []Rule{{Pattern: "*", Loop: "plan"}, {Pattern: "builtin:*", Loop: "pl*"}}}, []string{"allow[0] unknown_loop"}},
		"hints do not count": {Config{Allow: []Rule{{Pattern: "mcp:demo:*", Hints: read}}}, []string{"allow[0] untrusted_hints"}},
	}
	for name, c := range cases {
		var got []string
		for _, f := range mustNew(t, c.c).Lint(known) {
			got = append(got, f.Rule+" "+f.Code)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if f := mustNew(t, Config{Allow: []Rule{{Pattern: "mcp:nobody:x"}}}).Lint(Known{}); f != nil {
		t.Errorf("found without knowing anything: %+v", f)
	}
}

// What Lint calls shadowed never decides, whatever the call.
func TestShadowedRulesNeverWin(t *testing.T) {
	t.Parallel()
	globs := []string{"*", "a", "a*", "*a", "?", "a?", "*?*", "b", `\*`, "a*b", "aa"}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(n string) string { return rapid.SampledFrom(globs).Draw(t, n) }
		list := func(name string) (out []Rule) {
			for range rapid.IntRange(0, 3).Draw(t, name) {
				r := Rule{Pattern: "mcp:" + draw("binding") + ":" + draw("tool"), When: rapid.SampledFrom([]string{"", ".x", "error"}).Draw(t, "when")}
				if rapid.Bool().Draw(t, "of a loop") {
					r.Loop = draw("loop")
				}
				if rapid.Bool().Draw(t, "hinted") {
					r.Hints.ReadOnly = flag(rapid.Bool().Draw(t, "read-only"))
				}
				out = append(out, r)
			}
			return out
		}
		p, err := New(Config{Deny: list("deny"), Ask: list("ask"), Allow: list("allow"), Loops: []LoopRules{{Loop: "a", Deny: list("l"), Ask: list("m"), Allow: list("n")}}})
		if err != nil {
			t.Fatal(err)
		}
		never := map[string]bool{}
		for _, f := range p.Lint(Known{}) {
			never[f.Rule] = true
		}
		text := func(n string) string { return rapid.StringMatching(`[ab*]{0,3}`).Draw(t, n) }
		for range 5 {
			r := request(rapid.SampledFrom([]string{`{}`, `{"x":true}`}).Draw(t, "args"))
			r.Identity, r.Loop, r.Agent = tool.Identity{Source: "mcp", Binding: text("b"), Name: text("t")}, text("l"), text("agent")
			r.HintsTrusted = rapid.Bool().Draw(t, "trusted")
			if rapid.Bool().Draw(t, "hints") {
				r.Hints.ReadOnly = flag(rapid.Bool().Draw(t, "ro"))
			}
			if d := p.Decide(t.Context(), r, nil); never[d.Rule] {
				t.Fatalf("%s was said to be shadowed and decided on %+v", d.Rule, r)
			}
		}
	})
}

func TestExplain(t *testing.T) {
	t.Parallel()
	p := mustNew(t, Config{
		Deny: []Rule{{Pattern: "mcp:demo:add", When: ".n > 5", Place: "c.yaml:3:5"}}, Ask: []Rule{{Pattern: "*", Loop: "planner"}},
		Allow: []Rule{{Pattern: "mcp:demo:*"}, {Pattern: "*"}},
	})
	d, steps := p.Explain(t.Context(), request(`{"n":1}`), nil)
	want := []Step{{"deny[0]", "c.yaml:3:5", StepPredicate}, {"ask[0]", "", StepLoop}, {"allow[0]", "", StepWon}, {"allow[1]", "", StepUnreached}}
	if d.Rule != "allow[0]" || !slices.Equal(steps, want) {
		t.Fatalf("%+v %+v", d, steps)
	}
}

func TestPerLoopRulesAndDelegates(t *testing.T) {
	t.Parallel()
	p := mustNew(t, Config{
		Allow: []Rule{{Pattern: "mcp:demo:*"}},
		Loops: []LoopRules{{Loop: "planner", Deny: []Rule{{Pattern: "mcp:demo:rm"}}, Ask: []Rule{{Pattern: "mcp:demo:add"}}}},
	})
	for _, c := range []struct {
		loop, agent, tool string
		rule              string
	}{
		{"main", "", "rm", "allow[0]"},
		{"planner", "", "rm", "loops.planner.deny[0]"},
		{"planner-1", "planner", "rm", "loops.planner.deny[0]"},
		{"planner-1", "", "rm", "allow[0]"},
		{"planner", "", "add", "loops.planner.ask[0]"},
	} {
		r := request("{}")
		r.Loop, r.Agent, r.Identity.Name = c.loop, c.agent, c.tool
		if d := p.Decide(t.Context(), r, nil); d.Rule != c.rule {
			t.Errorf("%+v: %+v", c, d)
		}
	}
	// A grant from elsewhere does not silence a loop's own rule; one that was given
	// in answer to it does, also after rules were put before it.
	r := request("{}")
	r.Loop = "planner"
	g := &Grants{}
	if _, err := g.Add(grantFor(r)); err != nil {
		t.Fatal(err)
	}
	d := p.Decide(t.Context(), r, g)
	if d.Verdict != Ask {
		t.Fatalf("%+v", d)
	}
	own := grantFor(r)
	own.Rule = d.Key
	if _, err := g.Add(own); err != nil {
		t.Fatal(err)
	}
	moved := mustNew(t, Config{Loops: []LoopRules{{Loop: "planner", Ask: []Rule{{Pattern: "mcp:other:*"}, {Pattern: "mcp:demo:add", Place: "elsewhere"}}}}})
	if d := moved.Decide(t.Context(), r, g); d.Verdict != Allow || d.Rule != RuleGrant {
		t.Fatalf("%+v", d)
	}
}

func TestGrantWithPredicateAndPin(t *testing.T) {
	t.Parallel()
	when, ok := ExactArgs([]byte(`{"a":1,"b":"x"}`))
	if !ok {
		t.Fatal("no predicate")
	}
	g := &Grants{}
	x := grantFor(request(""))
	x.When = when
	if _, err := g.Add(x); err != nil {
		t.Fatal(err)
	}
	var p *Policy
	for args, want := range map[string]Verdict{`{"b":"x","a":1}`: Allow, `{"a":2,"b":"x"}`: Ask, `{"a":1,"b":"x","c":0}`: Ask} {
		if d := p.Decide(t.Context(), request(args), g); d.Verdict != want {
			t.Errorf("%s: %+v", args, d)
		}
	}
	// A pin that is not accepted beats the grant, for a person's call too.
	r := request(`{"a":1,"b":"x"}`)
	r.Trust, r.Operator, r.Interactive = tool.TrustPending, true, true
	y := grantFor(r)
	y.Rule = RuleOperator
	if _, err := g.Add(y); err != nil {
		t.Fatal(err)
	}
	if d := p.Decide(t.Context(), r, g); d.Verdict != Ask {
		t.Errorf("%+v", d)
	}
	if _, err := (&Grants{}).Add(x); err != nil {
		t.Fatal(err)
	}
	if len(g.Remove("g")) != 2 || len(g.All()) != 0 {
		t.Error("revoking by id")
	}
}

func TestPredicateErrorsHavePlaces(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		".a =":            "(line 1, column 5 of the expression)",
		".a and\n  .b ]c": "(line 2, column 6 of the expression)",
		"nope(1)":         "",
	} {
		err := CheckPredicate(src)
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%q: %v", src, err)
		}
	}
}
