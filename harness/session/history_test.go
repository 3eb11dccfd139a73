package session

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/model"
	"github.com/looprig/looprig/harness/tool"
)

// unpaired lists the tool uses of a history that the next message does not
// answer, and the results that nothing asked for.
func unpaired(history []content.Message) []string {
	var out []string
	open := map[string]bool{}
	for _, m := range history {
		if m.Role != content.RoleTool {
			for id := range open {
				out = append(out, "use "+id)
			}
			open = map[string]bool{}
		}
		for _, b := range m.Blocks {
			switch b.Kind {
			case content.KindToolUse:
				open[b.CallID] = true
			case content.KindToolResult:
				if !open[b.CallID] {
					out = append(out, "result "+b.CallID)
				}
				delete(open, b.CallID)
			default:
			}
		}
	}
	return out
}

// Whatever ends a turn, the history that the next one gives to the model has a
// result for every tool use.
func TestEveryToolUseHasItsResult(t *testing.T) {
	t.Parallel()
	var seen []content.Message
	m := modelFunc(func(_ context.Context, r model.Request, yield func(model.Chunk, error) bool) {
		seen = slices.Clone(r.Messages)
		last, said := r.Messages[len(r.Messages)-1], ""
		for _, m := range r.Messages {
			if m.Role == content.RoleUser {
				said = m.Blocks[0].Text
			}
		}
		if said == "stop" || (last.Role == content.RoleTool && said != "many") {
			yield(model.Chunk{Kind: model.ChunkText, Text: "done"}, nil)
			return
		}
		n := 2
		if said == "many" {
			n = 3 // and again: the second time is over the limit
		}
		for range n {
			// The model's own ids repeat; the session's do not.
			if !yield(model.Chunk{Kind: model.ChunkToolUse, ToolUse: &model.ToolUse{ID: "same", Name: "mcp__demo__" + said}}, nil) {
				return
			}
		}
	})
	b := newBlocking()
	broken := &fake{invoke: func(context.Context, tool.Call, json.RawMessage) tool.Result { panic("x") }}
	w := open(t, Options{Policy: allowAll(), Loops: []LoopConfig{{Name: "main", Model: m}}, Limits: Limits{CallsPerTurn: 4}}, nil,
		define("demo", "slow", b), define("demo", "broken", broken), define("demo", "many", &fake{}), define("demo", "fine", &fake{}))
	tk := w.submit(Input{Text: "slow"})
	<-b.started
	w.must(w.Interrupt(w.ctx(), "main", gate.Answerer{Kind: gate.AnswererScript, ID: "step 1"}))
	w.await(tk)
	for said, want := range map[string]TurnOutcome{"broken": TurnCompleted, "many": TurnFailed, "fine": TurnCompleted, "absent": TurnCompleted} {
		if r := w.say(said); r.Outcome != want || (want == TurnFailed && (r.Code != CodeLimitCalls || len(r.Calls) != 3)) {
			t.Errorf("%s: %+v", said, r)
		}
		if bad := unpaired(seen); len(bad) > 0 {
			t.Errorf("%s: %v", said, bad)
		}
	}
	w.call("demo fine", "")
	w.say("stop")
	if bad := unpaired(seen); len(bad) > 0 || len(seen) < 10 {
		t.Errorf("%d messages, %v", len(seen), bad)
	}
}
