package headless

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/looprig/looprig/compose/config"
)

var testEnv = config.EnvOf([]string{"KEY=secret"})

func loadScript(t *testing.T, text string) *Script {
	t.Helper()
	s, err := LoadScript("s.yaml", []byte(text), testEnv)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestLoadScript(t *testing.T) {
	t.Parallel()
	s := loadScript(t, `version: 1
servers:
  demo: {builtin: demo}
  fx: {command: fx, env: {K: "${KEY}"}}
replies:
  main: [{say: hi}, {call: [{tool: mcp__demo__add, args: {a: 1}}]}]
allow: ["mcp:demo:*", {tool: "mcp:fx:*", loop: main, when: ".n > 1"}]
answers: [{gate: form, submit: {n: 9007199254740993}}]
steps:
  - user: hello
    loop: main
    timeout: 2s
    expect: [.text == "hi"]
    save: {t: .text}
  - call: {tool: demo add, args: {a: "${t}"}}
  - wait: {binding: demo, state: ready, generation: 2}
  - add: {more: {command: more}}
  - sleep: 10ms
`)
	if s.Model != "scripted" || len(s.Servers) != 2 || s.Servers[1].Env["K"] != "secret" || len(s.Replies.ByLoop["main"]) != 2 {
		t.Errorf("loaded %+v", s)
	}
	if len(s.Policy.Allow) != 2 || s.Policy.Allow[1].When != ".n > 1" || string(s.Answers[0].Submit) != `{"n":9007199254740993}` {
		t.Errorf("policy %+v, answers %s", s.Policy, s.Answers[0].Submit)
	}
	u, w, a := s.Steps[0], s.Steps[2], s.Steps[3]
	if u.Line != 10 || u.Loop != "main" || u.Timeout != 2*time.Second || len(u.Expects) != 1 || u.Expects[0].Line != 13 || len(u.Saves) != 1 {
		t.Errorf("step 1 is %+v", u)
	}
	if w.Generation != 2 || w.Timeout != 10*time.Second || a.Server == nil || a.Server.Command != "more" || a.Text != "more" {
		t.Errorf("steps 3 and 4 are %+v, %+v", w, a)
	}
	p := loadScript(t, "version: 1\nsampling_replies: [hi, ho]\nsteps:\n  - parallel: [{status: {}, save: {a: .x}}, {sleep: 1ms}]\n  - call: {tool: x, args: {b: \"${a}\"}}\n")
	if p.Model != "scripted" || len(p.Replies.Sampling) != 2 || len(p.Steps) != 2 || len(p.Steps[0].Steps) != 2 || p.Steps[0].Steps[1].Kind != StepSleep {
		t.Errorf("loaded %+v", p)
	}
	if m := loadScript(t, "version: 1\nsteps: [{status: {}}]\n").Model; m != "operator" {
		t.Errorf("without replies the model is %s", m)
	}
}

// Every fault is named with its file, line and column; nothing is guessed.
func TestScriptFaults(t *testing.T) {
	t.Parallel()
	const head = "version: 1\n"
	const ok = "steps: [{status: {}}]\n"
	for text, want := range map[string]string{
		"":                                    "s.yaml",
		"version: 2\n" + ok:                   "s.yaml:1:",
		ok:                                    "version: 1",
		head:                                  "a script has steps",
		head + "steps: []\n":                  "a script has steps",
		head + "stepps: []\n" + ok:            `s.yaml:2:1: stepps: unknown key (did you mean "steps"?)`,
		head + "steps:\n  - cal: {tool: x}\n": `did you mean "call"`,
		head + "steps:\n  - call: {}\n":       "a call names its tool",
		head + "steps: [{}]\n":                "a step does something",
		head + "steps:\n  - call: {tool: x, argz: {}}\n":                                                       "s.yaml:3:21: steps[0].call.argz: unknown key",
		head + "steps:\n  - {user: a, call: {tool: x}}\n":                                                      "a step does one thing",
		head + "steps:\n  - user: \"\"\n":                                                                      "has a text",
		head + "steps:\n  - {status: {}, expect: [\".a[\"]}\n":                                                 "not a jq expression",
		head + "steps:\n  - {status: {}, expect: [true]}\n":                                                    "jq expression in quotes",
		head + "steps:\n  - {status: {}, save: {Bad: .x}}\n":                                                   "cannot be a name",
		head + "steps:\n  - {call: {tool: x, args: {a: \"${later}\"}}}\n":                                      "${later} is not saved by an earlier step",
		head + "steps:\n  - {status: {}, timeout: 5}\n":                                                        "timeout",
		head + "steps:\n  - {sleep: 11m}\n":                                                                    "s.yaml:3:",
		head + "steps:\n  - add: {a: {command: x}, b: {command: y}}\n":                                         "one server",
		head + "steps:\n  - add: {a: {comand: x}}\n":                                                           "comand",
		head + "steps:\n  - add: {a: {command: \"${NOT_SET}\"}}\n":                                             "NOT_SET",
		head + "steps: [{user: hello}]\n":                                                                      "the operator, who answers no text",
		head + "steps: [{read: {binding: demo}}]\n":                                                            "names its uri",
		head + "steps: [{prompt: {name: x}}]\n":                                                                "names its binding",
		head + "steps: [{wait: {state: ready}}]\n":                                                             "names its binding",
		head + "steps: [{wait: {binding: demo, state: redy}}]\n":                                               "redy",
		head + "steps: [{disable: \"\"}]\n":                                                                    "names a binding",
		head + "allow: [\"mcp__demo__*\"]\n" + ok:                                                              "s.yaml:2:",
		head + "servers: {a: {command: x}, A: {command: y}}\n" + ok:                                            "s.yaml:2:",
		head + "servers: {a: {command: x}, a: {command: y}}\n" + ok:                                            "s.yaml:2:",
		head + "replies: [{}]\n" + ok:                                                                          "says something or calls something",
		head + "replies: [{call: [{args: {}}]}]\n" + ok:                                                        "replies[0].call[0]: a call names its tool",
		head + "replies: 1\n" + ok:                                                                             "expected a list of replies",
		head + "model: ''\n" + ok:                                                                              "model",
		head + "operator: never\n" + ok:                                                                        "operator",
		head + "x: &a 1\ny: *a\n" + ok:                                                                         "s.yaml:2:",
		head + "steps:\n  - &s {status: {}}\n  - *s\n":                                                         "s.yaml:3:",
		head + "b: {<<: {a: 1}}\n" + ok:                                                                        "s.yaml:2:",
		head + "steps:\n  - parallel: []\n":                                                                    "1 to 16 steps",
		head + "steps:\n  - parallel: [{parallel: [{status: {}}]}]\n":                                          "holds no other one",
		head + "steps:\n  - parallel: [{status: {}, save: {a: .x}}, {status: {}, save: {a: .y}}]\n":            "two of the steps save a",
		head + "steps:\n  - parallel: [{status: {}, save: {a: .x}}, {call: {tool: x, args: {b: \"${a}\"}}}]\n": "${a} is not saved by an earlier step",
		head + "sampling_replies: [{}]\n" + ok:                                                                 "expected a string",
		head + "sampling_replies: ['']\n" + ok:                                                                 "says something",
		head + ok + "---\nversion: 1\n":                                                                        "s.yaml:",
		head + ok + "steps: []\n":                                                                              "s.yaml:3:",
		head + "answers: [{gate: form}]\n" + ok:                                                                "answers[0]",
	} {
		_, err := LoadScript("s.yaml", []byte(text), testEnv)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v\nlacks %q", text, err, want)
		}
	}
}

func TestExpectHoldsForOneTrueOnly(t *testing.T) {
	t.Parallel()
	input, err := decodeJSON([]byte(`{"n":9007199254740993,"list":[true,true],"s":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`.n == 9007199254740993`: "", `.s == "x"`: "", `.list | all`: "",
		`.n == 9007199254740992`: "yields false", `.list[]`: "more than one", `empty`: "yields nothing", `.s`: `yields "x"`, `1`: "yields 1",
		`.s.t`: "object", `error("no")`: "no", `env | length == 0`: "", `$ENV | length == 0`: "", `null`: "yields null",
	} {
		code, err := Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		ok, _, why := Expect{Text: text, code: code}.holds(t.Context(), input)
		if ok != (want == "") || !strings.Contains(why, want) {
			t.Errorf("%s: %t, %q lacks %q", text, ok, why, want)
		}
	}
}

func TestExpressionsReachNothingElse(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"input", "inputs", "import \"m\" as m; m::f", "include \"m\"; f", ".a["} {
		if _, err := Compile(text); err == nil {
			t.Errorf("%q was compiled", text)
		}
	}
}

func TestExpectIsBoundedInTime(t *testing.T) {
	t.Parallel()
	code, err := Compile(`def f: f; f`)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	ok, _, why := Expect{code: code}.holds(t.Context(), nil)
	if ok || !strings.Contains(why, "did not end within") || time.Since(start) > 5*ExpectTimeout {
		t.Errorf("%t, %q after %s", ok, why, time.Since(start))
	}
}

func TestVariablesKeepTheirType(t *testing.T) {
	t.Parallel()
	v := vars{"n": json.RawMessage(`9007199254740993`), "s": json.RawMessage(`"a \"b\""`), "o": json.RawMessage(`{"k":[1,null]}`), "z": json.RawMessage(`null`)}
	s := loadScript(t, `version: 1
steps:
  - {status: {}, save: {n: .a, s: .a, o: .a, z: .a}}
  - call: {tool: x, args: {n: "${n}", s: "${s}", o: ["${o}"], z: "${z}", mix: "n=${n} s=${s} o=${o}", plain: "$n ${N} 5"}}
`)
	node, err := v.node(s.Steps[1].Args)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"n":9007199254740993,"s":"a \"b\"","o":[{"k":[1,null]}],"z":null,"mix":"n=9007199254740993 s=a \"b\" o={\"k\":[1,null]}","plain":"$n ${N} 5"}`
	if got := string(node.JSON()); got != want {
		t.Errorf("the arguments are %s\nwant %s", got, want)
	}
	if again := string(s.Steps[1].Args.JSON()); !strings.Contains(again, `"${n}"`) {
		t.Errorf("the script itself was changed: %s", again)
	}
}

func FuzzLoadScript(f *testing.F) {
	f.Add("version: 1\nsteps: [{status: {}}]\n")
	f.Add("version: 1\nreplies: [{call: [{tool: a, args: {}}]}]\nsteps:\n  - {user: x, expect: ['.a'], save: {b: .c}}\n  - {call: {tool: a, args: {x: \"${b}\"}}}\n")
	f.Add("version: 1\nservers: {a: {command: x}}\nanswers: [{gate: form, submit: {}}]\nsteps: [{wait: {binding: a}}]\n")
	f.Add("a: &a [*a]\n")
	f.Add("? {a: 1}\n: 2\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := LoadScript("s.yaml", []byte(text), testEnv)
		if err != nil {
			if !strings.Contains(err.Error(), "s.yaml") {
				t.Errorf("an error without its place: %v", err)
			}
			return
		}
		if len(s.Steps) == 0 || len(s.Steps) > MaxSteps {
			t.Errorf("%d steps", len(s.Steps))
		}
		for _, step := range s.Steps {
			if step.Kind == "" || step.Line < 1 {
				t.Errorf("a step of no kind or place: %+v", step)
			}
		}
	})
}
