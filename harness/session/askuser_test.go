package session

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/model"
	"github.com/looprig/looprig/harness/model/operator"
	"github.com/looprig/looprig/harness/model/scripted"
	"github.com/looprig/looprig/harness/policy"
	"github.com/looprig/looprig/harness/tool"
)

// questioned opens a session whose model asks one question.
func questioned(t *testing.T, o Options, args string) *world {
	t.Helper()
	m := scripted.New(scripted.Config{Replies: []scripted.Reply{calls(scripted.Call{Tool: ToolAskUser, Args: json.RawMessage(args)}), {Say: "thanks"}}})
	o.Loops = []LoopConfig{{Name: "main", Model: m, AskUser: true}}
	return open(t, o, nil)
}

func replyOf(t *testing.T, c CallResult) reply {
	t.Helper()
	var r reply
	if err := json.Unmarshal(c.Structured, &r); err != nil {
		t.Fatalf("%s: %v", c.Structured, err)
	}
	return r
}

func TestAskUser(t *testing.T) {
	t.Parallel()
	const two = `{"question":"Which?","choices":["red","blue","green"],"multiple":true}`
	for name, c := range map[string]struct {
		args   string
		answer gate.Response
		text   string
		want   reply
	}{
		"text":    {`{"question":"Which branch?"}`, gate.Response{Action: gate.ActionAnswer, Text: "main"}, "main", reply{Answered: true, Text: "main"}},
		"choice":  {two, gate.Response{Action: gate.ActionAnswer, Chosen: []int{2, 0}}, "Chosen: red; green", reply{Answered: true, Chosen: []string{"red", "green"}}},
		"dismiss": {two, gate.Response{Action: gate.ActionDismiss}, "The person dismissed the question without an answer.", reply{Reason: "dismissed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := questioned(t, Options{}, c.args)
			tk := w.submit(Input{Text: "go"})
			env := w.gate()
			if env.Kind != gate.KindAskUser || env.Prompt.Origin != gate.OriginModel || env.Subject.Call == "" || env.Restorable {
				t.Errorf("%+v", env)
			}
			w.answer(c.answer)
			r := w.await(tk)
			got := replyOf(t, r.Calls[0])
			if r.Text != "thanks" || r.Calls[0].Outcome != tool.OK || r.Calls[0].Text() != c.text || got.Answered != c.want.Answered ||
				got.Text != c.want.Text || got.Reason != c.want.Reason || !slices.Equal(got.Chosen, c.want.Chosen) {
				t.Errorf("%+v", r)
			}
			if d := r.Calls[0].Decision; d.Rule != RuleBuiltin || d.Verdict != string(policy.Allow) {
				t.Errorf("%+v", d)
			}
		})
	}
}

// Where nobody is, the question is refused, and the model is told why.
func TestAskUserWithoutAnybody(t *testing.T) {
	t.Parallel()
	w := questioned(t, Options{Answer: func(context.Context, gate.Envelope) (gate.Response, bool) { return gate.Response{}, false }}, `{"question":"Which?"}`)
	r := w.say("go")
	c := r.Calls[0]
	if r.Text != "thanks" || c.Outcome != tool.Denied || c.Class != string(gate.ReasonNoGate) || replyOf(t, c).Reason != c.Class || c.Reason == "" {
		t.Errorf("%+v", r)
	}
	if g := of[*event.GateResolved](t, w.store); len(g) != 1 || g[0].Reason != gate.ReasonPolicy || g[0].Detail != string(gate.ReasonNoGate) {
		t.Errorf("%+v", g)
	}
}

// A person does not ask himself, and an interruption withdraws the question.
func TestAskUserIsTheModels(t *testing.T) {
	t.Parallel()
	w := questioned(t, Options{}, `{"question":"Which?"}`)
	if r := w.call(ToolAskUser, `{"question":"me?"}`); r.Calls[0].Outcome != tool.Unavailable || len(w.Gates()) != 0 {
		t.Errorf("%+v", r)
	}
	tk := w.submit(Input{Text: "go"})
	w.gate()
	w.must(w.Interrupt(w.ctx(), "main", person))
	if r := w.await(tk); r.Outcome != TurnInterrupted || r.Calls[0].Outcome != tool.Cancelled || len(w.Gates()) != 0 {
		t.Errorf("%+v", r)
	}
	if w.Tools("main").Len() != 1 {
		t.Error("the loop has no ask_user")
	}
}

func TestAskUserArguments(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		`{}`, `{"question":""}`, `{"question":"?","choices":["a"]}`, `{"question":"?","choices":["a","a"]}`, `{"question":"?","secret":true}`,
		`{"question":"` + strings.Repeat("x", gate.MaxQuestionBytes+1) + `"}`, `{"question":"?","multiple":true}`,
	} {
		w := questioned(t, Options{}, args)
		if r := w.say("go"); r.Calls[0].Outcome != tool.InvalidArguments || r.Text != "thanks" {
			t.Errorf("%.60s %+v", args, r)
		}
	}
}

// A question went nowhere but to the screen: after a crash nothing about it is
// unknown, and the model is told that it was not answered.
func TestAQuestionFromBeforeARestartIsCancelled(t *testing.T) {
	t.Parallel()
	w := questioned(t, Options{}, `{"question":"Which?"}`)
	tk := w.submit(Input{Text: "go"})
	w.gate()
	store := crashed(t, w)
	w.must(w.Interrupt(w.ctx(), "main", person))
	w.await(tk)
	again := &teller{}
	r := restored(t, restoreOptions(store, again), w.ID())
	if e := of[*event.SessionRestored](t, r.store)[0]; len(e.Indeterminate) != 0 || !e.Unfinished || len(r.Gates()) != 0 {
		t.Errorf("%+v", e)
	}
	if e := of[*event.ToolCompleted](t, r.store); len(e) != 1 || e[0].Outcome != tool.Cancelled || e[0].Sent {
		t.Errorf("%+v", e)
	}
	r.say("go on")
	if got := again.given(t); !strings.Contains(got, "before the question was answered") {
		t.Error(got)
	}
}

// Where several loops take input, each question says whose it is.
func TestAQuestionNamesItsLoop(t *testing.T) {
	t.Parallel()
	for _, loops := range [][]string{{"main"}, {"main", "side"}} {
		m := scripted.New(scripted.Config{Replies: []scripted.Reply{
			calls(scripted.Call{Tool: ToolAskUser, Args: json.RawMessage(`{"question":"Which?"}`)}), calls(scripted.Call{Tool: "mcp__demo__add", Args: json.RawMessage(`{}`)}),
		}})
		o := Options{}
		for _, name := range loops {
			o.Loops = append(o.Loops, LoopConfig{Name: name, Model: m, AskUser: true})
		}
		w := open(t, o, nil, define("demo", "add", &fake{}))
		w.submit(Input{Text: "go"})
		for range 2 {
			if title := w.gate().Prompt.Title; strings.HasPrefix(title, "main: ") != (len(loops) > 1) {
				t.Errorf("%d loops: %q", len(loops), title)
			}
			if w.gate().Kind == gate.KindPermission {
				break
			}
			w.answer(gate.Response{Action: gate.ActionDismiss})
			w.eventually("the tool is asked about", func() bool { g := w.Gates(); return len(g) == 1 && g[0].Kind == gate.KindPermission })
		}
	}
}

// The question is there for as long as somebody else than the operator is the
// model: from the turn on that another one begins.
func TestAskUserFollowsTheModel(t *testing.T) {
	t.Parallel()
	names := func(r model.Request) []string {
		var out []string
		for _, x := range r.Tools {
			out = append(out, x.Name)
		}
		return out
	}
	w := open(t, Options{Loops: []LoopConfig{{Name: "main", Model: operator.Client{}, AskUser: true}}}, nil, define("demo", "a", &fake{}))
	taken := define("demo", "b", &fake{})
	taken.Name = ToolAskUser
	var dup *tool.DuplicateModelNameError
	if err := w.ReplaceExternalTools(w.ctx(), "main", "other", 1, []tool.Definition{taken}); !errors.As(err, &dup) {
		t.Errorf("a server has the name of the question: %v", err)
	}
	if _, ok := w.Tools("main").Lookup(ToolAskUser); ok {
		t.Error("the operator has it")
	}
	var seen [][]string
	asking := modelFunc(func(_ context.Context, r model.Request, yield func(model.Chunk, error) bool) {
		seen = append(seen, names(r))
		_ = yield(model.Chunk{Kind: model.ChunkText, Text: "hm"}, nil)
	})
	if queued, err := w.SetModel(w.ctx(), "", asking, person); queued || err != nil {
		t.Fatal(queued, err)
	}
	w.say("go")
	if _, err := w.SetModel(w.ctx(), "", operator.Client{}, person); err != nil {
		t.Fatal(err)
	}
	if _, ok := w.Tools("main").Lookup(ToolAskUser); ok {
		t.Error("the operator has it again")
	}
	if len(seen) != 1 || !slices.Equal(seen[0], []string{ToolAskUser, "mcp__demo__a"}) {
		t.Errorf("%q", seen)
	}
	if n := len(of[*event.ToolsetAdopted](t, w.store)); n != 1 {
		t.Errorf("%d adoptions of what no server offers", n)
	}
}
