package mcpadapter

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/tool"
)

// own makes a binding that belongs to one loop.
func (r *rig) own(name, loop string, tools ...string) Binding {
	b := r.server(name, tools...)
	b.Scope, b.Loop = ScopeLoop, loop
	return named([]Binding{b})[0]
}

// TestALoopsOwnBindingsLiveWithIt is what a delegate needs: tools before its
// first turn, and nothing left after its last.
func TestALoopsOwnBindingsLiveWithIt(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.must(r.start(nil, r.server("shared", "s")))
		a, err := r.m.StartAdoption(r, r)
		r.must(err)
		r.must(r.m.Reconfigure(t.Context(), AddBinding{r.own("one", "main#1", "x")}, AddBinding{r.own("two", "main#1", "y")}, AddBinding{r.own("other", "main#2", "z")}))
		r.must(a.Install(t.Context(), "main#1", "delegate"))
		if got := r.names("main#1"); !slices.Equal(got, []string{"mcp__shared__s", "mcp__one__x", "mcp__two__y"}) {
			t.Fatalf("the child's tools: %v", got)
		}
		r.must(r.m.CloseLoop(t.Context(), "main#1"))
		for _, name := range []string{"one", "two"} {
			if n := r.servers[name].Open(); n != 0 {
				t.Errorf("%d sessions of %s are open when CloseLoop has returned", n, name)
			}
		}
		if r.servers["other"].Open() != 1 || r.servers["shared"].Open() != 1 || len(r.m.Status()) != 2 {
			t.Error("bindings of other loops were touched")
		}
		if n := len(a.loops); n != 0 {
			t.Errorf("%d loops are followed still", n)
		}
		r.must(r.m.CloseLoop(t.Context(), "main#1")) // again
		r.must(r.m.CloseLoop(t.Context(), "nosuch"))
		synctest.Wait()
		var told []string
		for _, n := range r.notices {
			if n.Code == "loop_bindings_closed" {
				told = append(told, n.Text)
			}
		}
		if len(told) != 1 || !strings.Contains(told[0], "main#1") || !strings.Contains(told[0], "one, two") {
			t.Errorf("notices: %q", told)
		}
		var removed []string
		for _, e := range of[*event.BindingReconfigured](r) {
			if e.Op == "remove" {
				removed = append(removed, e.Binding+" "+e.Loop+" "+e.By)
			}
		}
		if !slices.Equal(removed, []string{"one main#1 loop closed", "two main#1 loop closed"}) {
			t.Errorf("events: %v", removed)
		}
		if p := r.path("one"); len(p) == 0 || p[len(p)-1] != "closed" {
			t.Errorf("states: %v", p)
		}
	})
}

// A call in flight of a loop that has ended is waited for by nobody.
func TestClosingALoopEndsItsCalls(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		b := r.own("one", "l1", "x")
		r.servers["one"].OnCall = hang
		r.must(r.start(nil, b))
		r.must(r.m.Wait(t.Context(), "one"))
		defs := r.m.LoopTools("l1")
		p, err := defs[0].Handler.Prepare(t.Context(), []byte(`{}`))
		r.must(err)
		got := make(chan tool.Outcome, 1)
		go func() {
			res := p.Invoke(context.Background(), tool.Call{ID: "c1"})
			got <- res.Outcome
		}()
		synctest.Wait()
		begin := time.Now()
		r.must(r.m.CloseLoop(t.Context(), "l1"))
		if took := time.Since(begin); took > time.Second {
			t.Errorf("closing took %s", took)
		}
		if out := <-got; out != tool.Indeterminate {
			t.Errorf("the call ended as %s", out)
		}
	})
}

// The waiting is bounded by its context; the closing goes on without it.
func TestClosingALoopGivesUpWaiting(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		b := r.own("one", "l1", "x")
		slow := make(chan struct{})
		r.servers["one"].OnClose = func() { <-slow }
		r.must(r.start(nil, b))
		r.must(r.m.Wait(t.Context(), "one"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.m.CloseLoop(ctx, "l1"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("CloseLoop: %v", err)
		}
		close(slow)
		r.must(r.m.CloseLoop(t.Context(), "l1")) // waits for what is still closing
		if n := r.servers["one"].Open(); n != 0 {
			t.Errorf("%d sessions are open", n)
		}
	})
}
