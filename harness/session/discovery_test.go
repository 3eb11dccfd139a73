package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/ledger"
	"github.com/looprig/looprig/harness/model"
	"github.com/looprig/looprig/harness/model/scripted"
	"github.com/looprig/looprig/harness/policy"
	"github.com/looprig/looprig/harness/tool"
)

func deferred(d *tool.Definition) { d.Deferred = true }

// offers is a scripted model that keeps which tools each request offered.
type offers struct {
	*scripted.Client
	mu   sync.Mutex
	seen [][]string
}

func (o *offers) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	var names []string
	for _, x := range r.Tools {
		names = append(names, x.Name)
	}
	o.mu.Lock()
	o.seen = append(o.seen, names)
	o.mu.Unlock()
	return o.Client.Stream(ctx, r)
}

func (o *offers) requests() [][]string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.seen)
}

// lazy opens a session whose model sees "eager" and has to search for the rest.
func lazy(t *testing.T, p *policy.Policy, replies ...scripted.Reply) (*world, *offers, *fake) {
	t.Helper()
	m := &offers{Client: scripted.New(scripted.Config{Replies: replies})}
	f := &fake{}
	w := open(t, Options{Policy: p, Loops: []LoopConfig{{Name: "main", Model: m}}}, nil, catalogue(f, "1")...)
	return w, m, f
}

func catalogue(f *fake, version string) []tool.Definition {
	about := func(s string) func(*tool.Definition) {
		return func(d *tool.Definition) { d.Description = s; d.Digest = digest([]byte(d.Name + s + version)) }
	}
	return []tool.Definition{
		define("demo", "eager", f), define("demo", "add", f, deferred, about("Add two numbers.\x1b[2J")),
		define("demo", "create_issue", f, deferred, about("Create an issue.\nMore.")), define("demo", "list_issues", f, deferred, about("List issues.")),
	}
}

func search(query string) scripted.Reply {
	return scripted.Reply{Call: []scripted.Call{{Tool: ToolSearch, Args: json.RawMessage(fmt.Sprintf(`{"query":%q}`, query))}}}
}

func lookUp(names ...string) scripted.Reply {
	var r scripted.Reply
	for _, n := range names {
		r.Call = append(r.Call, scripted.Call{Tool: ToolSchema, Args: json.RawMessage(fmt.Sprintf(`{"name":%q}`, n))})
	}
	return r
}

// A model gets the deferred tools that it asked for, from its next step on and
// in later turns, and nothing else of them.
func TestModelSeesWhatItAskedFor(t *testing.T) {
	t.Parallel()
	w, m, f := lazy(t, nil,
		search("issue"), lookUp("mcp__demo__list_issues", "demo.add"), scripted.Reply{Say: "one"},
		lookUp("mcp__demo__list_issues"), scripted.Reply{Say: "two"})
	r := w.say("x")
	if !slices.Equal(outcomes(r), []tool.Outcome{tool.OK, tool.OK, tool.OK}) || r.Text != "one" {
		t.Fatalf("%+v", r)
	}
	for _, want := range []string{"2 of 3 tools match", "\n- mcp__demo__create_issue: Create an issue.\n", "\n- mcp__demo__list_issues: List issues."} {
		if !strings.Contains(r.Calls[0].Text(), want) {
			t.Errorf("no %q in %s", want, r.Calls[0].Text())
		}
	}
	var described struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
	}
	if text := r.Calls[2].Text(); json.Unmarshal([]byte(text), &described) != nil || strings.ContainsRune(text, 0x1b) ||
		described.Description != "Add two numbers.\x1b[2J" || string(described.InputSchema) != `{"type":"object"}` {
		t.Errorf("described as %s", text)
	}
	w.say("y")
	first := []string{ToolSearch, ToolSchema, "mcp__demo__eager"}
	then := slices.Concat(first, []string{"mcp__demo__list_issues", "mcp__demo__add"})
	if got := m.requests(); !slices.EqualFunc(got, [][]string{first, first, then, then, then}, slices.Equal) {
		t.Errorf("offered %v", got)
	}
	if f.calls.Load() != 0 {
		t.Error("a tool ran")
	}
}

// What was asked for leaves with its definition, not with a change elsewhere.
func TestOpenedToolsFollowTheirDigest(t *testing.T) {
	t.Parallel()
	w, m, f := lazy(t, nil, lookUp("add"), scripted.Reply{Say: "1"}, scripted.Reply{Say: "2"}, scripted.Reply{Say: "3"}, scripted.Reply{Say: "4"}, scripted.Reply{Say: "5"})
	w.say("1")
	last := func() []string { r := m.requests(); return r[len(r)-1] }
	has := func() bool { return slices.Contains(last(), "mcp__demo__add") }
	install := func(generation uint64, defs []tool.Definition) {
		w.must(w.ReplaceExternalTools(w.ctx(), "main", "mcp", generation, defs))
	}
	if !has() {
		t.Fatalf("%v", last())
	}
	install(2, append(catalogue(f, "1"), define("demo", "new", f, deferred)))
	w.say("2")
	if !has() {
		t.Errorf("gone with another tool's coming: %v", last())
	}
	install(3, catalogue(f, "1")[2:])
	w.say("3")
	if has() {
		t.Errorf("there without being offered: %v", last())
	}
	install(4, catalogue(f, "1"))
	w.say("4")
	if !has() {
		t.Errorf("the same tool, back again: %v", last())
	}
	install(5, catalogue(f, "2"))
	w.say("5")
	if has() {
		t.Errorf("there under a changed definition: %v", last())
	}
}

// The search is the toolset's own: a turn under a new one finds its tools.
func TestSearchBelongsToItsGeneration(t *testing.T) {
	t.Parallel()
	w, _, f := lazy(t, nil, search("zebra"), scripted.Reply{Say: "none"}, search("zebra"), scripted.Reply{Say: "one"})
	if r := w.say("x"); !strings.Contains(r.Calls[0].Text(), "0 of 3 tools match") {
		t.Fatalf("%s", r.Calls[0].Text())
	}
	w.must(w.ReplaceExternalTools(w.ctx(), "main", "mcp", 2, append(catalogue(f, "1"), define("demo", "zebra", f, deferred))))
	if r := w.say("y"); !strings.Contains(r.Calls[0].Text(), "1 of 4 tools match") || !strings.Contains(r.Calls[0].Text(), "mcp__demo__zebra") {
		t.Fatalf("%s", r.Calls[0].Text())
	}
}

func TestDeferredToolsAreCalledByName(t *testing.T) {
	t.Parallel()
	w, _, f := lazy(t, allowAll(), uses("mcp__demo__add"), scripted.Reply{Say: "done"}, uses("mcp__demo__add"), scripted.Reply{Say: "done"})
	if r := w.say("x"); !slices.Equal(outcomes(r), []tool.Outcome{tool.OK}) || f.calls.Load() != 1 {
		t.Fatalf("%+v", r)
	}
	f.prepare = func(json.RawMessage) (json.RawMessage, error) {
		return nil, &tool.ArgumentError{Tool: "x", Problems: []tool.ArgumentProblem{{Message: "missing"}}}
	}
	if r := w.say("x"); r.Calls[0].Outcome != tool.InvalidArguments || !strings.Contains(r.Calls[0].Reason, ToolSchema) {
		t.Fatalf("%+v", r.Calls[0])
	}
	if adopted := of[*event.ToolsetAdopted](t, w.store); len(adopted) != 1 || adopted[0].Tools != 4 || adopted[0].Deferred != 3 {
		t.Errorf("adopted %+v", adopted)
	}
	set := w.Tools("main")
	if d, err := set.Resolve("demo add"); err != nil || !d.Deferred || set.Len() != 6 {
		t.Fatalf("%v %v %d", d.Name, err, set.Len())
	}
	if r := w.call("demo add", `{}`); r.Calls[0].Outcome != tool.InvalidArguments || strings.Contains(r.Calls[0].Reason, ToolSchema) {
		t.Fatalf("a person's call: %+v", r.Calls[0])
	}
}

// Lookups are asked about by nobody, and recorded like every call.
func TestLookupsAreJournaledAndNeverGated(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]*policy.Policy{"no policy": nil, "ask": rules(policy.Config{Ask: []policy.Rule{{Pattern: "*"}}})} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _, _ := lazy(t, p, search("issue"), scripted.Reply{Say: "done"})
			w.say("x")
			if opened := of[*event.GateOpened](t, w.store); len(opened) != 0 {
				t.Fatalf("asked: %+v", opened[0])
			}
			started, completed := of[*event.ToolStarted](t, w.store), of[*event.ToolCompleted](t, w.store)
			if len(started) != 1 || started[0].Tool != "builtin:tool_search" || started[0].Decision.Rule != RuleDiscovery || started[0].Decision.Verdict != "allow" ||
				string(started[0].Args) != `{"query":"issue","limit":10}` {
				t.Fatalf("%+v", started)
			}
			if len(completed) != 1 || completed[0].Outcome != tool.OK || !strings.Contains(string(completed[0].Structured), `"total":2`) {
				t.Fatalf("%+v", completed)
			}
			if len(w.store.drafts(ledger.KindIntent)) != 1 || len(w.store.drafts(ledger.KindOutcome)) != 1 {
				t.Error("the ledger lacks an entry")
			}
		})
	}
	w, _, _ := lazy(t, rules(policy.Config{Deny: []policy.Rule{{Pattern: "builtin:tool_search"}}}), search("issue"), scripted.Reply{Say: "done"})
	if r := w.say("x"); r.Calls[0].Outcome != tool.Denied {
		t.Fatalf("a denied search: %+v", r.Calls[0])
	}
	// Other built-in tools are not let through by it.
	ask := define("", "tool", &fake{}, func(d *tool.Definition) {
		d.Name, d.Identity, d.Trust = "other", tool.Identity{Source: "builtin", Name: "tool_search"}, tool.TrustBuiltin
	})
	m := scripted.New(scripted.Config{Replies: []scripted.Reply{uses("other"), {Say: "done"}}})
	w = open(t, Options{Loops: []LoopConfig{{Name: "main", Model: m, Builtin: []tool.Definition{ask}}}}, nil)
	tk := w.submit(Input{Text: "x"})
	w.answer(gate.Response{Action: gate.ActionDeny})
	if r := w.await(tk); r.Calls[0].Outcome != tool.Denied {
		t.Fatalf("%+v", r.Calls[0])
	}
}

func TestLookupArguments(t *testing.T) {
	t.Parallel()
	w, _, _ := lazy(t, nil)
	for args, want := range map[string]tool.Outcome{
		`{"query":""}`: tool.OK, `{"query":"a","limit":50}`: tool.OK, `{}`: tool.InvalidArguments, `{"query":1}`: tool.InvalidArguments,
		`{"query":"a","limit":0}`: tool.InvalidArguments, `{"query":"a","limit":51}`: tool.InvalidArguments, `{"query":"a","more":1}`: tool.InvalidArguments,
		`{"query":"` + strings.Repeat("x", tool.MaxQuery) + `"}`:   tool.OK,
		`{"query":"` + strings.Repeat("x", tool.MaxQuery+1) + `"}`: tool.InvalidArguments,
	} {
		if r := w.call(ToolSearch, args); r.Calls[0].Outcome != want {
			t.Errorf("%.60s: %s %s", args, r.Calls[0].Outcome, r.Calls[0].Reason)
		}
	}
	if r := w.call(ToolSearch, `{"query":"","limit":2}`); !strings.Contains(r.Text, "3 of 3 tools.") || !strings.Contains(r.Text, "1 more are not listed") {
		t.Errorf("%s", r.Text)
	}
	for args, want := range map[string]string{
		`{"name":"mcp__demo__ad"}`:        "Did you mean mcp__demo__add or ",
		`{"name":"issue"}`:                "Did you mean mcp__demo__create_issue or mcp__demo__list_issues?",
		`{"name":"zzzzzzzz\u001b[2Kzzz"}`: "finds tools by words",
	} {
		if r := w.call(ToolSchema, args); r.Calls[0].Outcome != tool.ToolError || !strings.Contains(r.Text, want) || strings.ContainsRune(r.Text, 0x1b) {
			t.Errorf("%s: %s %q", args, r.Calls[0].Outcome, r.Text)
		}
	}
	for _, args := range []string{`{}`, `{"name":""}`, `{"name":"` + strings.Repeat("x", maxToolName+1) + `"}`} {
		if r := w.call(ToolSchema, args); r.Calls[0].Outcome != tool.InvalidArguments {
			t.Errorf("%.60s: %s", args, r.Calls[0].Outcome)
		}
	}
}

func TestNamesOfTheSearchAreReserved(t *testing.T) {
	t.Parallel()
	var dup *tool.DuplicateModelNameError
	w := open(t, Options{}, nil)
	for _, name := range []string{ToolSearch, ToolSchema} {
		taken := define("demo", "x", &fake{}, func(d *tool.Definition) { d.Name = name })
		if err := w.ReplaceExternalTools(w.ctx(), "main", "mcp", 1, []tool.Definition{taken}); !errors.As(err, &dup) || dup.Newcomer != taken.Identity {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := w.AddLoop(w.ctx(), LoopConfig{Name: name, Model: w.model, Builtin: []tool.Definition{taken}}); !errors.As(err, &dup) {
			t.Errorf("%s as a loop's own: %v", name, err)
		}
	}
	if w.Tools("main").Len() != 0 {
		t.Error("a search without anything to find")
	}
}

// The number of tools that a model is given at once is bounded.
func TestOpenedToolsAreBounded(t *testing.T) {
	t.Parallel()
	tn := &turn{}
	for i := range maxOpened + 10 {
		tn.open(define("demo", fmt.Sprint(i), nil, deferred))
		tn.open(define("demo", "eager", nil))
	}
	if len(tn.opened) != maxOpened || tn.opened[0].name != "mcp__demo__10" {
		t.Fatalf("%d, first %s", len(tn.opened), tn.opened[0].name)
	}
}
