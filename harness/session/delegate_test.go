package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/model"
	"github.com/looprig/looprig/harness/model/operator"
	"github.com/looprig/looprig/harness/model/scripted"
	"github.com/looprig/looprig/harness/policy"
	"github.com/looprig/looprig/harness/tool"
)

// bench gives delegates their tools, as a host does.
type bench struct {
	mu      sync.Mutex
	s       *Session
	defs    map[string][]tool.Definition // by agent
	missing []string
	err     error
	ready   []Delegate
	ended   []Delegate
}

var _ DelegateHost = (*bench)(nil)

func (b *bench) Ready(ctx context.Context, d Delegate) ([]string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ready = append(b.ready, d)
	if b.err != nil {
		return nil, b.err
	}
	if defs := b.defs[d.Agent]; len(defs) > 0 {
		if err := b.s.ReplaceExternalTools(ctx, d.Loop, "mcp", 1, defs); err != nil {
			return nil, err
		}
	}
	return b.missing, nil
}

func (b *bench) Ended(_ context.Context, d Delegate) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = append(b.ended, d)
}

func giving(agent, task string) scripted.Call {
	args, _ := json.Marshal(delegateArgs{agent, task}) // strings alone
	return scripted.Call{Tool: ToolDelegate, Args: args}
}

func calls(c ...scripted.Call) scripted.Reply { return scripted.Reply{Call: c} }

// team opens a session in which main delegates to reviewer, which delegates to
// helper, and so on.
func team(t *testing.T, o Options, b *bench, replies map[string][]scripted.Reply, defs ...tool.Definition) *world {
	t.Helper()
	m := scripted.New(scripted.Config{ByLoop: replies})
	o.Loops = []LoopConfig{{Name: "main", Model: m, Delegates: []string{"reviewer", "helper"}}}
	o.Agents = append(o.Agents,
		LoopConfig{Name: "reviewer", Model: m, System: "review", Delegates: []string{"reviewer", "helper"}, AskUser: true},
		LoopConfig{Name: "helper", Model: m})
	if o.Policy == nil {
		o.Policy = allowAll()
	}
	if b != nil {
		o.Delegates = b
	}
	w := open(t, o, nil, defs...)
	if b != nil {
		b.s = w.Session
	}
	return w
}

func report(t *testing.T, c CallResult) delegateReport {
	t.Helper()
	var r delegateReport
	if err := json.Unmarshal(c.Structured, &r); err != nil {
		t.Fatalf("%s: %v", c.Structured, err)
	}
	return r
}

// The first request of a delegate's model already has its own tools, none of its
// parent's, and nothing of the conversation.
func TestDelegateBeginsWithItsTools(t *testing.T) {
	t.Parallel()
	own := &fake{}
	b := &bench{defs: map[string][]tool.Definition{"reviewer": {define("notes", "read", own)}}, missing: []string{"slow"}}
	var mu sync.Mutex
	var seen []model.Request
	watching := modelFunc(func(_ context.Context, r model.Request, yield func(model.Chunk, error) bool) {
		mu.Lock()
		seen = append(seen, r)
		n := len(seen)
		mu.Unlock()
		switch n {
		case 1:
			yield(model.Chunk{Kind: model.ChunkToolUse, ToolUse: &model.ToolUse{ID: "x", Name: ToolDelegate, Args: json.RawMessage(`{"agent":"reviewer","task":"look at it"}`)}}, nil)
		case 2:
			yield(model.Chunk{Kind: model.ChunkToolUse, ToolUse: &model.ToolUse{ID: "y", Name: "mcp__notes__read"}}, nil)
		default:
			yield(model.Chunk{Kind: model.ChunkText, Text: fmt.Sprintf("answer %d", n)}, nil)
		}
	})
	parents := define("secret", "read", &fake{})
	w := open(t, Options{
		Policy: allowAll(), Delegates: b,
		Loops:  []LoopConfig{{Name: "main", Model: watching, Delegates: []string{"reviewer"}, System: "main's"}},
		Agents: []LoopConfig{{Name: "reviewer", Model: watching, System: "reviewer's"}},
	}, nil, parents)
	b.s = w.Session
	r := w.say("please")
	if r.Outcome != TurnCompleted || r.Text != "answer 4" || own.calls.Load() != 1 {
		t.Fatalf("%+v, %d calls", r, own.calls.Load())
	}
	child := seen[1]
	if len(child.Tools) != 1 || child.Tools[0].Name != "mcp__notes__read" || !strings.HasPrefix(child.System, "reviewer's\n") || child.Loop != "reviewer" || len(child.Messages) != 1 {
		t.Errorf("%+v", child)
	}
	c := r.Calls[0]
	if c.Outcome != tool.OK || c.Text() != "answer 3" || c.Decision.Rule != "allow[0]" {
		t.Errorf("%+v", c)
	}
	if got, want := report(t, c), (delegateReport{Agent: "reviewer", Loop: "main/reviewer-1", Outcome: "completed", Steps: 2, Calls: 1}); got != want {
		t.Errorf("%+v", got)
	}
	started := of[*event.LoopStarted](t, w.store)
	if s := started[1]; s.Loop != "main/reviewer-1" || s.Parent != "main" || s.Call != c.ID || s.Depth != 1 || s.Agent != "reviewer" {
		t.Errorf("%+v", s)
	}
	want := Delegate{Loop: "main/reviewer-1", Agent: "reviewer", Parent: "main", Call: c.ID, Depth: 1}
	if !slices.Equal(b.ready, []Delegate{want}) || !slices.Equal(b.ended, []Delegate{want}) {
		t.Errorf("%+v %+v", b.ready, b.ended)
	}
	if n := of[*event.Notice](t, w.store); len(n) != 1 || n[0].Code != ClassDelegateTools || n[0].Loop != want.Loop || !strings.Contains(n[0].Text, "slow") {
		t.Errorf("%+v", n)
	}
	if l := w.Loops(); len(l) != 1 {
		t.Errorf("%+v", l)
	}
	if closed := of[*event.LoopClosed](t, w.store); len(closed) != 1 || closed[0].Reason != "delegate_ended" {
		t.Errorf("%+v", closed)
	}
	for _, e := range w.store.events(t) {
		if e.Head().Turn == "t2" && e.Head().Loop != want.Loop {
			t.Errorf("%T of the delegate's turn is of loop %q", e, e.Head().Loop)
		}
	}
}

// A delegate has nobody to choose its calls: where its agent has no model, it has
// that of the turn which it works for.
func TestDelegateOfAnAgentWithoutAModel(t *testing.T) {
	t.Parallel()
	n := 0
	m := modelFunc(func(_ context.Context, _ model.Request, yield func(model.Chunk, error) bool) {
		if n++; n == 1 {
			yield(model.Chunk{Kind: model.ChunkToolUse, ToolUse: &model.ToolUse{ID: "x", Name: ToolDelegate, Args: json.RawMessage(`{"agent":"reviewer","task":"look"}`)}}, nil)
			return
		}
		yield(model.Chunk{Kind: model.ChunkText, Text: fmt.Sprintf("answer %d", n)}, nil)
	})
	w := open(t, Options{
		Loops:  []LoopConfig{{Name: "main", Model: operator.Client{}, Delegates: []string{"reviewer"}}},
		Agents: []LoopConfig{{Name: "reviewer", Model: operator.Client{}, AskUser: true}},
	}, nil)
	if _, err := w.SetModel(w.ctx(), "", m, person); err != nil {
		t.Fatal(err)
	}
	if r := w.say("please"); r.Text != "answer 3" || r.Calls[0].Text() != "answer 2" {
		t.Fatalf("%+v", r)
	}
	if s := of[*event.LoopStarted](t, w.store); len(s) != 2 || s[1].Model != m.Info().Name {
		t.Errorf("%+v", s)
	}
}

func TestDelegationIsRefused(t *testing.T) {
	t.Parallel()
	nested := map[string][]scripted.Reply{
		"main":     {calls(giving("reviewer", "1")), {Say: "end"}},
		"reviewer": {calls(giving("reviewer", "2")), calls(giving("reviewer", "3")), {Say: "too deep"}, {Say: "back"}},
	}
	for name, c := range map[string]struct {
		o       Options
		b       *bench
		replies map[string][]scripted.Reply
		outcome tool.Outcome
		class   string
	}{
		"depth": {Options{Limits: Limits{DelegateDepth: 2}}, nil, nested, tool.OverLimit, ClassDelegateDepth},
		"quota": {Options{Limits: Limits{Delegates: 1}}, nil, map[string][]scripted.Reply{
			"main": {calls(giving("helper", "1")), calls(giving("helper", "2")), {Say: "end"}}, "helper": {{Say: "a"}},
		}, tool.OverLimit, ClassDelegates},
		"calls": {Options{Limits: Limits{CallsPerTurn: 1}}, nil, map[string][]scripted.Reply{
			"main": {calls(giving("helper", "1")), {Say: "end"}},
		}, tool.OverLimit, ClassDelegateBudget},
		"tools": {Options{}, &bench{err: errors.New("notes is required and failed")}, map[string][]scripted.Reply{
			"main": {calls(giving("helper", "1")), {Say: "end"}},
		}, tool.Unavailable, ClassDelegateTools},
		"policy": {Options{Policy: rules(policy.Config{Deny: []policy.Rule{{Pattern: "builtin:delegate"}}})}, nil, map[string][]scripted.Reply{
			"main": {calls(giving("helper", "1")), {Say: "end"}},
		}, tool.Denied, "policy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := team(t, c.o, c.b, c.replies)
			if r := w.say("go"); r.Outcome != TurnCompleted || r.Text != "end" {
				t.Fatalf("%+v", r)
			}
			done := of[*event.ToolCompleted](t, w.store)
			i := slices.IndexFunc(done, func(e *event.ToolCompleted) bool { return e.Outcome != tool.OK })
			if i < 0 || done[i].Outcome != c.outcome || done[i].Class != c.class || done[i].Reason == "" {
				t.Errorf("%d %+v", i, done)
			}
			if c.b != nil && len(c.b.ended) != 1 {
				t.Errorf("%+v", c.b.ended)
			}
		})
	}
}

// Arguments that fit no agent go nowhere.
func TestDelegationArguments(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		`{}`, `{"agent":"nobody","task":"x"}`, `{"agent":"helper","task":" "}`, `{"agent":"helper","task":"x","more":1}`,
		`{"agent":"helper","task":"` + strings.Repeat("x", MaxTaskBytes+1) + `"}`,
	} {
		w := team(t, Options{}, nil, map[string][]scripted.Reply{"main": {calls(scripted.Call{Tool: ToolDelegate, Args: json.RawMessage(args)}), {Say: "end"}}})
		if r := w.say("go"); len(r.Calls) != 1 || r.Calls[0].Outcome != tool.InvalidArguments || len(of[*event.LoopStarted](t, w.store)) != 1 {
			t.Errorf("%.60s: %+v", args, r)
		}
	}
}

// What a delegate uses is its parent's too, however many run at once.
func TestDelegatesSpendTheirParentsBudget(t *testing.T) {
	t.Parallel()
	work := &fake{}
	b := &bench{defs: map[string][]tool.Definition{"helper": {define("notes", "read", work)}}}
	three := uses("mcp__notes__read", "mcp__notes__read", "mcp__notes__read")
	w := team(t, Options{Limits: Limits{CallsPerTurn: 7}}, b, map[string][]scripted.Reply{
		"main":   {calls(giving("helper", "1"), giving("helper", "2")), {Say: "end"}},
		"helper": {three, three, {Say: "never"}, {Say: "never"}},
	})
	r := w.say("go")
	if got := outcomes(r); work.calls.Load() != 3 || len(got) != 2 || !slices.Contains(got, tool.OverLimit) {
		t.Errorf("%d calls, %v: 2 of 7 are the delegations, and 3 of each delegate do not fit twice", work.calls.Load(), got)
	}
	steps := team(t, Options{Limits: Limits{StepsPerTurn: 3}}, &bench{defs: b.defs}, map[string][]scripted.Reply{
		"main":   {calls(giving("helper", "1")), {Say: "never"}},
		"helper": {uses("nothing"), {Say: "answer"}},
	})
	if r := steps.say("go"); r.Code != CodeLimitSteps || r.Calls[0].Outcome != tool.OK {
		t.Errorf("%+v", r)
	}
}

// A loop's own limit is its own: its parent goes on.
func TestLoopLimits(t *testing.T) {
	t.Parallel()
	m := scripted.New(scripted.Config{ByLoop: map[string][]scripted.Reply{
		"main": {calls(giving("short", "1")), {Say: "end"}}, "short": {uses("x"), {Say: "never"}},
	}})
	w := open(t, Options{
		Policy: allowAll(), Loops: []LoopConfig{{Name: "main", Model: m, Delegates: []string{"short"}}},
		Agents: []LoopConfig{{Name: "short", Model: m, Limits: LoopLimits{Steps: 1}}},
	}, nil)
	r := w.say("go")
	if r.Text != "end" || r.Calls[0].Outcome != tool.OverLimit || r.Calls[0].Class != CodeLimitSteps || report(t, r.Calls[0]).Outcome != "failed" {
		t.Errorf("%+v", r)
	}
}

// Delegates of one step run at the same time, each with an id of its own.
func TestParallelDelegates(t *testing.T) {
	t.Parallel()
	meet := newBlocking()
	b := &bench{defs: map[string][]tool.Definition{"helper": {define("notes", "read", meet)}}}
	w := team(t, Options{}, b, map[string][]scripted.Reply{
		"main":   {calls(giving("helper", "1"), giving("helper", "2")), {Say: "end"}},
		"helper": {uses("mcp__notes__read"), uses("mcp__notes__read"), {Say: "a"}, {Say: "b"}},
	})
	tk := w.submit(Input{Text: "go"})
	<-meet.started
	<-meet.started // both are inside
	live := w.Loops()
	if len(live) != 3 || live[1].Parent != "main" || live[1].Agent != "helper" || live[1].ID == live[2].ID {
		t.Errorf("%+v", live)
	}
	if _, err := w.SubmitTo(w.ctx(), live[1].ID, Input{Text: "x", Origin: person}); !errors.Is(err, ErrDelegate) {
		t.Errorf("a delegate took an input: %v", err)
	}
	close(meet.release)
	if r := w.await(tk); r.Text != "end" || !slices.Equal(outcomes(r), []tool.Outcome{tool.OK, tool.OK}) {
		t.Errorf("%+v", r)
	}
	if len(b.ended) != 2 || len(w.Loops()) != 1 {
		t.Errorf("%+v %+v", b.ended, w.Loops())
	}
}

// Interrupting a loop interrupts the delegates below it, whose calls end as
// cancelled; interrupting a delegate leaves its parent running.
func TestInterruptReachesDelegates(t *testing.T) {
	t.Parallel()
	for name, target := range map[string]string{"parent": "main", "delegate": "main/reviewer-1/helper-2", "close": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hang := newBlocking()
			b := &bench{defs: map[string][]tool.Definition{"helper": {define("notes", "read", hang)}}}
			w := team(t, Options{}, b, map[string][]scripted.Reply{
				"main":     {calls(giving("reviewer", "1")), {Say: "end"}},
				"reviewer": {calls(giving("helper", "2")), {Say: "middle"}},
				"helper":   {uses("mcp__notes__read")},
			})
			tk := w.submit(Input{Text: "go"})
			<-hang.started
			if target == "" {
				w.shut()
			} else {
				w.must(w.Interrupt(w.ctx(), target, person))
			}
			r := w.await(tk)
			turns := of[*event.TurnInterrupted](t, w.store)
			switch name {
			case "delegate":
				if r.Text != "end" || len(turns) != 1 || turns[0].By != "person:tester" {
					t.Errorf("%+v %+v", r, turns)
				}
			default:
				if r.Outcome != TurnInterrupted || len(turns) != 3 || turns[0].By != "parent" || len(hang.started) != 0 {
					t.Errorf("%+v %+v", r, turns)
				}
			}
			var done []tool.Outcome
			for _, e := range of[*event.ToolCompleted](t, w.store) {
				done = append(done, e.Outcome)
			}
			if done[0] != tool.Cancelled || done[1] != tool.Cancelled || len(b.ended) != 2 {
				t.Errorf("%v %+v", done, b.ended)
			}
		})
	}
}

// The delegate of a delegate names its whole chain, and its question its loop.
func TestGateOfADelegateNamesItsLoop(t *testing.T) {
	t.Parallel()
	b := &bench{defs: map[string][]tool.Definition{"helper": {define("notes", "read", &fake{})}}}
	w := team(t, Options{Policy: rules(policy.Config{})}, b, map[string][]scripted.Reply{
		"main":     {calls(giving("reviewer", "1")), {Say: "end"}},
		"reviewer": {calls(giving("helper", "2")), {Say: "middle"}},
		"helper":   {uses("mcp__notes__read"), {Say: "inner"}},
	})
	tk := w.submit(Input{Text: "go"})
	env := w.gate()
	if env.Subject.Loop != "main/reviewer-1/helper-2" || !strings.Contains(env.Prompt.Title, "main/reviewer-1/helper-2") {
		t.Errorf("%+v", env)
	}
	w.answer(gate.Response{Action: gate.ActionOnce})
	r := w.await(tk)
	if r.Text != "end" || r.Calls[0].Decision.Rule != RuleBuiltin || r.Calls[0].Text() != "middle" {
		t.Errorf("%+v", r)
	}
}

// Ids of delegates go on after a restart, and those of before count.
func TestDelegatesAfterARestart(t *testing.T) {
	t.Parallel()
	replies := map[string][]scripted.Reply{"main": {calls(giving("helper", "1")), {Say: "end"}}, "helper": {{Say: "a"}}}
	first := team(t, Options{}, nil, replies)
	first.say("go")
	first.shut()
	m := scripted.New(scripted.Config{ByLoop: map[string][]scripted.Reply{
		"main": {calls(giving("helper", "2")), calls(giving("helper", "3")), {Say: "end"}}, "helper": {{Say: "b"}},
	}})
	r := restored(t, Options{
		Store: left{first.store}, Policy: allowAll(), Limits: Limits{Delegates: 2},
		Loops: []LoopConfig{{Name: "main", Model: m, Delegates: []string{"helper"}}}, Agents: []LoopConfig{{Name: "helper", Model: m}},
	}, first.ID())
	got := r.say("again")
	if !slices.Equal(outcomes(got), []tool.Outcome{tool.OK, tool.OverLimit}) || report(t, got.Calls[0]).Loop != "main/helper-2" || got.Calls[1].Class != ClassDelegates {
		t.Errorf("%+v", got)
	}
}
