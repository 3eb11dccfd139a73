package mcpadapter

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/model"
	"github.com/looprig/looprig/mcpadapter/client"
)

// withTools is a request for the model that brings one tool.
func withTools(choice string) client.SampleRequest {
	req := ask("how warm is it?")
	req.Tools = []json.RawMessage{json.RawMessage(`{"name":"weather","description":"d","inputSchema":{"type":"object"}}`)}
	if choice != "" {
		req.ToolChoice = json.RawMessage(`{"mode":"` + choice + `"}`)
	}
	return req
}

func uses(names ...string) []model.ToolUse {
	var out []model.ToolUse
	for _, n := range names {
		out = append(out, model.ToolUse{ID: "1", Name: n, Args: json.RawMessage(`{ "city": "B" }`)})
	}
	return out
}

// A model's uses of the server's tools go to the server, which runs them; they
// are shown before, and nothing but the server's own tools passes.
func TestUsesOfAServersTools(t *testing.T) {
	const use = `{"type":"tool_use","id":"1","name":"weather","input":{"city":"B"}}`
	history := withTools("none")
	history.Messages[0].Content = []json.RawMessage{json.RawMessage(`{"type":"tool_use","id":"1","name":"weather","input":{}}`)}
	bare := ask("x")
	bare.ToolChoice = json.RawMessage(`{"mode":"required"}`)
	for name, tc := range map[string]struct {
		req    client.SampleRequest
		person bool
		writes SamplingMessage
		want   string // the blocks that the server gets, or the error
		stop   string
		given  int // tools that the model gets
	}{
		"a use":            {withTools(""), false, SamplingMessage{ToolUses: uses("weather"), Stop: "tool_use"}, use, "toolUse", 1},
		"text and two":     {withTools("auto"), false, SamplingMessage{Text: "so", ToolUses: uses("weather", "weather")}, `{"text":"so","type":"text"} ` + use + ` {"type":"tool_use","id":"use-2","name":"weather","input":{"city":"B"}}`, "toolUse", 1},
		"cut short":        {withTools(""), false, SamplingMessage{ToolUses: uses("weather"), Stop: "max_tokens"}, use, "maxTokens", 1},
		"no use":           {withTools(""), false, SamplingMessage{Text: "no"}, `{"text":"no","type":"text"}`, "endTurn", 1},
		"without args":     {withTools(""), false, SamplingMessage{ToolUses: []model.ToolUse{{Name: "weather"}}}, `{"type":"tool_use","id":"use-1","name":"weather","input":{}}`, "toolUse", 1},
		"required":         {withTools("required"), false, SamplingMessage{Text: "no"}, "! used none of the tools", "", 1},
		"required of none": {bare, false, SamplingMessage{}, "! brings none", "", 0},
		"of a person":      {withTools("required"), true, SamplingMessage{}, "! a person writes the reply", "", 0},
		"not wanted":       {withTools("none"), false, SamplingMessage{Text: "20"}, `{"text":"20","type":"text"}`, "endTurn", 0},
		"not wanted, used": {history, false, SamplingMessage{ToolUses: uses("weather")}, "! wants none used", "", 1},
		"another tool":     {withTools(""), false, SamplingMessage{ToolUses: uses("mcp__d__x")}, "! did not bring (mcp__d__x)", "", 1},
		"no object":        {withTools(""), false, SamplingMessage{ToolUses: []model.ToolUse{{Name: "weather", Args: json.RawMessage(`[1]`)}}}, "! no JSON object", "", 1},
		"too much":         {withTools(""), false, SamplingMessage{ToolUses: []model.ToolUse{{Name: "weather", Args: json.RawMessage(`{"a":"` + strings.Repeat("x", 1000) + `"}`)}}}, "! 1015 over the limit of 1000 (setting limits.textBytes)", "", 1},
		"too many":         {withTools(""), false, SamplingMessage{ToolUses: uses("weather", "weather", "weather", "weather")}, "! 5 over the limit of 4 (setting limits.blocks)", "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				m := &sampler{person: tc.person, write: func(context.Context, SamplingRequest) (SamplingMessage, error) { return tc.writes, nil }}
				b := r.server("d", "x")
				b.Server.Sampling = &client.SamplingPolicy{Approve: "reply", Tools: true}
				b.Server.Limits.TextBytes, b.Server.Limits.Blocks = 1000, 4
				r.must(r.start(func(d *Deps) { d.Sampling = m }, b))
				r.must(r.m.Wait(t.Context(), "d"))
				r.answer = func(context.Context, gate.Request) (gate.Response, error) { return allow("run", ""), nil }
				res, err := r.sample(t.Context(), tc.req)
				var got []string
				for _, c := range res.Content {
					got = append(got, string(c))
				}
				if why, refused := strings.CutPrefix(tc.want, "! "); refused {
					if err == nil || !strings.Contains(err.Error(), why) {
						t.Errorf("got %q, %v, want %q", got, err, why)
					}
				} else if text := strings.Join(got, " "); err != nil || text != tc.want || res.StopReason != tc.stop {
					t.Errorf("got %s, %s, %v", text, res.StopReason, err)
				}
				if len(m.seen) == 1 && len(m.seen[0].Tools) != tc.given || len(m.seen) == 0 && tc.given > 0 {
					t.Errorf("the model was given %+v", m.seen)
				}
				synctest.Wait()
				if (err != nil) != strings.Contains(strings.Join(r.codes(), " "), "sampling_refused") {
					t.Errorf("notices %q", r.codes())
				}
			})
		})
	}
}

// What a person approves holds the uses as they are sent, and is not edited.
func TestUsesOfToolsAreShown(t *testing.T) {
	for _, action := range []gate.Action{gate.ActionRun, gate.ActionEdit, gate.ActionDecline} {
		t.Run(string(action), func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				m := &sampler{write: func(context.Context, SamplingRequest) (SamplingMessage, error) {
					return SamplingMessage{Text: "let me look", ToolUses: uses("weather")}, nil
				}}
				r.sampling(m, client.SamplingPolicy{Approve: "reply", Tools: true})
				r.answer = func(context.Context, gate.Request) (gate.Response, error) { return allow(action, "other"), nil }
				_, err := r.sample(t.Context(), withTools(""))
				p := r.gates[0].Prompt.Sampling
				if want := "let me look\n[uses the server's tool weather with {\"city\":\"B\"}]"; p.Reply != want || p.Editable {
					t.Errorf("shown %q, editable %t", p.Reply, p.Editable)
				}
				if (err == nil) != (action == gate.ActionRun) {
					t.Errorf("%s: %v", action, err)
				}
			})
		})
	}
}
