package session

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/policy"
	"github.com/looprig/looprig/harness/tool"
)

const journalID = "01J00000000000000000000000"

// written is a journal that holds events, as a process left it.
func written(t *testing.T, events ...event.Event) left {
	t.Helper()
	store := left{&memoryStore{}}
	h := newHub(journalID, Options{Store: store, Clock: gate.SystemClock{}, Limits: Limits{}.withDefaults()}, journal.Lease{Session: journalID}, func(f func()) { f() })
	if err := h.append(nil, events...); err != nil {
		t.Fatal(err)
	}
	h.stop()
	return store
}

// A delegate that ran is over; the call that started it is indeterminate, and
// what the delegate asked is withdrawn: nobody is there to go on with it.
func TestRestoreEndsDelegates(t *testing.T) {
	t.Parallel()
	main, child := event.Header{Loop: "main", Turn: "t1"}, event.Header{Loop: "main/reviewer-3", Turn: "t2"}
	args := json.RawMessage(`{"agent":"reviewer","task":"look"}`)
	use := func(call, name string) []content.Block {
		return []content.Block{{Kind: content.KindToolUse, CallID: call, Name: name, JSON: args}}
	}
	store := written(t,
		&event.SessionStarted{Mode: "headless"},
		&event.LoopStarted{Header: event.Header{Loop: "main"}, Model: "teller"},
		&event.TurnStarted{Header: main, Input: "i1", Origin: "person", Kind: kindUser, Text: "go"},
		&event.MessageCompleted{Header: main, Step: 1, Role: content.RoleAssistant, Content: use("c1", "delegate")},
		&event.ToolRequested{Header: main, Step: 1, Call: "c1", Tool: "builtin:delegate", ModelName: "delegate", Args: args, By: "model"},
		&event.ToolStarted{Header: main, Step: 1, Call: "c1", Tool: "builtin:delegate", ModelName: "delegate", Args: args},
		&event.LoopStarted{Header: event.Header{Loop: child.Loop}, Model: "teller", Parent: "main", Call: "c1", Depth: 1, Agent: "reviewer"},
		&event.TurnStarted{Header: child, Input: "i2", Origin: "model", Kind: kindUser, Text: "look"},
		&event.MessageCompleted{Header: child, Step: 1, Role: content.RoleAssistant, Content: use("c2", "mcp__demo__add")},
		&event.ToolRequested{Header: child, Step: 1, Call: "c2", Tool: "mcp:demo:add", ModelName: "mcp__demo__add", Args: args, By: "model"},
		&event.GateOpened{Header: child, Envelope: gate.Envelope{
			ID: "g7", Kind: gate.KindPermission, Restorable: true, Subject: gate.Subject{Loop: child.Loop, Turn: "t2", Step: 1, Call: "c2"},
			Prompt: gate.Prompt{Calls: []gate.CallPrompt{{Call: "c2", Tool: "mcp:demo:add", ModelName: "mcp__demo__add", Args: args}}},
		}},
	)
	m := &teller{}
	r := restored(t, Options{Store: store, Loops: []LoopConfig{{Name: "main", Model: m}}}, journalID)
	e := of[*event.SessionRestored](t, store.memoryStore)[0]
	if !reflect.DeepEqual(e.Indeterminate, []string{"c1"}) || e.Withdrawn != 1 || e.Reinstalled != 0 {
		t.Errorf("%+v", e)
	}
	if done := of[*event.ToolCompleted](t, store.memoryStore); len(done) != 2 || done[0].Outcome != tool.Indeterminate || done[1].Outcome != tool.Cancelled {
		t.Errorf("%+v", done)
	}
	if closed := of[*event.LoopClosed](t, store.memoryStore); len(closed) != 1 || closed[0].Loop != child.Loop {
		t.Errorf("%+v", closed)
	}
	if l := r.Loops(); len(l) != 1 || l[0].State != LoopIdle || len(r.Gates()) != 0 {
		t.Errorf("%+v %+v", l, r.Gates())
	}
	r.say("and now")
	if bad := unpaired(m.seen); len(bad) > 0 || strings.Contains(m.given(t), "look\\\"}]") {
		t.Errorf("%v %s", bad, m.given(t))
	}
	if tk := r.submit(Input{Text: "x"}); tk.Input != "i4" || r.await(tk).Turn != "t4" {
		t.Errorf("%+v", tk)
	}
	r.shut()
	checkJournal(t, 0, store.memoryStore)
	p, err := loader{store: store, limits: r.o.Limits}.load(t.Context(), journalID, 0)
	if err != nil || p.Delegated != 3 || p.loop(child.Loop).History != nil {
		t.Errorf("%+v %v", p, err)
	}
}

// A compaction stays a compaction, and a switched model stays switched.
func TestRestoreOfCompactedHistory(t *testing.T) {
	t.Parallel()
	var events []event.Event
	events = append(events, &event.SessionStarted{
		Mode: "headless", Fingerprint: event.Fingerprint{{Field: ModelField("main"), Value: "small", Severity: event.SeverityWarn}},
	}, &event.LoopStarted{Header: event.Header{Loop: "main"}, Model: "small"})
	for _, turn := range []string{"t1", "t2"} {
		h := event.Header{Loop: "main", Turn: turn}
		events = append(events,
			&event.TurnStarted{Header: h, Input: "i" + turn[1:], Origin: "person", Kind: kindUser, Text: "said in " + turn},
			&event.MessageCompleted{Header: h, Step: 1, Role: content.RoleAssistant, Content: []content.Block{content.Text("answer in " + turn)}},
			&event.TurnCompleted{Header: h, Text: "answer in " + turn, Steps: 1})
	}
	events = append(events,
		&event.HistoryCompacted{Header: event.Header{Loop: "main"}, Replaced: 2, Kept: 2, Summary: "they greeted", Cause: "limit"},
		&event.ModelChanged{Header: event.Header{Loop: "main"}, From: "small", To: "teller", By: "person:tester"})
	store := written(t, events...)
	p, err := ReadPast(t.Context(), store, journalID)
	if err != nil || p.Switched("main") != "teller" || p.Turns() != 2 {
		t.Fatalf("%+v %v", p, err)
	}
	m := &teller{}
	is := event.Fingerprint{{Field: ModelField("main"), Value: "teller", Severity: event.SeverityWarn}}
	r := restored(t, Options{Store: store, Policy: (*policy.Policy)(nil), Loops: []LoopConfig{{Name: "main", Model: m}}, Fingerprint: is}, journalID)
	r.say("go on")
	if got := m.given(t); strings.Contains(got, "said in t1") || !strings.Contains(got, "they greeted") || !strings.Contains(got, "answer in t2") || len(m.seen) != 4 {
		t.Errorf("%s", got)
	}
}
