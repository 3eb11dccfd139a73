package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

const plainSample = `{"messages":[{"role":"user","content":{"type":"text","text":"capital?"}}],"maxTokens":100}`

func sampling(h func(ctx context.Context, req SampleRequest) (SampleResult, error)) func(*Options) {
	return func(o *Options) { o.Handlers.Sample = h }
}

func writes(blocks ...string) func(context.Context, SampleRequest) (SampleResult, error) {
	return func(context.Context, SampleRequest) (SampleResult, error) {
		res := SampleResult{Role: "assistant", Model: "m", StopReason: "endTurn"}
		for _, b := range blocks {
			res.Content = append(res.Content, json.RawMessage(b))
		}
		return res, nil
	}
}

// at makes a legacy server answer initialize with another revision.
func at(rev string, serve func(p *peer)) func(p *peer) {
	return func(p *peer) {
		m, ok := p.await("initialize")
		if !ok {
			return
		}
		p.reply(m, strings.Replace(initResult, Revision20251125, rev, 1))
		if _, ok := p.await("notifications/initialized"); ok {
			serve(p)
		}
	}
}

func asksOnce(params string, answer chan<- message) func(p *peer) {
	return func(p *peer) {
		p.send(`{"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":%s}`, json.RawMessage(params))
		m, _ := p.next()
		answer <- m
		answering(nil)(p)
	}
}

func TestSamplingOnLegacyRevisions(t *testing.T) {
	t.Parallel()
	const full = `{"messages":[{"role":"user","content":{"type":"text","text":"hi","x":1e400}},{"role":"assistant","content":{"type":"image","data":"AA==","mimeType":"image/png"}}],
		"maxTokens":100.0,"systemPrompt":"be brief","temperature":0.5,"stopSequences":["END"],"includeContext":"none","metadata":{"a":1},
		"modelPreferences":{"hints":[{"name":"big"},{}],"costPriority":0,"speedPriority":1,"intelligencePriority":null}}`
	for _, rev := range legacy {
		t.Run(rev, func(t *testing.T) {
			t.Parallel()
			answer, got := make(chan message, 1), make(chan SampleRequest, 1)
			f := connect(t, at(rev, asksOnce(strings.ReplaceAll(full, "\n", ""), answer)), pinned(rev),
				sampling(func(ctx context.Context, req SampleRequest) (SampleResult, error) {
					got <- req
					return writes("{ \"type\":\"text\",\n\"text\":\"Paris\"}")(ctx, req)
				}))
			if m := <-answer; string(m.ID) != `"s"` || string(m.Result) != `{"role":"assistant","content":{"type":"text","text":"Paris"},"model":"m","stopReason":"endTurn"}` {
				t.Fatal(m.raw)
			}
			req := <-got
			if len(req.Messages) != 2 || string(req.Messages[0].Content[0]) != `{"type":"text","text":"hi","x":1e400}` || req.Messages[1].Role != "assistant" ||
				req.MaxTokens != 100 || req.System != "be brief" || *req.Temperature != 0.5 || req.StopSequences[0] != "END" || req.IncludeContext != "none" ||
				fmt.Sprint(req.Preferences) != "{[big] 0 1 -1}" || req.CallID != "" {
				t.Fatalf("%+v", req)
			}
			if all := strings.Join(f.d.log.all(), ""); !strings.Contains(all, `"capabilities":{"sampling":{}}`) {
				t.Fatal(all)
			}
		})
	}
}

func TestRefusedSampling(t *testing.T) {
	t.Parallel()
	const msg = `{"role":"user","content":{"type":"text","text":"x"}}`
	with := func(extra string) string { return `{"messages":[` + msg + `],"maxTokens":1,` + extra + `}` }
	messages := func(list string) string { return `{"messages":` + list + `,"maxTokens":1}` }
	for name, tc := range map[string]struct {
		rev, params string
	}{
		"params null":       {"", `null`},
		"params array":      {"", `[]`},
		"messages absent":   {"", `{"maxTokens":1}`},
		"messages null":     {"", messages(`null`)},
		"messages empty":    {"", messages(`[]`)},
		"null message":      {"", messages(`[null]`)},
		"message string":    {"", messages(`["x"]`)},
		"too many messages": {"", messages(`[` + strings.TrimSuffix(strings.Repeat(msg+",", maxSampleMessages+1), ",") + `]`)},
		"role system":       {"", messages(`[{"role":"system","content":{"type":"text","text":"x"}}]`)},
		"role number":       {"", messages(`[{"role":1,"content":{"type":"text","text":"x"}}]`)},
		"content null":      {"", messages(`[{"role":"user","content":null}]`)},
		"content string":    {"", messages(`[{"role":"user","content":"x"}]`)},
		"content empty":     {"", messages(`[{"role":"user","content":[]}]`)},
		"block null":        {"", messages(`[{"role":"user","content":[null]}]`)},
		"block untyped":     {"", messages(`[{"role":"user","content":{"text":"x"}}]`)},
		"block of a file":   {"", messages(`[{"role":"user","content":{"type":"resource_link","uri":"file:///etc/passwd"}}]`)},
		"text number":       {"", messages(`[{"role":"user","content":{"type":"text","text":1}}]`)},
		"image without":     {"", messages(`[{"role":"user","content":{"type":"image","data":"AA=="}}]`)},
		"array too early":   {Revision20250618, messages(`[{"role":"user","content":[{"type":"text","text":"x"}]}]`)},
		"audio too early":   {Revision20241105, messages(`[{"role":"user","content":{"type":"audio","data":"","mimeType":"audio/wav"}}]`)},
		"maxTokens absent":  {"", `{"messages":[` + msg + `]}`},
		"maxTokens zero":    {"", `{"messages":[` + msg + `],"maxTokens":0}`},
		"maxTokens minus":   {"", `{"messages":[` + msg + `],"maxTokens":-5}`},
		"maxTokens half":    {"", `{"messages":[` + msg + `],"maxTokens":0.5}`},
		"maxTokens string":  {"", `{"messages":[` + msg + `],"maxTokens":"9"}`},
		"maxTokens huge":    {"", `{"messages":[` + msg + `],"maxTokens":99999999999}`},
		"maxTokens beyond":  {"", `{"messages":[` + msg + `],"maxTokens":1e300}`},
		"system":            {"", with(`"systemPrompt":{}`)},
		"temperature":       {"", with(`"temperature":"hot"`)},
		"temperature inf":   {"", with(`"temperature":1e999`)},
		"context":           {"", with(`"includeContext":"all"`)},
		"stops":             {"", with(`"stopSequences":"x"`)},
		"stop null":         {"", with(`"stopSequences":[null]`)},
		"preferences":       {"", with(`"modelPreferences":[]`)},
		"priority":          {"", with(`"modelPreferences":{"costPriority":2}`)},
		"hints":             {"", with(`"modelPreferences":{"hints":{}}`)},
		"hint null":         {"", with(`"modelPreferences":{"hints":[null]}`)},
		"tools":             {"", with(`"tools":[{"name":"t","inputSchema":{}}]`)},
		"tool choice":       {"", with(`"toolChoice":{"mode":"auto"}`)},
		"tool use":          {"", messages(`[{"role":"assistant","content":{"type":"tool_use","id":"1","name":"n","input":{}}}]`)},
		"too large":         {"", with(`"systemPrompt":"` + strings.Repeat("s", maxSampleBytes) + `"`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rev := tc.rev
			if rev == "" {
				rev = Revision20251125
			}
			answer, refused := make(chan message, 1), make(chan string, 1)
			connect(t, at(rev, asksOnce(tc.params, answer)), pinned(rev), func(o *Options) {
				o.Handlers.Refused = func(method, reason, _ string) { refused <- method + ": " + reason }
				o.Handlers.Sample = func(context.Context, SampleRequest) (SampleResult, error) {
					t.Error("the handler was asked")
					return SampleResult{}, nil
				}
			})
			if m := <-answer; !strings.Contains(string(m.Error), "-32602") {
				t.Fatal(m.raw)
			}
			if r := <-refused; !strings.HasPrefix(r, methodSample) {
				t.Fatal(r)
			}
		})
	}
}

func TestSamplingIsNotServedUndeclared(t *testing.T) {
	t.Parallel()
	answer := make(chan message, 1)
	f := connect(t, legacyServer(asksOnce(plainSample, answer)), pinned(Revision20251125))
	if m := <-answer; !strings.Contains(string(m.Error), "-32601") || strings.Contains(strings.Join(f.d.log.all(), ""), `"sampling":{`) {
		t.Fatal(m.raw)
	}
}

func TestSamplingWithTools(t *testing.T) {
	t.Parallel()
	use := `{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"n","input":{}},{"type":"tool_use","id":"2","name":"n","input":{}}]}`
	result := func(ids ...string) string {
		var list []string
		for _, id := range ids {
			list = append(list, `{"type":"tool_result","toolUseId":"`+id+`","content":[]}`)
		}
		return `{"role":"user","content":[` + strings.Join(list, ",") + `]}`
	}
	text := `{"role":"user","content":{"type":"text","text":"x"}}`
	for name, tc := range map[string]struct {
		messages string
		ok       bool
	}{
		"answered":        {text + "," + use + "," + result("2", "1"), true},
		"one missing":     {text + "," + use + "," + result("1"), false},
		"none":            {text + "," + use + "," + text, false},
		"at the end":      {text + "," + use, false},
		"without a use":   {text + "," + result("1"), false},
		"twice":           {text + "," + use + "," + result("1", "1"), false},
		"of another":      {text + "," + use + "," + result("1", "3"), false},
		"result by model": {text + "," + strings.Replace(result("1"), "user", "assistant", 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answer := make(chan message, 1)
			f := connect(t, legacyServer(asksOnce(`{"messages":[`+tc.messages+`],"maxTokens":1,"tools":[{"name":"n","inputSchema":{}}],"toolChoice":{"mode":"auto"}}`, answer)),
				pinned(Revision20251125), func(o *Options) { o.SamplingTools = true },
				sampling(writes(`{"type":"tool_use","id":"9","name":"n","input":{}}`, `{"type":"text","text":"x"}`)))
			m := <-answer
			if ok := strings.Contains(string(m.Result), `"content":[{"type":"tool_use"`); ok != tc.ok {
				t.Fatal(m.raw)
			}
			if !strings.Contains(strings.Join(f.d.log.all(), ""), `"sampling":{"tools":{}}`) {
				t.Fatal("not declared")
			}
		})
	}
}

func TestSamplingAnswersOfTheHandler(t *testing.T) {
	t.Parallel()
	fails := func(err error) func(context.Context, SampleRequest) (SampleResult, error) {
		return func(context.Context, SampleRequest) (SampleResult, error) { return SampleResult{}, err }
	}
	for name, tc := range map[string]struct {
		rev  string
		h    func(context.Context, SampleRequest) (SampleResult, error)
		want string
	}{
		"rejected":       {"", fails(Rejected("the user said no")), `{"code":-1,"message":"the user said no"}`},
		"wrapped":        {"", fails(fmt.Errorf("x: %w", Rejected("no"))), `{"code":-1,"message":"no"}`},
		"refused class":  {"", fails(&Error{Class: ClassRefused, Message: "over budget"}), `{"code":-1,"message":"over budget"}`},
		"secret":         {"", fails(errors.New("key sk-123")), `{"code":-32603,"message":"the request could not be answered"}`},
		"panic":          {"", func(context.Context, SampleRequest) (SampleResult, error) { panic("boom") }, `{"code":-32603,"message":"recovered from a panic"}`},
		"nothing":        {"", writes(), "without content"},
		"not an object":  {"", writes(`"x"`), "not a JSON object"},
		"odd block":      {"", writes(`{"type":"resource"}`), "not allowed"},
		"use of no tool": {"", writes(`{"type":"tool_use"}`), "not allowed"},
		"blocks early":   {Revision20250618, writes(`{"type":"text","text":"a"}`, `{"type":"text","text":"b"}`), "several blocks"},
		"blocks":         {Revision20251125, writes(`{"type":"text","text":"a"}`, `{"type":"text","text":"b"}`), `"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]`},
		"unknown reason": {"", func(context.Context, SampleRequest) (SampleResult, error) {
			return SampleResult{StopReason: "odd", Content: []json.RawMessage{json.RawMessage(`{}`)}}, nil
		}, "stop reason"},
		"role": {"", func(context.Context, SampleRequest) (SampleResult, error) {
			return SampleResult{Role: "user", Content: []json.RawMessage{json.RawMessage(`{}`)}}, nil
		}, "another role"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rev := tc.rev
			if rev == "" {
				rev = Revision20251125
			}
			answer := make(chan message, 1)
			connect(t, at(rev, asksOnce(plainSample, answer)), pinned(rev), sampling(tc.h))
			if m := <-answer; !strings.Contains(m.raw, tc.want) || strings.Contains(m.raw, "sk-123") {
				t.Fatal(m.raw)
			}
		})
	}
}
