package mcpadapter

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

func never(ctx context.Context, _ int, _ protocol.Options) error {
	<-ctx.Done()
	return &protocol.Error{Class: protocol.ClassCancelled, Op: "connect", Message: "given up"}
}

func broken(context.Context, int, protocol.Options) error {
	return &protocol.Error{
		Class: protocol.ClassLost, Op: "connect", Message: "process exited (exit code 3)",
		Diagnostics: &wire.Diagnostics{Exited: true, StderrTail: []string{"config \x1b[31mmissing"}},
	}
}

func TestOptionalBindingsNeverBlockTheStart(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		hung, bad, good := r.server("hung"), r.server("bad"), r.server("good", "a")
		r.servers["hung"].OnConnect, r.servers["bad"].OnConnect = never, broken
		good.Required = true
		began := time.Now()
		r.must(r.start(nil, hung, bad, good))
		if d := time.Since(began); d != 0 {
			t.Errorf("the start took %s", d)
		}
		synctest.Wait()
		if s := r.status("hung").State; s != integration.StateStarting {
			t.Errorf("hung is %s", s)
		}
		if b := r.status("bad"); b.State != integration.StateFailed || b.NextTry == nil || b.Class != "lost" {
			t.Errorf("bad: %+v", b)
		}
		if b := r.status("good"); b.State != integration.StateReady || b.Generation != 1 || b.Tools != 1 {
			t.Errorf("good: %+v", b)
		}
		if err := r.m.Start(t.Context()); !errors.Is(err, ErrAlreadyStarted) {
			t.Errorf("second start: %v", err)
		}
	})
}

func TestARequiredFailureClosesEverythingAgain(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		good, bad, worse := r.server("good", "a"), r.server("bad"), r.server("worse")
		r.servers["bad"].OnConnect, r.servers["worse"].OnConnect = broken, never
		bad.Required, worse.Required = true, true
		fault := Binding{Name: "typo", Required: true, Fault: &Fault{Position: "mcp.json:3:7", Text: "unknown key"}}
		err := r.start(nil, good, bad, worse, fault)
		var startup *StartupError
		if !errors.As(err, &startup) || len(startup.Failures) != 3 {
			t.Fatalf("got %v", err)
		}
		got := map[string]Class{}
		for _, f := range startup.Failures {
			got[f.Binding] = f.Class
		}
		want := map[string]Class{"bad": protocol.ClassLost, "worse": protocol.ClassTimeout, "typo": protocol.ClassConfig}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("classes %v, want %v", got, want)
		}
		if !strings.Contains(err.Error(), "config") || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("text: %q", err)
		}
		var failure BindingFailure
		var pe *protocol.Error
		if !errors.As(err, &failure) || !errors.As(err, &pe) {
			t.Error("the failures cannot be found in the error")
		}
		if r.servers["good"].Open() != 0 {
			t.Error("a binding that had started is open")
		}
		if err := r.m.Reconfigure(t.Context(), DisableBinding{Name: "good"}); !errors.Is(err, ErrManagerClosed) {
			t.Errorf("afterwards: %v", err)
		}
	})
}

func TestNothingStartsBeforeItIsTrusted(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		answers := make(chan Decision)
		trust := func(ctx context.Context, req TrustRequest) Decision {
			req.Waiting()
			select {
			case d := <-answers:
				return d
			case <-ctx.Done():
				return Decision{}
			}
		}
		ci, demo := r.server("ci", "a"), r.server("demo", "b")
		demo.Server.Builtin = true
		r.must(r.start(func(d *Deps) { d.Trust = trust }, ci, demo))
		synctest.Wait()
		if b := r.status("ci"); b.State != integration.StateUntrusted || r.servers["ci"].Connects() != 0 {
			t.Errorf("ci: %s, %d connects", b.State, r.servers["ci"].Connects())
		}
		if b := r.status("demo"); b.State != integration.StateReady || b.Trust != "builtin" || b.Kind != "builtin" {
			t.Errorf("demo: %+v", b)
		}
		answers <- Decision{Kind: Pending, Reason: "nobody accepted its launch"}
		synctest.Wait()
		if b := r.status("ci"); b.State != integration.StateUntrusted || b.Reason != "nobody accepted its launch" || r.servers["ci"].Connects() != 0 {
			t.Errorf("ci: %+v", b)
		}
		var f BindingFailure
		if err := r.m.Wait(t.Context(), "ci"); !errors.As(err, &f) || f.Class != protocol.ClassUntrusted {
			t.Errorf("Wait: %v", err)
		}
		go func() { answers <- Decision{Kind: Accepted, Fingerprint: "sha256:f"} }()
		r.must(r.m.Reconnect(t.Context(), "ci"))
		d := r.def("mcp__ci__a")
		if d.Trust != tool.TrustAccepted || d.Pin != "sha256:f" || r.def("mcp__demo__b").Trust != tool.TrustBuiltin {
			t.Errorf("definition: %+v", d)
		}
		if id, ok := InvokeIdentity(d); !ok || id.Pin != "sha256:f" || id.String() != "mcp:ci:a@"+d.Digest {
			t.Errorf("identity: %v", id)
		}
		synctest.Wait()
		if got := r.path("ci"); !slices.Equal(got[:2], []string{"untrusted", "untrusted"}) || got[len(got)-1] != "ready" {
			t.Errorf("states: %v", got)
		}
	})
}

func TestAChangedLaunchIsAnIntegrityFailure(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		ci := r.server("ci", "a")
		ci.Required = true
		trust := func(context.Context, TrustRequest) Decision {
			return Decision{Kind: Refused, Changed: true, Reason: "it changed"}
		}
		var startup *StartupError
		if err := r.start(func(d *Deps) { d.Trust = trust }, ci); !errors.As(err, &startup) || startup.Failures[0].Class != protocol.ClassIntegrity {
			t.Fatalf("got %v", err)
		}
		if r.servers["ci"].Connects() != 0 {
			t.Error("it was started")
		}
	})
}

func TestEventsWaitForTheSession(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.must(r.start(func(d *Deps) { d.SessionID = "" }, r.server("docs", "a")))
		r.must(r.m.Wait(t.Context(), "docs"))
		synctest.Wait()
		if n := len(of[event.Event](r)); n != 0 {
			t.Fatalf("%d events before there is a session", n)
		}
		if _, err := r.m.StartAdoption(r, r); !errors.Is(err, ErrNotBound) {
			t.Errorf("adoption: %v", err)
		}
		r.must(r.m.BindSession("S"))
		synctest.Wait()
		if got := r.path("docs"); !slices.Equal(got, []string{"starting", "discovering", "ready"}) {
			t.Errorf("states: %v", got)
		}
		c := of[*event.CatalogCandidate](r)
		if len(c) != 1 || c[0].Generation != 1 || !slices.Equal(c[0].Added, []string{"tools/a"}) {
			t.Errorf("candidates: %+v", c)
		}
		if err := r.m.BindSession("T"); !errors.Is(err, ErrAlreadyBound) {
			t.Errorf("second: %v", err)
		}
	})
}

func TestHeldEventsAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.make(func(d *Deps) { d.SessionID = "" })
		for i := range 2000 {
			r.m.pump.event(&event.BindingChanged{Binding: fmt.Sprint(i)})
		}
		r.must(r.m.BindSession("S"))
		synctest.Wait()
		got := of[*event.BindingChanged](r)
		if len(got) != 1024 || got[0].Binding != "0" || got[1023].Binding != "1023" {
			t.Errorf("%d events", len(got))
		}
		if !slices.Contains(r.codes(), "events_lost") {
			t.Errorf("notices: %v", r.codes())
		}
	})
}

func TestConfigurationIsChecked(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		ok := r.server("ok")
		for name, list := range map[string][]Binding{
			"twice":      {ok, ok},
			"name":       {r.bind("Bad")},
			"reserved":   {r.bind("delegate")},
			"no loop":    {{Name: "x", Scope: ScopeLoop, Server: ok.Server}},
			"a loop":     {{Name: "x", Loop: "main", Server: ok.Server}},
			"transport":  {{Name: "x"}},
			"other name": {func() Binding { b := r.bind("x"); b.Server.Name = "y"; return b }()},
		} {
			var ce *ConfigError
			if m, err := NewManager(list, Deps{}); !errors.As(err, &ce) {
				t.Errorf("%s: %v", name, err)
				if m != nil {
					_ = m.Close(t.Context())
				}
			}
		}
	})
}

func TestReconfigureIsAllOrNothing(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.must(r.start(nil, r.server("a", "x"), r.server("b", "x")))
		r.must(r.m.Wait(t.Context(), "a"))
		digest := r.m.ConfigDigest()
		var unknown *UnknownBindingError
		err := r.m.Reconfigure(t.Context(), DisableBinding{Name: "a"}, RemoveBinding{Name: "b"}, EnableBinding{Name: "b"})
		if !errors.As(err, &unknown) || unknown.Name != "b" {
			t.Errorf("got %v", err)
		}
		var ce *ConfigError
		if err := r.m.Reconfigure(t.Context(), DisableBinding{Name: "a"}, AddBinding{Binding: r.bind("b")}); !errors.As(err, &ce) {
			t.Errorf("got %v", err)
		}
		if r.status("a").State != integration.StateReady || len(of[*event.BindingReconfigured](r)) != 0 || r.m.ConfigDigest() != digest {
			t.Error("something was applied")
		}
	})
}

func TestTheFiveOperations(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.must(r.start(nil, r.server("a", "x"), r.server("b", "y")))
		r.must(r.m.Wait(t.Context(), "a"))
		r.must(r.m.Wait(t.Context(), "b"))
		tools := func() string {
			var out []string
			for _, d := range r.m.SessionTools("main", "main") {
				out = append(out, d.Name)
			}
			return strings.Join(out, " ")
		}
		r.must(r.m.ReconfigureAs(t.Context(), Attribution{By: "ada", Saved: true}, DisableBinding{Name: "a"}))
		if r.status("a").State != integration.StateDisabled || r.status("a").Enabled || tools() != "mcp__b__y" || r.servers["a"].Open() != 0 {
			t.Errorf("disabled: %+v, tools %s", r.status("a"), tools())
		}
		r.must(r.m.Reconfigure(t.Context(), EnableBinding{Name: "a"}))
		if r.status("a").State != integration.StateReady || tools() != "mcp__a__x mcp__b__y" {
			t.Errorf("enabled: %s, tools %s", r.status("a").State, tools())
		}
		c := named([]Binding{r.server("c", "z")})[0]
		r.must(r.m.Reconfigure(t.Context(), AddBinding{Binding: c}))
		if tools() != "mcp__a__x mcp__b__y mcp__c__z" {
			t.Errorf("added: tools %s", tools())
		}
		other := c
		other.Name = ""
		r.must(r.m.Reconfigure(t.Context(), ReplaceBinding{Name: "b", Binding: other}))
		if a, b := r.status("a").Generation, r.status("b").Generation; a != 1 || b != 2 {
			t.Errorf("generations %d of an enabled and %d of a replaced binding", a, b)
		}
		if tools() != "mcp__a__x mcp__b__z mcp__c__z" || r.servers["b"].Open() != 0 {
			t.Errorf("replaced: tools %s", tools())
		}
		r.must(r.m.Reconfigure(t.Context(), RemoveBinding{Name: "a"}))
		if tools() != "mcp__b__z mcp__c__z" || len(r.m.Status()) != 2 || r.servers["a"].Open() != 0 {
			t.Errorf("removed: tools %s", tools())
		}
		synctest.Wait()
		var ops []string
		for _, e := range of[*event.BindingReconfigured](r) {
			ops = append(ops, e.Op+" "+e.Binding+" "+e.By)
		}
		if want := "disable a ada,enable a operator,add c operator,replace b operator,remove a operator"; strings.Join(ops, ",") != want {
			t.Errorf("events: %v", ops)
		}
		if got := r.path("a"); !slices.Equal(got[3:6], []string{"closing", "closed", "disabled"}) {
			t.Errorf("states: %v", got)
		}
		if err := r.m.Reconfigure(t.Context(), EnableBinding{Name: "a"}); err == nil {
			t.Error("a removed binding can be enabled")
		}
	})
}

func TestAWithdrawnBindingLetsRunningCallsFinish(t *testing.T) {
	for name, op := range map[string]func(*rig) Operation{
		"disable": func(*rig) Operation { return DisableBinding{Name: "a"} },
		"replace": func(r *rig) Operation {
			return ReplaceBinding{Name: "a", Binding: named([]Binding{r.bind("a")})[0]}
		},
		"remove": func(*rig) Operation { return RemoveBinding{Name: "a"} },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				r.must(r.start(nil, r.server("a", "quick", "slow")))
				r.must(r.m.Wait(t.Context(), "a"))
				r.servers["a"].OnCall = func(ctx context.Context, req protocol.CallRequest) (*protocol.Result, error) {
					if req.Name == "slow" {
						return hang(ctx, req)
					}
					time.Sleep(5 * time.Second)
					return &protocol.Result{}, nil
				}
				stale := r.prepare("mcp__a__quick", "{}")
				quick, slow := make(chan tool.Result, 1), make(chan tool.Result, 1)
				go func() { quick <- stale.Invoke(t.Context(), tool.Call{ID: "c1"}) }()
				p := r.prepare("mcp__a__slow", "{}")
				go func() { slow <- p.Invoke(t.Context(), tool.Call{ID: "c2"}) }()
				synctest.Wait()
				began := time.Now()
				r.must(r.m.Reconfigure(t.Context(), op(r)))
				if d := time.Since(began); d != 0 {
					t.Errorf("the change took %s", d)
				}
				if refusal := stale.Check(t.Context()); refusal == nil || refusal.Outcome != tool.Unavailable {
					t.Errorf("a stale definition: %v", refusal)
				}
				if res := stale.Invoke(t.Context(), tool.Call{ID: "c3"}); res.Outcome != tool.Unavailable || res.Sent {
					t.Errorf("a call of it: %+v", res)
				}
				if res := <-quick; res.Outcome != tool.OK || time.Since(began) != 5*time.Second {
					t.Errorf("quick: %+v", res)
				}
				if res := <-slow; res.Outcome != tool.Indeterminate || !res.Sent || time.Since(began) != retireTime {
					t.Errorf("slow: %+v after %s", res, time.Since(began))
				}
				if got := r.servers["a"].Calls(); len(got) != 2 {
					t.Errorf("calls: %v", got)
				}
			})
		})
	}
}

func TestReconfigurationsRaceWithDials(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var bindings []Binding
		for _, n := range []string{"a", "b", "c"} {
			b := r.server(n, "x")
			r.servers[n].OnConnect = func(ctx context.Context, _ int, _ protocol.Options) error {
				select {
				case <-time.After(rand.N(20 * time.Millisecond)):
				case <-ctx.Done():
					return &protocol.Error{Class: protocol.ClassCancelled, Op: "connect", Message: "given up"}
				}
				if rand.N(3) == 0 {
					return broken(ctx, 0, protocol.Options{})
				}
				return nil
			}
			bindings = append(bindings, b)
		}
		r.must(r.start(nil, bindings...))
		a, err := r.m.StartAdoption(r, r)
		r.must(err)
		r.must(a.Install(t.Context(), "main", "main"))
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				for i := range 25 {
					name := []string{"a", "b", "c"}[(w+i)%3]
					_ = r.m.Reconfigure(t.Context(), []Operation{
						DisableBinding{Name: name}, EnableBinding{Name: name},
						ReplaceBinding{Name: name, Binding: named([]Binding{r.bind(name)})[0]},
						RemoveBinding{Name: name}, AddBinding{Binding: named([]Binding{r.bind(name)})[0]},
					}[rand.N(5)])
					r.m.Status()
					r.m.SessionTools("main", "main")
				}
			}()
		}
		wg.Wait()
		time.Sleep(time.Minute)
		for _, b := range r.m.Status() {
			want := 0
			if b.State == integration.StateReady {
				want = 1
			}
			if n := r.servers[b.Name].Open(); n != want {
				t.Errorf("%s is %s and has %d sessions", b.Name, b.State, n)
			}
		}
	})
}

func TestCloseWhileEverythingHangs(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		hung := r.server("hung")
		r.servers["hung"].OnConnect = never
		r.must(r.start(nil, hung, r.server("ok", "x")))
		r.must(r.m.Wait(t.Context(), "ok"))
		r.servers["ok"].OnCall = hang
		out := make(chan tool.Result, 1)
		p := r.prepare("mcp__ok__x", "{}")
		go func() { out <- p.Invoke(t.Context(), tool.Call{ID: "c"}) }()
		adding := make(chan error, 1)
		more := r.server("more")
		r.servers["more"].OnConnect = never
		go func() { adding <- r.m.Reconfigure(t.Context(), AddBinding{Binding: named([]Binding{more})[0]}) }()
		synctest.Wait()
		began := time.Now()
		r.must(r.m.Close(t.Context()))
		if d := time.Since(began); d > time.Second {
			t.Errorf("closed after %s", d)
		}
		if res := <-out; res.Outcome != tool.Indeterminate {
			t.Errorf("the call: %+v", res)
		}
		if err := <-adding; !errors.Is(err, ErrManagerClosed) {
			t.Errorf("the reconfiguration: %v", err)
		}
		r.must(r.m.Close(t.Context()))
	})
}

func TestAWaitingStartHoldsUpNothingElse(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		must := r.server("must")
		must.Required = true
		trust := func(ctx context.Context, req TrustRequest) Decision {
			if req.Binding == "must" {
				<-ctx.Done() // a gate that nobody answers
			}
			return Decision{Kind: Accepted}
		}
		r.make(func(d *Deps) { d.Trust = trust }, must, r.server("ok", "x"))
		started := make(chan error, 1)
		go func() { started <- r.m.Start(t.Context()) }()
		synctest.Wait()
		r.must(r.m.Reconfigure(t.Context(), DisableBinding{Name: "ok"}))
		r.must(r.m.Reconfigure(t.Context(), DisableBinding{Name: "must"}))
		if err := <-started; err != nil {
			t.Errorf("a start without the binding: %v", err)
		}
		go func() { _ = r.m.Reconfigure(t.Context(), EnableBinding{Name: "must"}) }()
		synctest.Wait()
		began := time.Now()
		r.must(r.m.Close(t.Context()))
		if d := time.Since(began); d > time.Second {
			t.Errorf("closed after %s", d)
		}
	})
}

func TestCloseEndsAWaitingStart(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		must := r.server("must")
		must.Required = true
		r.servers["must"].OnConnect = never
		r.make(nil, must)
		started := make(chan error, 1)
		go func() { started <- r.m.Start(t.Context()) }()
		synctest.Wait()
		r.must(r.m.Close(t.Context()))
		if err := <-started; !errors.Is(err, ErrManagerClosed) {
			t.Errorf("Start: %v", err)
		}
	})
}

func TestScopesAndSelectors(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		all, byID, byName, own := r.server("shared", "t"), r.server("id", "t"), r.server("name", "t"), r.server("own", "t")
		byID.Visibility, byName.Visibility = Loops("l1"), Named("planner")
		own.Scope, own.Loop = ScopeLoop, "l1"
		r.must(r.start(nil, all, byID, byName, own))
		for _, n := range []string{"shared", "id", "name", "own"} {
			r.must(r.m.Wait(t.Context(), n))
		}
		names := func(defs []tool.Definition) string {
			var out []string
			for _, d := range defs {
				out = append(out, d.Identity.Binding)
			}
			return strings.Join(out, " ")
		}
		for _, tc := range []struct{ id, name, session, loop string }{
			{"l1", "main", "shared id", "own"}, {"l2", "planner", "shared name", ""}, {"l1#1", "delegate", "shared", ""},
		} {
			if got := names(r.m.SessionTools(tc.id, tc.name)); got != tc.session {
				t.Errorf("%s session tools: %s", tc.id, got)
			}
			if got := names(r.m.LoopTools(tc.id)); got != tc.loop {
				t.Errorf("%s loop tools: %s", tc.id, got)
			}
		}
		r.must(r.m.CloseLoop(t.Context(), "l1"))
		if r.servers["own"].Open() != 0 || len(r.m.Status()) != 3 {
			t.Error("the loop's own binding is still there")
		}
	})
}

func TestANameClashWithholdsTheNewcomer(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.must(r.start(nil, r.server("a", "x"), r.server("b", "x", "y")))
		r.must(r.m.Wait(t.Context(), "a"))
		r.must(r.m.Wait(t.Context(), "b"))
		r.m.SessionTools("main", "main")
		b := r.m.find("b").rt
		b.eager.list[0].Name = "mcp__a__x" // as only a collision of hashes could
		var got []string
		for range 3 {
			got = nil
			for _, d := range r.m.SessionTools("main", "main") {
				got = append(got, d.Identity.String())
			}
		}
		if !slices.Equal(got, []string{"mcp:a:x", "mcp:b:y"}) {
			t.Errorf("tools: %v", got)
		}
		synctest.Wait()
		var dup *DuplicateModelNameError
		if len(r.notices) != 1 || !errors.As(r.notices[0].Err, &dup) || dup.Newcomer.Binding != "b" {
			t.Errorf("notices: %+v", r.notices)
		}
	})
}
