package session

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/model/scripted"
	"github.com/looprig/looprig/harness/tool"
)

// A toolset that arrives during a turn is not seen by it, and is installed
// before the next queued turn.
func TestToolsetChangesOnlyAtTheIdleBoundary(t *testing.T) {
	t.Parallel()
	b := newBlocking()
	w := open(t, Options{Policy: allowAll()}, []scripted.Reply{
		uses("mcp__demo__slow"), uses("mcp__demo__slow", "mcp__demo__new"), {Say: "one"},
		uses("mcp__demo__slow", "mcp__demo__new"), {Say: "two"},
	}, define("demo", "slow", b))
	before := w.Tools("main").Digest()
	first := w.submit(Input{Text: "1"})
	<-b.started
	second := w.submit(Input{Text: "2"})
	w.must(w.ReplaceExternalTools(w.ctx(), "main", "mcp", 2, []tool.Definition{define("demo", "new", &fake{})}))
	if w.Tools("main").Digest() != before {
		t.Fatal("the toolset changed during a turn")
	}
	close(b.release)
	if r := w.await(first); !slices.Equal(outcomes(r), []tool.Outcome{tool.OK, tool.OK, tool.Unavailable}) {
		t.Fatalf("first %+v", outcomes(r))
	}
	if r := w.await(second); !slices.Equal(outcomes(r), []tool.Outcome{tool.Unavailable, tool.OK}) {
		t.Fatalf("second %+v", outcomes(r))
	}
	adopted := of[*event.ToolsetAdopted](t, w.store)
	if len(adopted) != 2 || adopted[1].Generation != 2 || adopted[1].Tools != 1 || adopted[1].Bindings[0].Binding != "demo" {
		t.Fatalf("adopted %+v", adopted)
	}
	types := w.store.types()
	if at := slices.Index(types, "turn.completed"); !slices.Equal(types[at:at+4], []string{"turn.completed", "toolset.adopted", "loop.idle", "turn.started"}) {
		t.Fatalf("order %v", types[at:])
	}
}

func TestReplaceRefusals(t *testing.T) {
	t.Parallel()
	builtin := define("x", "add", &fake{}, func(d *tool.Definition) {
		d.Identity = tool.Identity{Source: "builtin", Name: "add"}
		d.Name, d.Trust = "add", tool.TrustBuiltin
	})
	m := scripted.New(scripted.Config{})
	w := open(t, Options{Loops: []LoopConfig{{Name: "main", Model: m, Builtin: []tool.Definition{builtin}}}}, nil, define("demo", "a", &fake{}))
	clash := define("demo", "b", &fake{}, func(d *tool.Definition) { d.Name = "add" })
	var duplicate *tool.DuplicateModelNameError
	if err := w.ReplaceExternalTools(w.ctx(), "main", "mcp", 2, []tool.Definition{clash}); !errors.As(err, &duplicate) || duplicate.Incumbent.Source != "builtin" {
		t.Fatalf("clash: %v", err)
	}
	var old *StaleGenerationError
	if err := w.ReplaceExternalTools(w.ctx(), "main", "mcp", 0, nil); !errors.As(err, &old) {
		t.Fatalf("older: %v", err)
	}
	if err := w.ReplaceExternalTools(w.ctx(), "main", "builtin", 9, nil); err == nil {
		t.Fatal("the builtin slot was replaced")
	}
	if w.Tools("main").Len() != 2 {
		t.Fatalf("%d tools after refusals", w.Tools("main").Len())
	}
	if r := w.call("builtin:add", ""); r.Calls[0].Outcome != tool.OK {
		t.Fatalf("builtin %+v", r.Calls)
	}
}

func TestWatchLoopsMergesForASlowReader(t *testing.T) {
	t.Parallel()
	w := open(t, Options{Policy: allowAll()}, []scripted.Reply{{Say: "1"}, {Say: "2"}, {Say: "3"}})
	changes := w.LoopChanges(t.Context())
	for range 3 {
		w.say("x")
	}
	_, err := w.AddLoop(w.ctx(), LoopConfig{Name: "second", Model: scripted.New(scripted.Config{})})
	w.must(err)
	var got []LoopChange
	for len(got) == 0 || got[len(got)-1].Loop != "second" || got[len(got)-1].Kind != ChangeIdle {
		got = append(got, <-changes)
	}
	kinds := func(loop string) (out []ChangeKind) {
		for _, c := range got {
			if c.Loop == loop {
				out = append(out, c.Kind)
			}
		}
		return out
	}
	// One change may be on its way to the reader; those behind it are merged.
	if m := kinds("main"); m[0] != ChangeOpened || m[len(m)-1] != ChangeIdle || len(m) > 3 {
		t.Fatalf("main %v", m)
	}
	if s := kinds("second"); !slices.Equal(s, []ChangeKind{ChangeOpened, ChangeIdle}) {
		t.Fatalf("second %v", s)
	}
	w.shut()
	for range changes {
	}
	if _, open := <-w.LoopChanges(t.Context()); open {
		t.Fatal("a closed session has changes")
	}
}

func TestLoopsAreIndependent(t *testing.T) {
	t.Parallel()
	b := newBlocking()
	m := scripted.New(scripted.Config{ByLoop: map[string][]scripted.Reply{
		"a": {uses("mcp__demo__slow"), {Say: "a done"}}, "b": {{Say: "b done"}},
	}})
	w := open(t, Options{Policy: allowAll(), Limits: Limits{Loops: 2}, Loops: []LoopConfig{{Name: "a", Model: m}, {Name: "b", Model: m}}}, nil)
	w.must(w.ReplaceExternalTools(w.ctx(), "a", "mcp", 1, []tool.Definition{define("demo", "slow", b)}))
	first := w.submit(Input{Text: "x"})
	<-b.started
	tk, err := w.SubmitTo(w.ctx(), "b", Input{Text: "y", Origin: person})
	w.must(err)
	if r := w.await(tk); r.Text != "b done" {
		t.Fatalf("b %+v", r)
	}
	w.must(w.WaitIdle(w.ctx(), "b"))
	ctx, cancel := context.WithCancel(w.ctx())
	cancel()
	if err := w.WaitIdle(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("a is idle: %v", err)
	}
	close(b.release)
	if r := w.await(first); r.Text != "a done" {
		t.Fatalf("a %+v", r)
	}
	w.must(w.WaitIdle(w.ctx()))
	var limit *LimitError
	if _, err := w.AddLoop(w.ctx(), LoopConfig{Name: "c", Model: m}); !errors.As(err, &limit) {
		t.Fatalf("third loop: %v", err)
	}
	if left := m.Unused(); len(left) != 0 {
		t.Fatalf("unused %v", left)
	}
}
