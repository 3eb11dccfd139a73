package headless

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/session"
	"github.com/looprig/looprig/harness/tool"
)

func TestEveryOutcomeHasItsExitCode(t *testing.T) {
	t.Parallel()
	for o, want := range map[tool.Outcome]exit.Code{
		tool.OK: 0, tool.ToolError: 5, tool.Unavailable: 5, tool.SchemaChanged: 5, tool.OverLimit: 5, tool.Denied: 6,
		tool.InvalidArguments: 2, tool.Timeout: 8, tool.Cancelled: 130, tool.Indeterminate: 4, tool.Failed: 4, "unheard of": 1,
	} {
		if got := CodeOf(o); got != want {
			t.Errorf("%s: %d, not %d", o, got, want)
		}
	}
}

func TestResultOfAnOperatorsCallIsTheCalls(t *testing.T) {
	t.Parallel()
	turn := session.TurnResult{Outcome: session.TurnCompleted, Text: "what a model says"}
	turn.Calls = append(turn.Calls, session.CallResult{
		Tool: tool.Identity{Source: "mcp", Binding: "fx", Name: "a"},
		Result: tool.Result{
			Outcome: tool.ToolError, Reason: "the tool reported an error", Structured: json.RawMessage(`{"n":1}`),
			Content: []content.Block{{Kind: content.KindText, Text: "it broke"}},
		},
	})
	r := FromTurn(turn, true)
	if r.Outcome != tool.ToolError || !r.IsError || r.Text != "it broke" || string(r.Structured) != `{"n":1}` || r.Why() != "it broke" {
		t.Errorf("the call's result is %+v", r)
	}
	if r := FromTurn(turn, false); r.Outcome != tool.OK || r.Text != "what a model says" || r.Tools[0].Outcome != tool.ToolError || r.Tools[0].Tool != "mcp:fx:a" {
		t.Errorf("the turn's result is %+v", r)
	}
	failed := FromTurn(session.TurnResult{Outcome: session.TurnFailed, Code: session.CodeLimitSteps, Reason: "25 steps"}, false)
	if failed.Outcome != tool.Failed || failed.turnCode != session.CodeLimitSteps {
		t.Errorf("a failed turn's result is %+v", failed)
	}
	for class, want := range map[string]exit.Code{"remote": exit.Unreachable, "refused": exit.GateRefused, "auth": exit.Auth, "protocol": exit.Unreachable} {
		turn.Calls[0].Outcome, turn.Calls[0].Class = tool.Failed, class
		if got := FromTurn(turn, true).Code(); got != want {
			t.Errorf("a call that failed by the class %s is %d, not %d", class, got, want)
		}
	}
	if r := FromTurn(session.TurnResult{Outcome: session.TurnInterrupted}, false); r.Outcome != tool.Cancelled {
		t.Errorf("an interrupted turn's result is %+v", r)
	}
}

func TestQueriesAndLinesAreInert(t *testing.T) {
	t.Parallel()
	r := &Result{Outcome: tool.OK, Text: "\x1b[31m\u009b\u202e\U000e0041\x7f"}
	q, err := NewQuery(".text, .outcome")
	if err != nil {
		t.Fatal(err)
	}
	lines, err := q.Lines(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := Line(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range [][]byte{lines, whole} {
		for _, c := range string(out) {
			if c != '\n' && (c < 0x20 || c >= 0x7f) {
				t.Errorf("%#x is raw in %q", c, out)
			}
		}
	}
	if got := strings.Count(string(lines), "\n"); got != 2 {
		t.Errorf("%d lines", got)
	}
	if _, err := NewQuery(".["); err == nil {
		t.Error("a broken query was compiled")
	}
}
