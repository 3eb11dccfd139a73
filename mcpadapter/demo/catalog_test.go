package demo

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func toolsByName(t *testing.T, p *peer) map[string]*mcp.Tool {
	t.Helper()
	all := map[string]*mcp.Tool{}
	for tool, err := range p.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		all[tool.Name] = tool
	}
	return all
}

func TestEvolve(t *testing.T) {
	t.Parallel()
	eachEra(t, func(t *testing.T, revision string) {
		p := connect(t, revision, script{})
		before := toolsByName(t, p)
		res := p.call(t, "evolve", nil)
		receive(t, p.changed, "list_changed")
		want(t, res, "the catalog is now edition 2: changed lookup (description, input schema), added greet", false)
		if got := structured(t, res); got != `{"added":["greet"],"changed":["lookup"],"edition":2,"removed":[]}` {
			t.Errorf("structured = %s", got)
		}
		after := toolsByName(t, p)
		if before["greet"] != nil || after["greet"] == nil || len(after) != len(before)+1 {
			t.Errorf("%d tools became %d, greet: %v", len(before), len(after), after["greet"])
		}
		if names := slices.Sorted(maps.Keys(after)); !slices.Equal(names, Tools()) {
			t.Errorf("the tools are %q, and known as %q", names, Tools())
		}
		for _, name := range []string{"add", "echo", "ask-name"} {
			if !same(t, before[name], after[name]) {
				t.Errorf("%s changed", name)
			}
		}
		if before["lookup"].Description == after["lookup"].Description || same(t, before["lookup"].InputSchema, after["lookup"].InputSchema) {
			t.Error("lookup did not change")
		}
		want(t, p.call(t, "greet", map[string]any{"who": "Ada"}), "Hello, Ada!", false)
		want(t, p.call(t, "lookup", map[string]any{"key": "turn", "limit": 3}), "One… (3 of 46 characters)", false)

		third := p.call(t, "evolve", nil)
		want(t, third, "the catalog is now edition 3: changed lookup (description, input schema), removed greet", false)
		now := toolsByName(t, p)
		if now["greet"] != nil || same(t, now["lookup"], after["lookup"]) {
			t.Error("the third edition is not another one")
		}
	})
}

func same(t *testing.T, a, b any) bool {
	t.Helper()
	x, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(x) == string(y)
}

func TestPromptsResourcesCompletions(t *testing.T) {
	t.Parallel()
	eachEra(t, func(t *testing.T, revision string) {
		p := connect(t, revision, script{})
		ctx := t.Context()
		prompt, err := p.GetPrompt(ctx, &mcp.GetPromptParams{Name: "greet", Arguments: map[string]string{"who": "Ada", "style": "formal"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := prompt.Messages[0].Content.(*mcp.TextContent).Text; got != "Write a formal greeting to Ada in one sentence." {
			t.Errorf("prompt = %q", got)
		}
		if _, err := p.GetPrompt(ctx, &mcp.GetPromptParams{Name: "greet"}); err == nil {
			t.Error("a missing argument is accepted")
		}
		read := func(uri string) string {
			res, err := p.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
			if err != nil {
				t.Fatal(err)
			}
			return res.Contents[0].Text
		}
		p.call(t, "add", map[string]any{"a": 1, "b": 1})
		if got := read("demo://log"); got != "1 called add\n" {
			t.Errorf("log = %q", got)
		}
		if got := read("demo://note/welcome"); got != notes["welcome"] {
			t.Errorf("note = %q", got)
		}
		for tool := range toolsByName(t, p) {
			if !strings.Contains(read("demo://readme"), "| "+tool+" |") {
				t.Errorf("the read-me does not name %s", tool)
			}
		}
		if _, err := p.ReadResource(ctx, &mcp.ReadResourceParams{URI: "demo://note/none"}); err == nil {
			t.Error("an unknown note is served")
		}
		for _, c := range []struct {
			ref       *mcp.CompleteReference
			arg, have string
			want      string
		}{
			{&mcp.CompleteReference{Type: "ref/prompt", Name: "greet"}, "who", "a", "Ada Alan"},
			{&mcp.CompleteReference{Type: "ref/prompt", Name: "greet"}, "style", "", "casual formal"},
			{&mcp.CompleteReference{Type: "ref/resource", URI: noteTemplate}, "name", "g", "gates glossary"},
		} {
			res, err := p.Complete(ctx, &mcp.CompleteParams{Ref: c.ref, Argument: mcp.CompleteParamsArgument{Name: c.arg, Value: c.have}})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(res.Completion.Values, " "); got != c.want {
				t.Errorf("%s completes to %q, want %q", c.arg, got, c.want)
			}
		}
	})
}

func TestLogMessagesAndSubscription(t *testing.T) {
	t.Parallel()
	p := connect(t, "2025-11-25", script{})
	if err := p.ClientSession.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "warning"}); err != nil {
		t.Fatal(err)
	}
	if err := p.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "demo://log"}); err != nil {
		t.Fatal(err)
	}
	if err := p.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "demo://elsewhere"}); err == nil {
		t.Error("an unknown resource can be subscribed to")
	}
	p.call(t, "echo", map[string]any{"text": "x"})
	p.call(t, "fail", nil)
	if got := receive(t, p.logged, "log message"); got != "called fail" {
		t.Errorf("logged %q; info is below the level", got)
	}
	if got := receive(t, p.updated, "resource update"); got != "demo://log" {
		t.Errorf("updated %q", got)
	}
}

func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	p := connect(t, "2026-07-28", script{})
	for range maxLogLines + 5 {
		p.call(t, "echo", map[string]any{"text": ""})
	}
	res, err := p.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "demo://log"})
	if err != nil {
		t.Fatal(err)
	}
	got := res.Contents[0].Text
	if !strings.HasPrefix(got, "(5 older lines dropped)\n6 called echo\n") || strings.Count(got, "\n") != maxLogLines+1 {
		t.Errorf("log starts %.60q and has %d lines", got, strings.Count(got, "\n"))
	}
}
