package mcpadapter

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
)

// adopting starts a rig with a binding and an adopter that follows loop main.
func adopting(t *testing.T, r *rig, tools ...string) *Adopter {
	r.must(r.start(nil, r.server("d", tools...)))
	r.must(r.m.Wait(t.Context(), "d"))
	a, err := r.m.StartAdoption(r, r)
	r.must(err)
	r.must(a.Install(t.Context(), "main", "main"))
	time.Sleep(2 * time.Second)
	return a
}

// evolve changes the tools of d and waits for the refresh.
func (r *rig) evolve(tools ...string) {
	r.servers["d"].Tools(tools...)
	r.servers["d"].Last().Options.Handlers.ListChanged(protocol.Tools, true)
	time.Sleep(2 * time.Second)
}

func TestAdoption(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		a := adopting(t, r, "x")
		if got := r.names("main"); !slices.Equal(got, []string{"mcp__d__x"}) {
			t.Fatalf("first toolset: %v", got)
		}
		r.evolve("x", "y")
		if got := r.names("main"); len(got) != 2 {
			t.Errorf("an idle loop has %v", got)
		}
		if b := r.status("d"); b.Generation != 2 || b.Candidate != 0 {
			t.Errorf("status: generation %d, candidate %d", b.Generation, b.Candidate)
		}
		adopted := of[*event.CatalogAdopted](r)
		if len(adopted) != 2 || adopted[0].From != 0 || adopted[1].From != 1 || adopted[1].Generation != 2 ||
			adopted[1].Loop != "main" || !slices.Equal(adopted[1].Added, []string{"tools/y"}) {
			t.Errorf("adopted: %+v", adopted)
		}
		r.watch("main", "main", LoopRunning)
		r.evolve("x", "y", "z")
		if n := len(of[*event.CatalogAdopted](r)); n != 2 {
			t.Errorf("%d adoptions are told of while the turn runs", n)
		}
		r.watch("main", "main", LoopIdle)
		synctest.Wait()
		if n := len(of[*event.CatalogAdopted](r)); n != 3 {
			t.Errorf("%d adoptions after the turn", n)
		}
		r.must(a.Close())
		r.must(a.Close())
		r.evolve("x")
		if got := r.names("main"); len(got) != 3 {
			t.Errorf("after the end of the adoption: %v", got)
		}
	})
}

func TestAnUnchangedToolsetIsNotInstalledAgain(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		adopting(t, r, "x")
		installs := r.installs
		r.servers["d"].Set(protocol.Prompts, `{"name":"p"}`)
		r.servers["d"].Last().Options.Handlers.ListChanged(protocol.Prompts, true)
		time.Sleep(2 * time.Second)
		r.watch("main", "main", LoopIdle)
		synctest.Wait()
		if r.installs != installs {
			t.Errorf("%d installations for a new prompt", r.installs-installs)
		}
		if b := r.status("d"); b.Generation != 2 {
			t.Errorf("the generation is still %d", b.Generation)
		}
		r.must(r.m.Reconfigure(t.Context(), ReplaceBinding{Name: "d", Binding: named([]Binding{r.bind("d")})[0]}))
		if r.installs == installs {
			t.Error("the tools of another run were taken for the same")
		}
		if res := r.toolsets["main"][0]; res.Handler.(*handler).rt != r.m.find("d").rt {
			t.Error("the loop has the tools of the old run")
		}
	})
}

func TestAdoptionFollowsReconfigurationsAndLoops(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		adopting(t, r, "x")
		r.watch("second", "second", LoopOpened)
		synctest.Wait()
		if got := r.names("second"); len(got) != 1 {
			t.Errorf("a loop that was opened has %v", got)
		}
		r.must(r.m.Reconfigure(t.Context(), DisableBinding{Name: "d"}))
		if len(r.names("main")) != 0 || len(r.names("second")) != 0 {
			t.Errorf("after disable: %v %v", r.names("main"), r.names("second"))
		}
		r.watch("second", "second", LoopClosed)
		r.must(r.m.Reconfigure(t.Context(), EnableBinding{Name: "d"}))
		if len(r.names("main")) != 1 || len(r.names("second")) != 0 {
			t.Errorf("after enable: %v %v", r.names("main"), r.names("second"))
		}
	})
}

func TestANameOfAnotherSlotWithholdsOneTool(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.refuse = &DuplicateModelNameError{
			Name: "mcp__d__x", Incumbent: tool.Identity{Source: "builtin", Name: "x"}, Newcomer: ToolIdentity{"d", "x"}.Neutral(),
		}
		adopting(t, r, "x", "y")
		if got := r.names("main"); !slices.Equal(got, []string{"mcp__d__y"}) {
			t.Errorf("tools: %v", got)
		}
		if !slices.Contains(r.codes(), "duplicate_model_name") {
			t.Errorf("notices: %v", r.codes())
		}
	})
}

func TestTheSameToolsOfAnotherRunAreAnotherToolset(t *testing.T) {
	t.Parallel()
	a, b := toolset{parts: []part{{rt: &runtime{id: 1}}}}, toolset{parts: []part{{rt: &runtime{id: 2}}}}
	if a.signature() == b.signature() {
		t.Error("a loop would keep the definitions of a run that has ended")
	}
}
