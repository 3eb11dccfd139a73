package demo

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func answering(action string, content map[string]any) script {
	return script{elicit: func(*mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: action, Content: content}, nil
	}}
}

func TestAnswersAreReportedAsSent(t *testing.T) {
	t.Parallel()
	full := map[string]any{"name": "Ada", "age": 36, "colour": "blue", "topics": []string{"forms", "tools"}, "newsletter": false}
	cases := []struct {
		name, tool, action string
		content            map[string]any
		text, structured   string
	}{
		{
			"accept", "ask-name", "accept", full,
			`accepted: {"age":36,"colour":"blue","name":"Ada","newsletter":false,"topics":["forms","tools"]}`,
			`{"action":"accept","answers":{"age":36,"colour":"blue","name":"Ada","newsletter":false,"topics":["forms","tools"]}}`,
		},
		{"decline", "ask-name", "decline", nil, "declined", `{"action":"decline"}`},
		{"cancel", "ask-name", "cancel", nil, "cancelled", `{"action":"cancel"}`},
		{"confirm", "ask-confirm", "accept", nil, "accepted", `{"action":"accept"}`},
		{"confirm with an empty object", "ask-confirm", "accept", map[string]any{}, "accepted", `{"action":"accept"}`},
		{"confirm declined", "ask-confirm", "decline", nil, "declined", `{"action":"decline"}`},
		{"url", "ask-url", "accept", nil, "accepted", `{"action":"accept"}`},
		{"url cancelled", "ask-url", "cancel", nil, "cancelled", `{"action":"cancel"}`},
	}
	eachEra(t, func(t *testing.T, revision string) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				p := connect(t, revision, answering(c.action, c.content))
				res := p.call(t, c.tool, nil)
				want(t, res, c.text, false)
				if got := structured(t, res); got != c.structured {
					t.Errorf("structured = %s, want %s", got, c.structured)
				}
				if len(p.asked) != 1 {
					t.Errorf("asked %d times", len(p.asked))
				}
			})
		}
	})
}

func TestUrlElicitation(t *testing.T) {
	t.Parallel()
	eachEra(t, func(t *testing.T, revision string) {
		p := connect(t, revision, answering("accept", nil))
		want(t, p.call(t, "ask-url", nil), "accepted", false)
		want(t, p.call(t, "ask-url", nil), "accepted", false)
		for i, id := range []string{"demo-url-1", "demo-url-2"} {
			q := p.asked[i]
			if q.Mode != "url" || q.ElicitationID != id || q.URL != "https://example.com/looprig-demo?id="+id {
				t.Errorf("asked %+v", q)
			}
			if revision < "2026-07-28" {
				if got := receive(t, p.completed, "completion"); got != id {
					t.Errorf("completed %q, want %q", got, id)
				}
			}
		}
		if len(p.completed) != 0 {
			t.Error("there is a completion too many")
		}
	})
}

// raw calls a tool without the SDK's own multi-round-trip loop.
func raw(t *testing.T, sc script) func(p *mcp.CallToolParams) (*mcp.CallToolResult, error) {
	t.Helper()
	s := newServer(sc.opt)
	st, ct := mcp.NewInMemoryTransports()
	ss, err := s.sdk.Connect(t.Context(), st, nil)
	if err != nil {
		t.Fatal(err)
	}
	o := (&peer{}).options(sc)
	o.ToolListChangedHandler = nil
	o.MultiRoundTrip = &mcp.MultiRoundTripOptions{Disabled: true}
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o).Connect(t.Context(), ct, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cs.Close()
		_ = ss.Wait()
	})
	return func(p *mcp.CallToolParams) (*mcp.CallToolResult, error) { return cs.CallTool(t.Context(), p) }
}

func TestRoundTripsCarryTheirState(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"ask-name", "ask-confirm", "ask-url"} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			call := raw(t, answering("decline", nil))
			res, err := call(&mcp.CallToolParams{Name: tool})
			if err != nil {
				t.Fatal(err)
			}
			if !res.NeedsInput() || res.RequestState == "" || len(res.InputRequests) != 1 || len(res.Content) != 0 {
				t.Fatalf("first result %+v", res)
			}
			responses := mcp.InputResponseMap{question: &mcp.ElicitResult{Action: "decline"}}
			_, err = call(&mcp.CallToolParams{Name: tool, InputResponses: responses, RequestState: res.RequestState + "x"})
			var rpc *jsonrpc.Error
			if !errors.As(err, &rpc) || rpc.Code != jsonrpc.CodeInvalidParams {
				t.Errorf("a changed state gives %v", err)
			}
			done, err := call(&mcp.CallToolParams{Name: tool, InputResponses: responses, RequestState: res.RequestState})
			if err != nil {
				t.Fatal(err)
			}
			want(t, done, "declined", false)
		})
	}
}

func TestInvalidAnswersAreErrors(t *testing.T) {
	t.Parallel()
	call := raw(t, answering("accept", nil))
	for name, content := range map[string]map[string]any{
		"no name":       {"age": 3.0},
		"empty name":    {"name": ""},
		"age too high":  {"name": "A", "age": 151.0},
		"age half":      {"name": "A", "age": 1.5},
		"age as text":   {"name": "A", "age": "3"},
		"colour":        {"name": "A", "colour": "pink"},
		"topic":         {"name": "A", "topics": []any{"cats"}},
		"topics twice":  {"name": "A", "topics": []any{"tools", "tools"}},
		"newsletter":    {"name": "A", "newsletter": "yes"},
		"unknown field": {"name": "A", "x": 1.0},
	} {
		res, err := call(&mcp.CallToolParams{
			Name: "ask-name", RequestState: "ask-name",
			InputResponses: mcp.InputResponseMap{question: &mcp.ElicitResult{Action: "accept", Content: content}},
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !res.IsError || !strings.Contains(textOf(res), "does not fit the form") {
			t.Errorf("%s gives %q", name, textOf(res))
		}
	}
}

// The form's own lists and the check's must not drift apart.
func TestFormMatchesItsCheck(t *testing.T) {
	t.Parallel()
	var form struct {
		Properties map[string]json.RawMessage
	}
	if err := json.Unmarshal([]byte(nameForm), &form); err != nil {
		t.Fatal(err)
	}
	for field := range form.Properties {
		if err := checkAnswer(field, struct{}{}); err == nil || strings.Contains(err.Error(), "there is no field") {
			t.Errorf("field %s is not checked: %v", field, err)
		}
	}
	for _, v := range append(append([]string{}, colours...), topics...) {
		if !strings.Contains(nameForm, `{"const":"`+v+`"`) {
			t.Errorf("the form does not offer %s", v)
		}
	}
}

func TestThink(t *testing.T) {
	t.Parallel()
	eachEra(t, func(t *testing.T, revision string) {
		p := connect(t, revision, script{sample: "a loop"})
		want(t, p.call(t, "think", map[string]any{"question": "what?"}), "the model said: a loop", false)
	})
}
