package headless

import (
	"slices"
	"strings"
	"testing"

	"github.com/looprig/looprig/compose/exit"
)

// TestSteps is what steps other than turns do, what they may expect and what they
// leave to later ones.
func TestSteps(t *testing.T) {
	t.Parallel()
	give := func(args string) string { return "  - call: {tool: mcp__fx__give, args: " + args + "}\n" }
	for name, c := range map[string]struct {
		steps string
		code  exit.Code
		err   string
		args  []string // of the last calls
	}{
		"a saved value keeps its type": {
			steps: give(`{o: {k: [1, 9007199254740993, null]}, s: x, b: true}`) +
				"    save: {o: .structured.o, n: '.structured.o.k[1]', b: .structured.b, s: .structured.s}\n" +
				give(`{o: "${o}", n: "${n}", b: "${b}", s: "${s}", t: "n=${n} o=${o} $${n}", l: ["${b}"]}`),
			args: []string{`{"o":{"k":[1,9007199254740993,null]},"n":9007199254740993,"b":true,"s":"x","t":"n=9007199254740993 o={\"k\":[1,9007199254740993,null]} ${n}","l":[true]}`},
		},
		"a save that yields two values": {steps: give(`{a: 1}`) + "    save: {x: '.structured.a, 2'}\n", code: exit.Expectation, err: "s.yaml:4: cannot save x: the expression yields 2 values"},
		"steps at once run at once": {
			steps: "  - parallel:\n    - {call: {tool: mcp__fx__meet, args: {n: 1}}}\n    - {call: {tool: mcp__fx__meet, args: {n: 2}}, loop: other}\n",
		},
		"saves inside": {
			steps: "  - parallel:\n    - {call: {tool: mcp__fx__give, args: {n: 1}}, save: {x: .structured.n}, expect: ['.structured.n == 1']}\n" +
				"    - {call: {tool: mcp__fx__give, args: {n: 2}}, loop: other, save: {y: '{v: .structured.n}'}}\n" +
				"    expect: ['.steps | map(.structured.n) == [1, 2]', '.outcome == \"ok\"']\n    save: {all: '.steps | length'}\n" + give(`{x: "${x}", y: "${y}", all: "${all}"}`),
			args: []string{`{"x":1,"y":{"v":2},"all":2}`},
		},
		"a step of several fails":           {steps: "  - parallel:\n    - {sleep: 1ms}\n    - {status: {}, expect: ['false']}\n", code: exit.Expectation, err: "s.yaml:5"},
		"a step of several is unanswered":   {steps: "  - parallel:\n    - {call: {tool: mcp__fx__confirm}}\n", code: exit.GateRefused, err: "no_interactive_gate"},
		"it expects what several came to":   {steps: "  - parallel: [{sleep: 1ms}]\n    expect: ['.steps | length == 2']\n", code: exit.Expectation, err: "s.yaml:4"},
		"a wait for what is":                {steps: "  - wait: {binding: fx, state: ready, generation: 1}\n    expect: ['.bindings[0].name == \"fx\"']\n"},
		"a wait for any state":              {steps: "  - wait: {binding: fx}\n"},
		"a wait for what does not come":     {steps: "  - wait: {binding: fx, state: failed, timeout: 30ms}\n", code: exit.Limit, err: "binding fx did not become failed within 30ms: it is ready with generation 1"},
		"a wait for a generation":           {steps: "  - wait: {binding: fx, generation: 2, timeout: 30ms}\n", code: exit.Limit, err: "generation 2"},
		"a wait for nobody":                 {steps: "  - wait: {binding: fy}\n", code: exit.Usage, err: `no binding is called "fy" (did you mean "fx"?)`},
		"a status":                          {steps: "  - call: {tool: mcp__fx__confirm}\n    expect: ['.gates | length == 1']\n  - sleep: 1ms\n    expect: ['.gates == []']\n  - status: {}\n    expect: ['.bindings[0].state == \"ready\"', '.coverage.calls == 1', '.coverage.outcomes == 1', '[.gates[].kind] == [\"confirm\"]', '.notices == []']\n"},
		"a status is no second judgement":   {steps: "  - call: {tool: mcp__fx__confirm}\n    expect: ['.outcome == \"ok\"']\n  - status: {}\n"},
		"an expectation that compares not":  {steps: "  - status: {}\n    expect: ['.coverage.calls = 1']\n", code: exit.Expectation, err: "to compare, write =="},
		"a turn over its time":              {steps: "  - call: {tool: mcp__fx__stall}\n    timeout: 50ms\n", code: exit.Limit, err: "did not end within its 50ms"},
		"a tool that is not there":          {steps: "  - call: {tool: mcp__fx__giv}\n", code: exit.Usage, err: "did you mean"},
		"a loop that is not there":          {steps: give("{}") + "    loop: mian\n", code: exit.Usage, err: "mian"},
		"a binding that is not there":       {steps: "  - disable: fz\n", code: exit.Usage, err: "did you mean"},
		"the call of a step of another one": {steps: give("{n: 1}") + "    loop: other\n    expect: ['.tools[0].args == {\"n\": 1}']\n", args: []string{`{"n":1}`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := runGates(t, "version: 1\nsteps:\n"+c.steps, "refuse")
			if got := exit.Of(err); got != c.code {
				t.Fatalf("exit code %d, not %d: %v", got, c.code, err)
			}
			if c.err != "" && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v, without %q", err, c.err)
			}
			if n := len(c.args); n > 0 && (len(r.args) < n || !slices.Equal(r.args[len(r.args)-n:], c.args)) {
				t.Errorf("the calls had %q, not %q", r.args, c.args)
			}
		})
	}
}
