package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/ledger"
	"github.com/looprig/looprig/harness/model/scripted"
	"github.com/looprig/looprig/harness/policy"
	"github.com/looprig/looprig/harness/tool"
)

func yes() *bool { v := true; return &v }

func hinted(d *tool.Definition) { d.Hints.Destructive = yes() }

func trust(t tool.Trust) func(*tool.Definition) { return func(d *tool.Definition) { d.Trust = t } }

// The intent and tool.started are durable, in one append, when the handler
// gets the bytes; the outcome and tool.completed come in one append as well.
func TestIntentIsDurableBeforeTheCall(t *testing.T) {
	t.Parallel()
	store := &memoryStore{}
	var problems []string
	h := &fake{invoke: func(_ context.Context, c tool.Call, args json.RawMessage) tool.Result {
		store.mu.Lock()
		defer store.mu.Unlock()
		for _, b := range store.appends {
			for _, d := range b.Ledger {
				together := slices.ContainsFunc(b.Records, func(r journal.Record) bool { return r.Type == "tool.started" })
				if d.Kind == ledger.KindIntent && d.Call == c.ID && d.ArgsDigest == digest(args) && together {
					return okResult("ok")
				}
			}
		}
		problems = append(problems, c.ID)
		return okResult("no intent")
	}}
	w := open(t, Options{Store: store, Policy: allowAll()}, []scripted.Reply{uses("mcp__demo__a", "mcp__demo__a"), {Say: "x"}}, define("demo", "a", h))
	w.say("go")
	w.call("demo a", `{}`)
	w.shut()
	if len(problems) > 0 || h.calls.Load() != 3 {
		t.Fatalf("calls without an intent: %v of %d", problems, h.calls.Load())
	}
	for _, b := range store.appends {
		completed := 0
		for _, r := range b.Records {
			if r.Type == "tool.completed" {
				completed++
			}
		}
		outcomes := 0
		for _, d := range b.Ledger {
			if d.Kind == ledger.KindOutcome {
				outcomes++
			}
		}
		if completed != outcomes {
			t.Fatalf("an append has %d tool.completed and %d outcomes", completed, outcomes)
		}
	}
	intent := store.drafts(ledger.KindIntent)[0]
	if intent.Rule != "allow[0]" || intent.Source != "model" || intent.ToolDigest == "" || intent.Pin == "" || intent.Session != w.ID() {
		t.Fatalf("intent %+v", intent)
	}
	if last := store.drafts(ledger.KindIntent)[2]; last.Source != "person" || last.Rule != policy.RuleOperator {
		t.Fatalf("operator's intent %+v", last)
	}
}

func TestJournalFailureLatches(t *testing.T) {
	t.Parallel()
	store := &memoryStore{}
	h := &fake{}
	w := open(t, Options{Store: store, Policy: allowAll()}, nil, define("demo", "a", h))
	sub, err := w.Subscribe(Filter{FromSeq: 1})
	w.must(err)
	broken := errors.New("disk full")
	store.setFail(func(b journal.Batch) error {
		if len(b.Ledger) > 0 {
			return broken
		}
		return nil
	})
	r := w.call("demo.a", `{}`)
	if r.Outcome != TurnFailed || r.Code != CodeJournalFailed || h.calls.Load() != 0 {
		t.Fatalf("result %+v, %d calls", r, h.calls.Load())
	}
	store.setFail(nil)
	if _, err := w.Submit(w.ctx(), Input{Text: "x", Origin: person}); !errors.Is(err, broken) {
		t.Fatalf("submit after the failure: %v", err)
	}
	if !errors.Is(w.Err(), broken) {
		t.Fatalf("Err %v", w.Err())
	}
	var loss *LossError
	for {
		if _, err = sub.Next(w.ctx()); err != nil {
			break
		}
	}
	if !errors.As(err, &loss) || !errors.Is(err, broken) || loss.From != uint64(len(store.all()))+1 {
		t.Fatalf("subscription: %v", err)
	}
}

func TestRefusalsLeaveADecision(t *testing.T) {
	t.Parallel()
	bad := &fake{prepare: func(json.RawMessage) (json.RawMessage, error) {
		return nil, &tool.ArgumentError{Tool: "x", Problems: []tool.ArgumentProblem{{Pointer: "/a", Message: "missing"}}}
	}}
	stale := &fake{check: func() *tool.Refusal {
		return &tool.Refusal{Outcome: tool.SchemaChanged, Reason: "the definition changed"}
	}}
	panics := &fake{prepare: func(json.RawMessage) (json.RawMessage, error) { panic("x") }}
	n := 0
	swapped := &fake{args: func(a json.RawMessage) json.RawMessage {
		if n++; n > 1 {
			return json.RawMessage(`{"evil":true}`)
		}
		return a
	}}
	w := open(t, Options{Policy: rules(policy.Config{Deny: []policy.Rule{{Pattern: "mcp:demo:forbidden"}}})}, nil,
		define("demo", "bad", bad), define("demo", "stale", stale), define("demo", "panics", panics),
		define("demo", "swapped", swapped), define("demo", "forbidden", &fake{}), define("demo", "pending", &fake{}, trust(tool.TrustPending)))
	want := map[string]tool.Outcome{
		"bad": tool.InvalidArguments, "stale": tool.SchemaChanged, "panics": tool.Failed,
		"swapped": tool.Failed, "forbidden": tool.Denied, "pending": tool.Denied,
	}
	for name, outcome := range want {
		r := w.call("demo "+name, `{}`)
		if r.Outcome != TurnCompleted || r.Calls[0].Outcome != outcome || r.Calls[0].Sent || r.Calls[0].Reason == "" {
			t.Errorf("%s: %+v", name, r.Calls)
		}
	}
	for _, h := range []*fake{bad, stale, panics, swapped} {
		if h.calls.Load() != 0 {
			t.Error("a refused call was sent")
		}
	}
	if d := w.store.drafts(ledger.KindDecision); len(d) != len(want) {
		t.Errorf("%d decisions, want %d", len(d), len(want))
	}
	if d := w.store.drafts(ledger.KindIntent); len(d) != 0 {
		t.Errorf("intents of refused calls %+v", d)
	}
	for _, e := range of[*event.ToolCompleted](t, w.store) {
		if e.Decision == nil {
			t.Errorf("no decision in %+v", e)
		}
	}
	if c := w.Coverage(); c != (event.Coverage{Calls: 6, Gated: 3, Ledgered: 6, Outcomes: 6}) {
		t.Errorf("coverage %+v", c)
	}
}

func TestPanickingInvokeIsIndeterminate(t *testing.T) {
	t.Parallel()
	h := &fake{invoke: func(context.Context, tool.Call, json.RawMessage) tool.Result { panic("boom") }}
	odd := &fake{invoke: func(context.Context, tool.Call, json.RawMessage) tool.Result {
		return tool.Result{Outcome: tool.OK, Structured: json.RawMessage("{"), Content: []content.Block{{Kind: content.KindUnknown, JSON: json.RawMessage("nope")}}}
	}}
	w := open(t, Options{}, nil, define("demo", "a", h), define("demo", "odd", odd))
	if r := w.call("a", ""); r.Calls[0].Outcome != tool.Indeterminate || !r.Calls[0].Sent {
		t.Fatalf("%+v", r.Calls)
	}
	if r := w.call("odd", ""); r.Calls[0].StructuredInvalid == "" || r.Calls[0].Structured != nil || r.Calls[0].Content[0].Text != "nope" {
		t.Fatalf("%+v", r.Calls)
	}
	w.must(w.Err())
}

func TestPermissionOnceSessionDeny(t *testing.T) {
	t.Parallel()
	h := &fake{}
	replies := []scripted.Reply{}
	for range 4 {
		replies = append(replies, uses("mcp__demo__a"), scripted.Reply{Say: "ok"})
	}
	w := open(t, Options{}, replies, define("demo", "a", h))
	run := func(r gate.Response) TurnResult {
		tk := w.submit(Input{Text: "go"})
		w.answer(r)
		return w.await(tk)
	}
	r := run(gate.Response{Action: gate.ActionDeny, Reason: "not today"})
	if c := r.Calls[0]; c.Outcome != tool.Denied || !strings.Contains(c.Reason, "not today") || c.Decision.Gate != "g1" || *c.Decision.Answerer != person {
		t.Fatalf("deny: %+v", c)
	}
	if r := run(gate.Response{Action: gate.ActionOnce}); r.Calls[0].Outcome != tool.OK || r.Calls[0].Decision.Verdict != "allow" {
		t.Fatalf("once: %+v", r.Calls)
	}
	if r := run(gate.Response{Action: gate.ActionSession}); r.Calls[0].Outcome != tool.OK {
		t.Fatalf("session: %+v", r.Calls)
	}
	if r := w.say("again"); r.Calls[0].Decision.Rule != policy.RuleGrant || len(w.Gates()) != 0 {
		t.Fatalf("granted: %+v", r.Calls)
	}
	opened, resolved := of[*event.GateOpened](t, w.store), of[*event.GateResolved](t, w.store)
	if len(opened) != 3 || len(resolved) != 3 || resolved[0].Reason != gate.ReasonAnswered || resolved[0].Loop != "main" {
		t.Fatalf("gates %+v %+v", opened, resolved)
	}
	prompt := opened[0].Prompt.Calls[0]
	if prompt.Tool != "mcp:demo:a" || string(prompt.Args) != "{}" || prompt.ArgsDigest != digest([]byte("{}")) {
		t.Fatalf("prompt %+v", prompt)
	}
	if d := w.store.drafts(ledger.KindIntent)[0]; d.PromptDigest == "" || d.Gate != "g2" || d.Answerer != "tester" || d.AnswererKind != "person" {
		t.Fatalf("intent %+v", d)
	}
}

func TestGrantDiesWithTheDefinition(t *testing.T) {
	t.Parallel()
	w := open(t, Options{}, []scripted.Reply{uses("mcp__demo__a"), {Say: "1"}, uses("mcp__demo__a"), {Say: "2"}}, define("demo", "a", &fake{}))
	tk := w.submit(Input{Text: "go"})
	w.answer(gate.Response{Action: gate.ActionSession})
	w.await(tk)
	w.must(w.ReplaceExternalTools(w.ctx(), "main", "mcp", 2, []tool.Definition{define("demo", "a", &fake{}, func(d *tool.Definition) { d.Digest = "sha256:other" })}))
	tk = w.submit(Input{Text: "go"})
	w.answer(gate.Response{Action: gate.ActionDeny})
	if r := w.await(tk); r.Calls[0].Outcome != tool.Denied {
		t.Fatalf("%+v", r.Calls)
	}
}

func TestHeadlessRefusal(t *testing.T) {
	t.Parallel()
	w := open(t, Options{Answer: func(context.Context, gate.Envelope) (gate.Response, bool) { return gate.Response{}, false }},
		[]scripted.Reply{uses("mcp__demo__a"), {Say: "ok"}}, define("demo", "a", &fake{}))
	r := w.say("go")
	if c := r.Calls[0]; c.Outcome != tool.Denied || c.Decision.Reason != "no_interactive_gate" || c.Class != "no_interactive_gate" {
		t.Fatalf("%+v", c)
	}
	e := of[*event.GateResolved](t, w.store)[0]
	if e.Reason != gate.ReasonPolicy || e.Detail != "no_interactive_gate" || e.Response.Action != gate.ActionDeny {
		t.Fatalf("%+v", e)
	}
	if d := w.store.drafts(ledger.KindDecision)[0]; d.Detail != "no_interactive_gate" {
		t.Fatalf("%+v", d)
	}
	// An operator's call needs no gate when nobody is there, whatever its hints.
	w.must(w.ReplaceExternalTools(w.ctx(), "main", "mcp", 2, []tool.Definition{define("demo", "a", &fake{}, hinted)}))
	if r := w.call("demo a", ""); r.Calls[0].Outcome != tool.OK {
		t.Fatalf("%+v", r.Calls)
	}
}

func TestPersonIsAskedBeforeDestruction(t *testing.T) {
	t.Parallel()
	w := open(t, Options{Interactive: true}, nil, define("demo", "rm", &fake{}, hinted), define("demo", "new", &fake{}, trust(tool.TrustPending)))
	for _, name := range []string{"rm", "new"} {
		tk := w.submit(Input{Call: &CallInput{Tool: "demo " + name}})
		if g := w.gate(); !g.Prompt.Calls[0].Explicit || len(g.Prompt.Warnings) == 0 {
			t.Fatalf("%s: prompt %+v", name, g.Prompt)
		}
		w.answer(gate.Response{Action: gate.ActionOnce})
		if r := w.await(tk); r.Calls[0].Outcome != tool.OK {
			t.Fatalf("%s: %+v", name, r)
		}
	}
}

// A definition that changes while somebody is asked is noticed before the send.
func TestDefinitionChangesBehindTheGate(t *testing.T) {
	t.Parallel()
	var changed atomic.Bool
	h := &fake{check: func() *tool.Refusal {
		if changed.Load() {
			return &tool.Refusal{Outcome: tool.SchemaChanged, Reason: "the definition changed"}
		}
		return nil
	}}
	w := open(t, Options{}, []scripted.Reply{uses("mcp__demo__a"), {Say: "ok"}}, define("demo", "a", h))
	tk := w.submit(Input{Text: "go"})
	w.gate()
	changed.Store(true)
	w.answer(gate.Response{Action: gate.ActionOnce})
	if r := w.await(tk); r.Calls[0].Outcome != tool.SchemaChanged || h.calls.Load() != 0 {
		t.Fatalf("%+v", r.Calls)
	}
	if d := w.store.drafts(ledger.KindDecision); len(d) != 1 || d[0].Answerer != "tester" || len(w.store.drafts(ledger.KindIntent)) != 0 {
		t.Fatalf("%+v", d)
	}
}

func TestInterruptWithdrawsTheGate(t *testing.T) {
	t.Parallel()
	w := open(t, Options{}, []scripted.Reply{uses("mcp__demo__a")}, define("demo", "a", &fake{}))
	tk := w.submit(Input{Text: "go"})
	id := w.gate().ID
	w.must(w.Interrupt(w.ctx(), "main", person))
	if r := w.await(tk); r.Outcome != TurnInterrupted || r.Calls[0].Outcome != tool.Cancelled {
		t.Fatalf("%+v", r)
	}
	if err := w.RespondGate(w.ctx(), id, gate.Response{Action: gate.ActionOnce, Answerer: person}); !errors.Is(err, gate.ErrGateClosed) {
		t.Fatalf("late answer: %v", err)
	}
	if e := of[*event.GateResolved](t, w.store)[0]; e.Reason != gate.ReasonWithdrawn {
		t.Fatalf("%+v", e)
	}
}

func TestCloseWithAnOpenGate(t *testing.T) {
	t.Parallel()
	w := open(t, Options{}, []scripted.Reply{uses("mcp__demo__a"), {Say: "never"}}, define("demo", "a", &fake{}))
	tk := w.submit(Input{Text: "go"})
	w.gate()
	w.shut()
	if r := w.await(tk); r.Outcome != TurnInterrupted || w.model.Unused()[""] != 1 {
		t.Fatalf("%+v, %v replies left", r, w.model.Unused())
	}
	if e := of[*event.GateResolved](t, w.store)[0]; e.Reason != gate.ReasonSessionClosed {
		t.Fatalf("%+v", e)
	}
}

// Calls of one step that need permission share a gate; each gets its own choice,
// allowed ones do not wait, and results keep the order of the calls.
func TestBatchGate(t *testing.T) {
	t.Parallel()
	ran := make(chan string, 4)
	h := &fake{invoke: func(_ context.Context, c tool.Call, _ json.RawMessage) tool.Result {
		ran <- c.ID
		return okResult(c.ID)
	}}
	w := open(t, Options{Policy: rules(policy.Config{Allow: []policy.Rule{{Pattern: "mcp:demo:free"}}})},
		[]scripted.Reply{uses("mcp__demo__a", "mcp__demo__free", "mcp__demo__b"), {Say: "ok"}},
		define("demo", "a", h), define("demo", "b", h), define("demo", "free", h))
	tk := w.submit(Input{Text: "go"})
	g := w.gate()
	if len(g.Prompt.Calls) != 2 || len(w.Gates()) != 1 || g.Subject.Call != "" {
		t.Fatalf("gate %+v", g)
	}
	if id := <-ran; id != "c2" {
		t.Fatalf("%s ran before the permission", id)
	}
	w.answer(gate.Response{Action: gate.ActionOnce, Calls: map[string]gate.Action{"c1": gate.ActionDeny}})
	r := w.await(tk)
	if !slices.Equal(outcomes(r), []tool.Outcome{tool.Denied, tool.OK, tool.OK}) || r.Calls[2].Text() != "c3" {
		t.Fatalf("result %+v", r.Calls)
	}
}

func TestParallelAndSerialCalls(t *testing.T) {
	t.Parallel()
	const n = 20
	var mu sync.Mutex
	running, most := map[string]int{}, map[string]int{}
	var order []string
	handler := func(key string) *fake {
		return &fake{invoke: func(_ context.Context, c tool.Call, _ json.RawMessage) tool.Result {
			mu.Lock()
			running[key]++
			most[key] = max(most[key], running[key])
			if key == "serial" {
				order = append(order, c.ID)
			}
			full := most[key] >= 4
			mu.Unlock()
			for end := 0; key == "parallel" && !full && end < 1000; end++ {
				mu.Lock()
				full = most[key] >= 4
				mu.Unlock()
			}
			mu.Lock()
			running[key]--
			mu.Unlock()
			return okResult(c.ID)
		}}
	}
	var names []string
	for i := range n {
		names = append(names, []string{"mcp__p__x", "mcp__s__x"}[i%2])
	}
	w := open(t, Options{Policy: allowAll(), Limits: Limits{ParallelCalls: 4}}, []scripted.Reply{uses(names...), {Say: "ok"}},
		define("p", "x", handler("parallel")), define("s", "x", handler("serial"), serial))
	r := w.say("go")
	for i, c := range r.Calls {
		if c.ID != fmt.Sprintf("c%d", i+1) || c.Text() != c.ID {
			t.Fatalf("result %d is %s %q", i, c.ID, c.Text())
		}
	}
	if most["serial"] != 1 || most["parallel"] > 4 {
		t.Fatalf("at once: %v", most)
	}
	if !slices.IsSortedFunc(order, func(a, b string) int { return len(a)*100 - len(b)*100 + strings.Compare(a, b) }) {
		t.Fatalf("serial calls ran as %v", order)
	}
}

func TestLargeContentIsStoredApart(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", DefaultInlineBytes+1)
	data := bytes.Repeat([]byte{7}, DefaultInlineBytes+1)
	h := &fake{invoke: func(context.Context, tool.Call, json.RawMessage) tool.Result {
		r := okResult(big)
		r.Content = append(r.Content, content.Block{Kind: content.KindImage, MIME: "image/png", Data: data}, content.Text("small"))
		return r
	}}
	w := open(t, Options{}, nil, define("demo", "a", h))
	r := w.call("demo a", "")
	if r.Text != big+"\nsmall" {
		t.Fatal("the caller lost the content")
	}
	blocks := of[*event.ToolCompleted](t, w.store)[0].Content
	if blocks[0].Text != "" || blocks[0].Blob != digest([]byte(big)) || blocks[0].Bytes != int64(len(big)) || blocks[2].Text != "small" {
		t.Fatalf("blocks %+v", blocks)
	}
	if blocks[1].Data != nil || blocks[1].MIME != "image/png" {
		t.Fatalf("image %+v", blocks[1])
	}
	for _, b := range blocks[:2] {
		if blob, err := w.store.Blob(w.ctx(), b.Blob); err != nil || int64(len(blob.Body)) != b.Bytes || blob.MIME == "" {
			t.Fatalf("blob %v %v", blob.MIME, err)
		}
	}
}
