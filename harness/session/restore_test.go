package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/journal/sqlite"
	"github.com/looprig/looprig/harness/ledger"
	"github.com/looprig/looprig/harness/model"
	"github.com/looprig/looprig/harness/policy"
	"github.com/looprig/looprig/harness/tool"
)

// left is a memoryStore that a process has left: its lease is free.
type left struct{ *memoryStore }

func (l left) Acquire(_ context.Context, session, holder string, _ time.Duration) (journal.Lease, error) {
	return journal.Lease{Session: session, Holder: holder, Token: 2}, nil
}

// cut is the journal up to a record, as a process that is killed leaves it.
func (m *memoryStore) cut(n int) left {
	m.mu.Lock()
	defer m.mu.Unlock()
	return left{&memoryStore{records: append([]journal.Record(nil), m.records[:n]...), blobs: m.blobs}}
}

// teller is a model that does what it is told, and keeps what it was given.
type teller struct {
	mu   sync.Mutex
	seen []content.Message
}

func (*teller) Info() model.Info { return model.Info{Name: "teller"} }

func (m *teller) Stream(_ context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	m.mu.Lock()
	m.seen = unmarked(r.Messages)
	m.mu.Unlock()
	return func(yield func(model.Chunk, error) bool) {
		last := r.Messages[len(r.Messages)-1]
		if last.Role == content.RoleTool || !strings.HasPrefix(last.Blocks[0].Text, "use ") {
			_ = yield(model.Chunk{Kind: model.ChunkReasoning, Text: "well", State: &content.State{Origin: "x/y", Data: json.RawMessage(`{"sig":"<&>"}`)}}, nil) &&
				yield(model.Chunk{Kind: model.ChunkText, Text: "done <&> \u202e"}, nil)
			return
		}
		for _, name := range strings.Fields(last.Blocks[0].Text)[1:] {
			if !yield(model.Chunk{Kind: model.ChunkToolUse, ToolUse: &model.ToolUse{Name: "mcp__demo__" + name, Args: json.RawMessage(`{"x":"<a&b>"}`)}}, nil) {
				return
			}
		}
	}
}

// given is what the model was given last, as JSON.
func (m *teller) given(t *testing.T) string {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	return asText(t, m.seen)
}

func asText(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// richTools are tools that end in every way.
func richTools() []tool.Definition {
	big := &fake{invoke: func(context.Context, tool.Call, json.RawMessage) tool.Result {
		return okResult(strings.Repeat("ä", 100<<10))
	}}
	broken := &fake{invoke: func(context.Context, tool.Call, json.RawMessage) tool.Result { panic("x") }}
	sum := &fake{invoke: func(context.Context, tool.Call, json.RawMessage) tool.Result {
		return tool.Result{Outcome: tool.OK, Structured: json.RawMessage(`{"sum":"<5>"}`), Sent: true}
	}}
	return []tool.Definition{
		define("demo", "add", &fake{}), define("demo", "big", big), define("demo", "broken", broken), define("demo", "sum", sum),
		define("demo", "no", &fake{}), define("demo", "ask", &fake{}),
	}
}

func richPolicy() *policy.Policy {
	return rules(policy.Config{
		Deny: []policy.Rule{{Pattern: "mcp:demo:no"}}, Ask: []policy.Rule{{Pattern: "mcp:demo:ask"}}, Allow: []policy.Rule{{Pattern: "*"}},
	})
}

// rich is a session with turns of every kind, and the model that led it.
func rich(t *testing.T) (*world, *teller) {
	t.Helper()
	m := &teller{}
	w := open(t, Options{Policy: richPolicy(), Loops: []LoopConfig{{Name: "main", Model: m}, {Name: "other", Model: m}}, Limits: Limits{CallsPerTurn: 4}}, nil, richTools()...)
	w.say("hello <&>")
	w.say("use add big absent")
	w.say("use broken no sum")
	w.say("use add add add add add") // over the limit
	w.call("demo add", `{"n": 1}`)
	w.call("demo no", `{}`)
	w.call("demo big", `{}`)
	for _, action := range []gate.Action{gate.ActionOnce, gate.ActionDeny} {
		tk := w.submit(Input{Text: "use ask add ask"})
		queued := w.submit(Input{Text: "later"})
		w.answer(gate.Response{Action: action})
		w.await(tk)
		w.await(queued)
	}
	return w, m
}

func restoreOptions(store journal.Store, m model.Client) Options {
	return Options{
		Store: store, Policy: richPolicy(), App: "test", Mode: "headless",
		Loops: []LoopConfig{{Name: "main", Model: m}, {Name: "other", Model: m}}, Limits: Limits{CallsPerTurn: 4},
	}
}

func restored(t *testing.T, o Options, id string, defs ...tool.Definition) *world {
	t.Helper()
	w := &world{t: t}
	switch s := o.Store.(type) {
	case left:
		w.store = s.memoryStore
	default:
	}
	var err error
	if w.Session, err = Restore(t.Context(), o, id); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.shut() })
	if len(defs) > 0 {
		w.must(w.ReplaceExternalTools(t.Context(), "main", "mcp", 1, defs))
	}
	return w
}

// A restored model is given what the model would have been given.
func TestRestoreGivesTheSameHistory(t *testing.T) {
	t.Parallel()
	w, m := rich(t)
	w.shut()
	again := &teller{}
	r := restored(t, restoreOptions(left{w.store}, again), w.ID(), richTools()...)
	if got := of[*event.SessionRestored](t, w.store)[0]; got.Unfinished || got.Turns != 11 || len(got.Indeterminate) != 0 || got.Seq != r.FirstSeq() {
		t.Fatalf("%+v", got)
	}
	before, coverage := w.Session.loops[0].history, w.Coverage()
	if r.Coverage() != coverage {
		t.Errorf("coverage %+v, was %+v", r.Coverage(), coverage)
	}
	m.mu.Lock()
	m.seen = before
	m.mu.Unlock()
	want := strings.TrimSuffix(m.given(t), "]")
	turn := r.say("and now")
	if got := again.given(t); !strings.HasPrefix(got, want) {
		i := 0
		for i < len(want) && i < len(got) && got[i] == want[i] {
			i++
		}
		t.Errorf("differs at %d:\n%.300s\n%.300s", i, got[max(0, i-100):], want[max(0, i-100):])
	}
	if turn.Turn != "t12" {
		t.Errorf("turn %s", turn.Turn)
	}
}

// Every prefix of a journal is one that a session can go on from.
func TestRestoreOfEveryPrefix(t *testing.T) {
	t.Parallel()
	w, _ := rich(t)
	w.shut()
	total := len(w.store.all())
	for n := 1; n <= total; n++ {
		store := w.store.cut(n)
		m := &teller{}
		o := restoreOptions(store, m)
		o.Answer = func(context.Context, gate.Envelope) (gate.Response, bool) {
			return gate.Response{Action: gate.ActionOnce, Answerer: person}, true
		}
		r := restored(t, o, w.ID(), richTools()...)
		w.must(r.WaitIdle(w.ctx()))
		r.say("after the restart")
		m.mu.Lock()
		if bad := unpaired(m.seen); len(bad) > 0 {
			t.Errorf("prefix %d: %v", n, bad)
		}
		m.mu.Unlock()
		r.shut()
		checkJournal(t, n, store.memoryStore)
		if t.Failed() {
			return
		}
	}
}

// checkJournal holds a journal to what has to be true of it when nothing runs.
func checkJournal(t *testing.T, prefix int, m *memoryStore) {
	t.Helper()
	seen, started, done := map[string]bool{}, map[string]int{}, map[string]int{}
	turns, gates := map[string]int{}, map[string]int{}
	once := func(kind, id string) {
		if seen[kind+id] {
			t.Errorf("prefix %d: %s %s twice", prefix, kind, id)
		}
		seen[kind+id] = true
	}
	for i, e := range m.events(t) {
		if e.Head().Seq != uint64(i+1) {
			t.Errorf("prefix %d: record %d has seq %d", prefix, i, e.Head().Seq)
		}
		switch e := e.(type) {
		case *event.TurnStarted:
			once("turn", e.Turn)
			turns[e.Turn]++
		case *event.TurnCompleted, *event.TurnFailed, *event.TurnInterrupted:
			turns[e.Head().Turn]--
		case *event.ToolRequested:
			once("call", e.Call)
			done[e.Call]++
		case *event.ToolStarted:
			once("intent", e.Call)
			started[e.Call]++
		case *event.ToolCompleted:
			once("outcome", e.Call)
			done[e.Call]--
		case *event.GateOpened:
			once("gate", e.ID)
			gates[e.ID]++
		case *event.GateResolved:
			gates[e.Gate]--
		}
	}
	for what, counts := range map[string]map[string]int{"turn": turns, "call": done, "gate": gates} {
		for id, n := range counts {
			if n != 0 {
				t.Errorf("prefix %d: %s %s: %d", prefix, what, id, n)
			}
		}
	}
	intents, outcomes := 0, 0
	for _, d := range m.ledger { // of the part after the restart
		switch d.Kind {
		case ledger.KindIntent:
			intents++
		case ledger.KindOutcome:
			outcomes++
		default:
		}
	}
	if outcomes < intents || outcomes > intents+8 {
		t.Errorf("prefix %d: %d intents, %d outcomes", prefix, intents, outcomes)
	}
}

// With a snapshot and without one, a past is the same, wherever the snapshot is.
func TestSnapshotIsTheSamePast(t *testing.T) {
	t.Parallel()
	w, _ := rich(t)
	w.shut()
	ld := loader{store: w.store, limits: w.o.Limits}
	want, err := loader{store: w.store, limits: w.o.Limits, plain: true}.load(t.Context(), w.ID(), 0)
	w.must(err)
	for n := 1; n <= len(w.store.all()); n++ {
		at, err := loader{store: w.store, limits: w.o.Limits, plain: true}.load(t.Context(), w.ID(), uint64(n))
		w.must(err)
		body, err := ld.encode(at)
		w.must(err)
		w.must(w.store.SaveSnapshot(t.Context(), journal.Lease{}, journal.Snapshot{Seq: uint64(n), Version: snapshotVersion, Body: body}))
		if p := ld.snapshot(t.Context(), w.ID(), 0); p == nil || p.Seq != uint64(n) {
			t.Fatalf("the snapshot at %d is not used", n)
		}
		got, err := ld.load(t.Context(), w.ID(), 0)
		w.must(err)
		a, _ := ld.encode(got)
		b, _ := ld.encode(want)
		if !bytes.Equal(a, b) {
			t.Fatalf("snapshot at %d:\n%.400s\n%.400s", n, a, b)
		}
		// What is damaged or of another version counts as none.
		body[len(body)/2] ^= 1
		w.must(w.store.SaveSnapshot(t.Context(), journal.Lease{}, journal.Snapshot{Seq: uint64(n) + 1, Version: snapshotVersion, Body: body}))
		if ld.snapshot(t.Context(), w.ID(), 0) != nil {
			t.Fatalf("a damaged snapshot at %d is used", n)
		}
	}
}

// interruptedAt opens a session whose process is gone while f's call runs or a
// gate is open, and returns its journal.
func crashed(t *testing.T, w *world) left {
	t.Helper()
	w.must(w.hub.append(nil, &event.Notice{Code: "mark", Level: "info"})) // everything before it is there
	return w.store.cut(len(w.store.types()))
}

func TestRestoreReportsIndeterminateOnce(t *testing.T) {
	t.Parallel()
	b := newBlocking()
	m := &teller{}
	w := open(t, Options{Policy: allowAll(), Loops: []LoopConfig{{Name: "main", Model: m}}}, nil, define("demo", "slow", b), define("demo", "add", &fake{}))
	tk := w.submit(Input{Text: "use add slow"})
	<-b.started
	w.eventually("the first call ends", func() bool { return len(of[*event.ToolCompleted](t, w.store)) == 1 })
	w.submit(Input{Text: "waits"})
	store := crashed(t, w)
	close(b.release)
	w.await(tk)
	slow := &fake{}
	again := &teller{}
	o := restoreOptions(store, again)
	o.Policy = allowAll()
	r := restored(t, o, w.ID(), define("demo", "slow", slow), define("demo", "add", &fake{}))
	e := of[*event.SessionRestored](t, r.store)[0]
	if !reflect.DeepEqual(e.Indeterminate, []string{"c2"}) || !e.Unfinished || !reflect.DeepEqual(e.Held, []string{"i2"}) {
		t.Fatalf("%+v", e)
	}
	if d := r.store.drafts(ledger.KindOutcome); len(d) != 1 || d[0].Call != "c2" || d[0].Outcome != "indeterminate" || d[0].ArgsDigest == "" {
		t.Fatalf("%+v", d)
	}
	r.say("go on")
	if got := again.given(t); !strings.Contains(got, "whether it had an effect is not known") || slow.calls.Load() != 0 {
		t.Errorf("%d calls; %s", slow.calls.Load(), got)
	}
	tk, err := r.RunHeld(r.ctx(), "i2", person)
	w.must(err)
	if tk.Input != "i2" || r.await(tk).Outcome != TurnCompleted || len(r.Held()) != 0 {
		t.Errorf("%+v", tk)
	}
	r.shut()
	third := restored(t, restoreOptions(store, &teller{}), w.ID())
	if e := of[*event.SessionRestored](t, third.store)[1]; len(e.Indeterminate) != 0 || e.Unfinished || third.Coverage().Indeterminate != 1 {
		t.Errorf("%+v", e)
	}
}

// A turn that waited for a permission goes on when it is answered, with the very
// call that was shown.
func TestRestoreReinstallsPermission(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change  func(*tool.Definition)
		action  gate.Action
		outcome tool.Outcome
		asked   int // gates that are opened after the restart
	}{
		"once":    {nil, gate.ActionOnce, tool.OK, 0},
		"deny":    {nil, gate.ActionDeny, tool.Denied, 0},
		"changed": {func(d *tool.Definition) { d.Digest = "sha256:other" }, gate.ActionOnce, tool.OK, 1},
	} {
		for _, operator := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				ask := rules(policy.Config{Ask: []policy.Rule{{Pattern: "*"}}, Operator: policy.OperatorAsk})
				w := open(t, Options{Policy: ask, Loops: []LoopConfig{{Name: "main", Model: &teller{}}}}, nil, define("demo", "ask", &fake{}))
				in := Input{Text: "use ask"}
				if operator {
					in = Input{Call: &CallInput{Tool: "demo ask", Args: json.RawMessage(`{"x":1}`)}}
				}
				w.submit(in)
				id := w.gate().ID
				store := crashed(t, w)
				again, f := &teller{}, &fake{}
				o := restoreOptions(store, again)
				o.Policy, o.Loops = ask, o.Loops[:1]
				r := restored(t, o, w.ID())
				if g := r.Gates(); len(g) != 1 || g[0].ID != id || r.Loops()[0].State != LoopRunning || r.Loops()[0].Turn != "t1" {
					t.Fatalf("%+v %+v", g, r.Loops())
				}
				r.answer(gate.Response{Action: c.action}) // before its server is there
				def := define("demo", "ask", f)
				if c.change != nil {
					c.change(&def)
				}
				w.must(r.ReplaceExternalTools(t.Context(), "main", "mcp", 1, []tool.Definition{def}))
				for range c.asked {
					r.answer(gate.Response{Action: c.action})
				}
				w.must(r.WaitIdle(r.ctx()))
				done := of[*event.ToolCompleted](t, r.store)
				if len(done) != 1 || done[0].Outcome != c.outcome || (f.calls.Load() == 1) != (c.outcome == tool.OK) {
					t.Errorf("%+v, %d calls", done, f.calls.Load())
				}
				if n := len(of[*event.GateOpened](t, r.store)); n != 1+c.asked {
					t.Errorf("%d gates", n)
				}
				if ends := of[*event.TurnCompleted](t, r.store); len(ends) != 1 || ends[0].Turn != "t1" || ends[0].Calls != 1 {
					t.Errorf("%+v", ends)
				}
				r.shut()
				checkJournal(t, 0, store.memoryStore)
			})
		}
	}
}

func TestRestoreDrift(t *testing.T) {
	t.Parallel()
	was := event.Fingerprint{{Field: "loops.main.model", Value: "a", Severity: event.SeverityWarn}, {Field: "policy", Value: "sha256:1", Severity: event.SeverityBreak}}
	is := event.Fingerprint{{Field: "loops.main.model", Value: "a", Severity: event.SeverityWarn}, {Field: "policy", Value: "sha256:2", Severity: event.SeverityBreak}}
	w := open(t, Options{Fingerprint: was, Loops: []LoopConfig{{Name: "main", Model: &teller{}}}}, nil)
	w.shut()
	records := len(w.store.all())
	o := restoreOptions(left{w.store}, &teller{})
	o.Fingerprint = is
	_, err := Restore(t.Context(), o, w.ID())
	mismatch, ok := errors.AsType[*ConfigMismatchError](err)
	if !ok || len(mismatch.Fields) != 1 || mismatch.Fields[0] != (event.DriftField{Field: "policy", Was: "sha256:1", Is: "sha256:2", Severity: event.SeverityBreak}) {
		t.Fatalf("%v", err)
	}
	if got := w.store.types()[records:]; !reflect.DeepEqual(got, []string{"config.drift", "session.closed"}) {
		t.Fatalf("%v", got)
	}
	o.Drift = func(context.Context, *ConfigMismatchError) (bool, string) { return true, "tester" }
	r := restored(t, o, w.ID())
	if e := of[*event.ConfigDrift](t, w.store); len(e) != 2 || e[1].Decision != "accepted" || e[1].By != "tester" {
		t.Fatalf("%+v", e)
	}
	r.shut()
	o.Drift = nil
	restored(t, o, w.ID()) // what was accepted is the session's own now
}

// The whole way on the real store: leases, snapshots, the ledger.
func TestRestoreOnTheRealStore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "looprig.db")
	store, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	o := restoreOptions(store, &teller{})
	w := open(t, o, nil, richTools()...)
	w.say("use add big")
	o.Holder = "another process"
	if _, err := Restore(t.Context(), o, w.ID()); !errors.Is(err, journal.ErrLeased) {
		t.Fatalf("two processes have the session: %v", err)
	}
	w.shut()
	for range 3 {
		r := restored(t, o, w.ID(), richTools()...)
		r.say("use add")
		if metas, err := store.List(t.Context(), journal.Query{}); err != nil || metas[0].Closed {
			t.Errorf("an open session counts as closed: %+v %v", metas, err)
		}
		w.must(loader{store: store, limits: r.o.Limits}.save(t.Context(), r.hub.lease))
		r.shut()
	}
	if _, err := ledger.Verify(t.Context(), store); err != nil {
		t.Error(err)
	}
	metas, err := store.List(t.Context(), journal.Query{})
	if err != nil || len(metas) != 1 || !metas[0].Closed || metas[0].Turns != 4 {
		t.Errorf("%+v %v", metas, err)
	}
}

// A turn that is parked on its question ends like every other turn: interrupted,
// or with the session.
func TestParkedTurnEnds(t *testing.T) {
	t.Parallel()
	for _, interrupt := range []bool{true, false} {
		ask := rules(policy.Config{Ask: []policy.Rule{{Pattern: "*"}}})
		w := open(t, Options{Policy: ask, Loops: []LoopConfig{{Name: "main", Model: &teller{}}}}, nil, define("demo", "ask", &fake{}))
		w.submit(Input{Text: "use ask ask"})
		w.gate()
		store := crashed(t, w)
		m := &teller{}
		o := restoreOptions(store, m)
		o.Policy, o.Loops = ask, o.Loops[:1]
		r := restored(t, o, w.ID(), define("demo", "ask", &fake{}))
		if interrupt {
			r.must(r.Interrupt(r.ctx(), "main", person))
			r.must(r.WaitIdle(r.ctx()))
			r.say("and now")
			if bad := unpaired(m.seen); len(bad) > 0 || len(m.seen) != 4 {
				t.Errorf("%v %+v", bad, m.seen)
			}
		}
		r.shut()
		if ends := of[*event.TurnInterrupted](t, store.memoryStore); len(ends) != 1 || ends[0].Turn != "t1" {
			t.Errorf("%+v", ends)
		}
		checkJournal(t, 0, store.memoryStore)
		again := restored(t, restoreOptions(store, m), w.ID())
		if len(again.Gates()) != 0 || again.Loops()[0].State != LoopIdle {
			t.Errorf("%+v", again.Loops())
		}
	}
}

// What a source offers is compared with what the session had of it.
func TestRestoreComparesTools(t *testing.T) {
	t.Parallel()
	w := open(t, Options{Loops: []LoopConfig{{Name: "main", Model: &teller{}}}}, nil, define("demo", "add", &fake{}), define("other", "add", &fake{}))
	w.shut()
	changed := define("demo", "add", &fake{}, func(d *tool.Definition) { d.Digest = "sha256:other" })
	r := restored(t, restoreOptions(left{w.store}, &teller{}), w.ID(), changed, define("other", "add", &fake{}))
	r.must(r.ReplaceExternalTools(t.Context(), "main", "mcp", 2, []tool.Definition{define("demo", "add", &fake{})}))
	r.shut()
	notices := of[*event.Notice](t, w.store)
	if len(notices) != 1 || notices[0].Code != "catalog_drift" || notices[0].Binding != "demo" || notices[0].Level != "warn" {
		t.Errorf("%+v", notices)
	}
}
