//go:build integration && linux

package acceptance

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// One turn sees one catalog: a tool that changes while the turn runs is not
// called by it, one that stays as it is works, and the next turn has the new
// one.
func TestTurnKeepsItsCatalog(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r := w.script(`version: 1
servers: {` + w.server("fx", "mutating", "", "era="+era) + `}
allow: ["mcp:fx:*"]
replies:
  - call: [{tool: mcp__fx__beta, args: {value: before}}]
  - call: [{tool: mcp__fx__change}]
  - call: [{tool: mcp__fx__beta, args: {value: within}}]
  - call: [{tool: mcp__fx__alpha, args: {text: unchanged}}]
  - say: first
  - call: [{tool: mcp__fx__beta, args: {mode: a}}]
  - say: second
steps:
  - user: change it, then call both
    expect:
      - '[.tools[].outcome] == ["ok", "ok", "schema_changed", "ok"]'
      - '[.tools[].sent] == [true, true, false, true]'
      - '.outcome == "ok" and .text == "first"'
  - wait: {binding: fx, state: ready, generation: 2, timeout: 10s}
  - user: call the new one
    expect: ['[.tools[].outcome] == ["ok"]', '.bindings[0].generation == 2']
`).want(0)
			var got []string
			for _, e := range w.log("fx").Calls("") {
				var p struct {
					Name      string          `json:"name"`
					Arguments json.RawMessage `json:"arguments"`
				}
				if err := json.Unmarshal(e.Params, &p); err != nil {
					t.Fatal(err)
				}
				got = append(got, p.Name+string(p.Arguments))
			}
			want := `beta{"value":"before"} change{} alpha{"text":"unchanged"} beta{"mode":"a"}`
			if s := strings.Join(got, " "); s != want {
				t.Errorf("the server received %s\nwant %s", s, want)
			}
			var order []string
			for _, e := range r.events {
				switch e.Type {
				case "turn.started", "turn.completed":
					order = append(order, e.Type)
				case "toolset.adopted":
					if len(order) > 0 { // the ones before the first turn are its own
						order = append(order, e.Type)
					}
				}
			}
			if s := strings.Join(order, " "); s != "turn.started turn.completed toolset.adopted turn.started turn.completed" {
				t.Errorf("the order is %s\n%s", s, r.outline())
			}
			w.gone("fx", time.Second)
			if rep := w.verify(); rep.Intents != 4 || rep.Outcomes != 4 || rep.OpenTotal != 0 {
				t.Errorf("the ledger has %+v", rep)
			}
		})
	}
}

// formAnswers are the steps of TestFormsOnTheWire: an answer and what the
// server must have received for it, "" for nothing of it.
var formAnswers = []struct{ answer, wire string }{
	{`{gate: form, binding: fx, submit: {ratio: 0.5, count: 9007199254740993, size: l, extras: [b]}, times: 1}`,
		`{"action":"accept","content":{"ratio":0.5,"count":9007199254740993,"agreed":true,"size":"l","extras":["b"]}}`},
	{`{gate: form, binding: fx, submit: {ratio: 1, count: 1, agreed: false, size: s, remark: "said"}, times: 1}`,
		`{"action":"accept","content":{"ratio":1,"count":1,"remark":"said","agreed":false,"size":"s"}}`},
	{`{gate: form, binding: fx, answer: decline, times: 1}`, `{"action":"decline"}`},
	{`{gate: form, binding: fx, answer: cancel, times: 1}`, `{"action":"cancel"}`},
}

func TestFormsOnTheWire(t *testing.T) {
	t.Parallel()
	for _, era := range []string{"legacy", "modern"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var answers, steps strings.Builder
			for _, a := range formAnswers {
				fmt.Fprintf(&answers, "  - %s\n", a.answer)
				steps.WriteString("  - call: {tool: mcp__fx__ask}\n    expect: ['.outcome == \"ok\"', '.gates | length == 1']\n")
			}
			w.script("version: 1\nservers: {" + w.server("fx", "forms", "elicitation: {freeText: allow}", "era="+era) + "}\nanswers:\n" +
				answers.String() + "  - {gate: confirm, answer: accept, times: 1}\n  - {gate: confirm, answer: decline}\n  - {gate: open_url, host: example.com, answer: cancel}\nsteps:\n" + steps.String() +
				"  - call: {tool: mcp__fx__confirm}\n  - call: {tool: mcp__fx__confirm}\n  - call: {tool: mcp__fx__url}\n").want(0)
			want := []string{}
			for _, a := range formAnswers {
				want = append(want, a.wire)
			}
			want = append(want, `{"action":"accept","content":{}}`, `{"action":"decline"}`, `{"action":"cancel"}`)
			got := w.log("fx").Answers()
			if len(got) != len(want) {
				t.Fatalf("the server received %d answers: %s", len(got), got)
			}
			for i := range want {
				if !sameAnswer(t, got[i], want[i]) {
					t.Errorf("answer %d is %s\nwant %s", i+1, got[i], want[i])
				}
			}
		})
	}
}

// sameAnswer compares the action and the content, the numbers by their digits.
func sameAnswer(t *testing.T, got json.RawMessage, want string) bool {
	t.Helper()
	type answer struct {
		Action  string                     `json:"action"`
		Content map[string]json.RawMessage `json:"content"`
	}
	var a, b answer
	if err := json.Unmarshal(got, &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatal(err)
	}
	if a.Action != b.Action || len(a.Content) != len(b.Content) {
		return false
	}
	for k, v := range b.Content {
		if string(a.Content[k]) != string(v) {
			return false
		}
	}
	return true
}

// An answer that does not fit refuses the gate, names the field and sends
// nothing of itself.
func TestMisfitsNeverReachTheWire(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ submit, says string }{
		"over the maximum":  {`{ratio: 1.5, count: 1, size: s}`, "ratio"},
		"a text for number": {`{ratio: "0.5", count: 1, size: s}`, "ratio"},
		"a fraction":        {`{ratio: 1, count: 1.5, size: s}`, "count"},
		"not an option":     {`{ratio: 1, count: 1, size: m}`, "size"},
		"required absent":   {`{ratio: 1, count: 1}`, "size"},
		"unknown field":     {`{ratio: 1, count: 1, size: s, colour: red}`, "colour"},
		"twice an option":   {`{ratio: 1, count: 1, size: s, extras: [a, a]}`, "extras"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r := w.script("version: 1\nservers: {" + w.server("fx", "forms", "elicitation: {freeText: allow}") + "}\nanswers:\n" +
				"  - {gate: form, binding: fx, submit: " + c.submit + "}\nsteps:\n  - call: {tool: mcp__fx__ask}\n").want(6)
			if !strings.Contains(string(r.stderr), c.says) {
				t.Errorf("stderr does not name the field %s: %s", c.says, r.stderr)
			}
			for _, a := range w.log("fx").Answers() {
				if !sameAnswer(t, a, `{"action":"decline"}`) && !sameAnswer(t, a, `{"action":"cancel"}`) {
					t.Errorf("the server received %s", a)
				}
			}
		})
	}
}
