package session

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/form"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/journal/sqlite"
	"github.com/looprig/looprig/harness/ledger"
	"github.com/looprig/looprig/harness/model/scripted"
	"github.com/looprig/looprig/harness/policy"
	"github.com/looprig/looprig/harness/tool"
)

func grantStore(t *testing.T) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "grants.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// asked is a turn of one call that is asked about.
func (w *world) asked(r gate.Response) TurnResult {
	tk := w.submit(Input{Text: "use a"})
	w.answer(r)
	return w.await(tk)
}

func times(n int, names ...string) []scripted.Reply {
	var out []scripted.Reply
	for range n {
		out = append(out, uses(names...), scripted.Reply{Say: "ok"})
	}
	return out
}

func TestAlwaysGrantLastsUntilItIsRevoked(t *testing.T) {
	t.Parallel()
	store := grantStore(t)
	w := open(t, Options{Grants: store}, times(1, "mcp__demo__a"), define("demo", "a", &fake{}))
	w.asked(gate.Response{Action: gate.ActionAlways})
	given := of[*event.GrantChanged](t, w.store)
	if len(given) != 1 || given[0].Op != "given" || given[0].Scope != "always" || given[0].Tool != "mcp:demo:a" || given[0].By != "tester" {
		t.Fatalf("%+v", given)
	}
	if d := w.store.drafts(ledger.KindDecision); len(d) != 1 || d[0].Detail != "grant_given" || !strings.HasPrefix(d[0].Rule, "grant:always ") {
		t.Fatalf("%+v", d)
	}

	w = open(t, Options{Grants: store}, times(2, "mcp__demo__a"), define("demo", "a", &fake{}))
	d := w.say("in another session").Calls[0].Decision
	if d.Rule != policy.RuleGrantAlways || d.Grant != given[0].ID || d.Considered[len(d.Considered)-1] != "grant:always "+d.Grant {
		t.Fatalf("%+v", d)
	}
	if i := w.store.drafts(ledger.KindIntent)[0]; i.Rule != policy.RuleGrantAlways || !slices.Contains(i.Considered, "grant:always "+d.Grant) {
		t.Fatalf("the ledger does not have the trace: %+v", i)
	}
	if err := w.RevokeGrant(w.ctx(), d.Grant, gate.Answerer{Kind: "model", ID: "x"}); !errors.Is(err, gate.ErrNotOperator) {
		t.Fatalf("a model revoked: %v", err)
	}
	w.must(w.RevokeGrant(w.ctx(), d.Grant, person))
	if err := w.RevokeGrant(w.ctx(), d.Grant, person); !errors.Is(err, policy.ErrNoGrant) {
		t.Fatal(err)
	}
	if r := w.asked(gate.Response{Action: gate.ActionDeny}); r.Calls[0].Outcome != tool.Denied {
		t.Fatalf("%+v", r)
	}
}

func TestGrantEndsWithOneCharacterAndDoesNotComeBack(t *testing.T) {
	t.Parallel()
	for _, scope := range []gate.Action{gate.ActionSession, gate.ActionAlways} {
		store := grantStore(t)
		was, is := define("demo", "a", &fake{}), define("demo", "a", &fake{}, func(d *tool.Definition) { d.Digest = "sha256:other" })
		w := open(t, Options{Grants: store}, times(4, "mcp__demo__a"), was)
		w.asked(gate.Response{Action: scope})
		if r := w.say("granted"); r.Calls[0].Outcome != tool.OK {
			t.Fatalf("%s: %+v", scope, r.Calls)
		}
		w.must(w.ReplaceExternalTools(w.ctx(), "main", "mcp", 2, []tool.Definition{is}))
		w.asked(gate.Response{Action: gate.ActionDeny})
		gates := of[*event.GateOpened](t, w.store)
		if p := gates[len(gates)-1].Prompt; len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "its definition has changed") {
			t.Fatalf("%s: the question does not say why: %+v", scope, p)
		}
		changes, notices := of[*event.GrantChanged](t, w.store), of[*event.Notice](t, w.store)
		if len(changes) != 2 || changes[1].Op != "lapsed" || len(notices) != 1 || notices[0].Code != CodeGrantLapsed || notices[0].Binding != "demo" {
			t.Fatalf("%s: %+v %+v", scope, changes, notices)
		}
		w.must(w.ReplaceExternalTools(w.ctx(), "main", "mcp", 3, []tool.Definition{was}))
		if r := w.asked(gate.Response{Action: gate.ActionDeny}); r.Calls[0].Outcome != tool.Denied {
			t.Fatalf("%s: a dead grant came back: %+v", scope, r.Calls)
		}
		if all, err := w.Grants(w.ctx()); err != nil || len(all) != 0 {
			t.Fatalf("%s: %+v %v", scope, all, err)
		}
	}
}

// Two versions of a server that are used in turn leave each other's grants alone:
// each grant is for the definition that it was given for, and ends when the very
// version that it was given for defines the tool otherwise.
func TestVersionsOfAServerKeepTheirGrants(t *testing.T) {
	t.Parallel()
	for _, scope := range []gate.Action{gate.ActionSession, gate.ActionAlways} {
		version := func(pin, digest string) tool.Definition {
			return define("demo", "a", &fake{}, func(d *tool.Definition) { d.Pin, d.Digest = pin, digest })
		}
		one, two, changed := version("sha256:p1", "sha256:d1"), version("sha256:p2", "sha256:d2"), version("sha256:p2", "sha256:d3")
		w := open(t, Options{Grants: grantStore(t)}, times(9, "mcp__demo__a"), one)
		generation := uint64(1)
		use := func(d tool.Definition) {
			generation++
			w.must(w.ReplaceExternalTools(w.ctx(), "main", "mcp", generation, []tool.Definition{d}))
		}
		w.asked(gate.Response{Action: scope})
		use(two)
		w.asked(gate.Response{Action: scope})
		gates := of[*event.GateOpened](t, w.store)
		if p := gates[1].Prompt; len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "another version of its server") {
			t.Fatalf("%s: the question does not say why: %+v", scope, p)
		}
		for _, d := range []tool.Definition{one, two, one} {
			use(d)
			if r := w.say("in turn"); r.Calls[0].Outcome != tool.OK || r.Calls[0].Decision.Grant == "" {
				t.Fatalf("%s: %+v", scope, r.Calls)
			}
		}
		use(changed)
		w.asked(gate.Response{Action: gate.ActionDeny})
		use(two)
		if r := w.asked(gate.Response{Action: gate.ActionDeny}); r.Calls[0].Outcome != tool.Denied {
			t.Fatalf("%s: a dead grant came back: %+v", scope, r.Calls)
		}
		use(one)
		if r := w.say("the other"); r.Calls[0].Outcome != tool.OK {
			t.Fatalf("%s: %+v", scope, r.Calls)
		}
		all, err := w.Grants(w.ctx())
		if err != nil || len(all) != 1 || all[0].Pin != "sha256:p1" {
			t.Fatalf("%s: %+v %v", scope, all, err)
		}
	}
}

// asking goes on with a session that has no rules.
func asking(m *memoryStore) Options {
	o := restoreOptions(m.cut(len(m.records)), &teller{})
	o.Policy = nil
	return o
}

func TestSessionGrantSurvivesResume(t *testing.T) {
	t.Parallel()
	w := open(t, Options{}, times(2, "mcp__demo__a"), define("demo", "a", &fake{}))
	w.asked(gate.Response{Action: gate.ActionSession, When: `.x == null`})
	id := w.ID()
	w.shut()
	for name, revoke := range map[string]bool{"kept": false, "revoked": true} {
		again := restored(t, asking(w.store), id, define("demo", "a", &fake{}))
		all, err := again.Grants(again.ctx())
		if err != nil || len(all) != 1 || all[0].When != ".x == null" || all[0].Created.IsZero() {
			t.Fatalf("%s: %+v %v", name, all, err)
		}
		if revoke {
			again.must(again.RevokeGrant(again.ctx(), all[0].ID, person))
			if past, err := ReadPast(again.ctx(), again.o.Store, id); err != nil || len(past.Grants()) != 0 {
				t.Fatalf("a revoked grant is restored: %v", err)
			}
		}
		// The teller's arguments are not those that the grant is for.
		if r := again.asked(gate.Response{Action: gate.ActionOnce}); r.Calls[0].Decision.Gate == "" {
			t.Fatalf("%s: %+v", name, r.Calls)
		}
		again.shut()
	}
	whole := open(t, Options{}, times(1, "mcp__demo__a"), define("demo", "a", &fake{}))
	whole.asked(gate.Response{Action: gate.ActionSession})
	whole.shut()
	again := restored(t, asking(whole.store), whole.ID(), define("demo", "a", &fake{}))
	if r := again.say("use a"); r.Calls[0].Decision.Rule != policy.RuleGrant {
		t.Fatalf("%+v", r.Calls)
	}
}

func TestReadOnlyToolsOfAServerAreGrantedTogether(t *testing.T) {
	t.Parallel()
	yes := true
	read := func(d *tool.Definition) { d.Hints.ReadOnly, d.HintsTrusted = &yes, true }
	defs := []tool.Definition{
		define("demo", "a", &fake{}, read), define("demo", "b", &fake{}, read), define("demo", "w", &fake{}),
		define("other", "c", &fake{}, read), define("claims", "d", &fake{}, func(d *tool.Definition) { d.Hints.ReadOnly = &yes }),
	}
	w := open(t, Options{}, slices.Concat(times(1, "mcp__demo__a"), times(1, "mcp__demo__b"), times(1, "mcp__demo__w"), times(1, "mcp__claims__d")), defs...)
	w.asked(gate.Response{Action: gate.ActionSession, Cover: gate.CoverReadOnly})
	if c := of[*event.GateOpened](t, w.store)[0].Prompt.Calls[0]; !slices.Equal(c.ReadOnly, []string{"a", "b"}) {
		t.Fatalf("%+v", c)
	}
	if r := w.say("b"); r.Calls[0].Decision.Rule != policy.RuleGrant {
		t.Fatalf("%+v", r.Calls)
	}
	for range 2 { // the tool that writes, and the one whose word does not count
		tk := w.submit(Input{Text: "more"})
		env := w.gate()
		err := w.RespondGate(w.ctx(), env.ID, gate.Response{Action: gate.ActionSession, Cover: gate.CoverReadOnly, Answerer: person})
		var invalid *gate.InvalidAnswerError
		if !errors.As(err, &invalid) {
			t.Fatalf("granted what was not offered: %v", err)
		}
		w.answer(gate.Response{Action: gate.ActionDeny})
		w.await(tk)
	}
	all, err := w.Grants(w.ctx())
	if err != nil || len(all) != 2 || all[0].ID != all[1].ID {
		t.Fatalf("%+v %v", all, err)
	}
	w.must(w.RevokeGrant(w.ctx(), all[0].ID, person))
	if all, _ := w.Grants(w.ctx()); len(all) != 0 {
		t.Fatalf("%+v", all)
	}
}

func TestWhatCannotBeGrantedIsSaid(t *testing.T) {
	t.Parallel()
	w := open(t, Options{}, times(2, "mcp__demo__a"), define("demo", "a", &fake{}))
	for _, r := range []gate.Response{{Action: gate.ActionAlways}, {Action: gate.ActionSession, When: ".a ="}} {
		if got := w.asked(r); got.Calls[0].Outcome != tool.OK {
			t.Fatalf("%+v: %+v", r, got.Calls)
		}
	}
	n := of[*event.Notice](t, w.store)
	if len(n) != 2 || n[0].Code != CodeGrantFailed || n[1].Code != CodeGrantFailed || len(of[*event.GrantChanged](t, w.store)) != 0 {
		t.Fatalf("%+v", n)
	}
}

// Calls of one step are one question, and each gets its own answer.
func TestBatchWithAChoicePerCall(t *testing.T) {
	t.Parallel()
	store := grantStore(t)
	defs := []tool.Definition{define("demo", "a", &fake{}), define("demo", "b", &fake{}), define("demo", "c", &fake{}), define("demo", "d", &fake{})}
	names := []string{"mcp__demo__a", "mcp__demo__b", "mcp__demo__c", "mcp__demo__d"}
	w := open(t, Options{Grants: store}, times(2, names...), defs...)
	tk := w.submit(Input{Text: "go"})
	env := w.gate()
	if len(env.Prompt.Calls) != 4 {
		t.Fatalf("%+v", env)
	}
	choice := map[string]gate.Action{}
	for i, a := range []gate.Action{gate.ActionOnce, gate.ActionSession, gate.ActionAlways, gate.ActionDeny} {
		choice[env.Prompt.Calls[i].Call] = a
	}
	w.answer(gate.Response{Calls: choice, Terms: map[string]gate.Terms{
		env.Prompt.Calls[2].Call: {When: ".x == null"}, env.Prompt.Calls[3].Call: {Reason: "not d"},
	}})
	r := w.await(tk)
	given := of[*event.GrantChanged](t, w.store)
	if len(given) != 2 || given[0].When+given[1].When != ".x == null" {
		t.Fatalf("%+v", given)
	}
	if !slices.Equal(outcomes(r), []tool.Outcome{tool.OK, tool.OK, tool.OK, tool.Denied}) || !strings.Contains(r.Calls[3].Reason, "not d") {
		t.Fatalf("%+v", r.Calls)
	}
	tk = w.submit(Input{Text: "again"})
	if env = w.gate(); len(env.Prompt.Calls) != 2 || env.Prompt.Calls[0].Tool != "mcp:demo:a" || env.Prompt.Calls[1].Tool != "mcp:demo:d" {
		t.Fatalf("asked again about %+v", env.Prompt.Calls)
	}
	w.answer(gate.Response{Action: gate.ActionOnce})
	w.await(tk)
}

// Where nobody is, every kind of question is refused with the one reason.
func TestNoInteractiveGateForEveryKind(t *testing.T) {
	t.Parallel()
	kinds := map[gate.Kind]gate.Action{
		gate.KindPermission: gate.ActionDeny, gate.KindForm: gate.ActionDecline, gate.KindConfirm: gate.ActionDecline,
		gate.KindOpenURL: gate.ActionDecline, gate.KindUntrustedServer: gate.ActionRefuse, gate.KindSampling: gate.ActionDecline,
		gate.KindAskUser: gate.ActionDismiss,
	}
	w := open(t, Options{Answer: func(context.Context, gate.Envelope) (gate.Response, bool) { return gate.Response{}, false }}, nil)
	for kind, want := range kinds {
		r, err := w.OpenGate(w.ctx(), gate.Request{Kind: kind, Prompt: gate.Prompt{Title: "?", Body: "why?", Origin: gate.OriginHost, Schema: &form.Schema{}, Sampling: &gate.SamplingPrompt{Stage: gate.SamplingRequest}}})
		if err != nil || r.Close != gate.ReasonPolicy || r.Detail != string(gate.ReasonNoGate) || r.Action != want {
			t.Errorf("%s: %+v %v", kind, r, err)
		}
	}
	resolved := of[*event.GateResolved](t, w.store)
	if len(resolved) != len(kinds) {
		t.Fatalf("%d records", len(resolved))
	}
	for _, e := range resolved {
		if e.Reason != gate.ReasonPolicy || e.Detail != "no_interactive_gate" || e.Response.Answerer.Kind != "" {
			t.Errorf("%s: %+v", e.Kind, e)
		}
	}
}
