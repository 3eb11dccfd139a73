package record

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/compose/headless"
	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/tool"
)

func at(loop, turn string) event.Header {
	return event.Header{Session: "01JTEST", Time: time.Unix(1_800_000_000, 0), Loop: loop, Turn: turn}
}

// made records events and loads what comes of it.
func made(t *testing.T, o Options, env []string, events ...event.Event) (Recording, *headless.Script) {
	t.Helper()
	r := New(o)
	for _, e := range events {
		r.Add(e)
	}
	rec := r.Script()
	if len(rec.Text) == 0 {
		return rec, nil
	}
	s, err := headless.LoadScript("r.yaml", rec.Text, config.EnvOf(env))
	if err != nil {
		t.Fatalf("%v\n%s", err, rec.Text)
	}
	if len(s.Steps) != rec.Steps {
		t.Errorf("%d steps are said, %d are there", rec.Steps, len(s.Steps))
	}
	return rec, s
}

func begun(mode string) []event.Event {
	return []event.Event{
		&event.SessionStarted{Header: at("", ""), Mode: mode, Model: "m"},
		&event.LoopStarted{Header: at("main", ""), Model: "m"},
	}
}

// operatorTurn is a turn with one call by the operator.
func operatorTurn(turn, call, args string, o tool.Outcome, between ...event.Event) []event.Event {
	out := []event.Event{
		&event.TurnStarted{Header: at("main", turn), Kind: "call", Origin: "person"},
		&event.ToolRequested{Header: at("main", turn), Step: 1, Call: call, Tool: "mcp:fx:do", ModelName: "mcp__fx__do", Args: json.RawMessage(args), By: "person"},
	}
	out = append(out, between...)
	return append(out,
		&event.ToolCompleted{Header: at("main", turn), Step: 1, Call: call, Tool: "mcp:fx:do", ModelName: "mcp__fx__do", Outcome: o},
		&event.TurnCompleted{Header: at("main", turn), Steps: 1, Calls: 1})
}

func join(lists ...[]event.Event) []event.Event {
	var out []event.Event
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

// asked is a gate and its answer.
func asked(id string, k gate.Kind, p gate.Prompt, s gate.Subject, r gate.Response, why gate.CloseReason) []event.Event {
	return []event.Event{
		&event.GateOpened{Header: at(s.Loop, s.Turn), Envelope: gate.Envelope{ID: id, Kind: k, Subject: s, Prompt: p}},
		&event.GateResolved{Header: at(s.Loop, s.Turn), Gate: id, Kind: k, Subject: s, Reason: why, Response: r},
	}
}

func mustSay(t *testing.T, rec Recording, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(string(rec.Text)+strings.Join(rec.Notes, "\n"), part) {
			t.Errorf("no %q in\n%s\n%q", part, rec.Text, rec.Notes)
		}
	}
}

// No value of a server's environment or headers gets into a script, however it is
// written; what is from the environment stays as it is written.
func TestSecretsOfServers(t *testing.T) {
	t.Parallel()
	entry := `{"type":"http","url":"https://x.example/mcp?key=canary1","headers":{"Authorization":"Bearer canary2","X-A":"${TOKEN}","X-B":"${T:-canary3}"}}`
	servers := []Server{
		{Name: "a", Entry: []byte(entry)},
		{Name: "b", Entry: []byte(`{"command":"b","env":{"K":"canary4","L":"pre ${TOKEN}"}}`)},
		{Name: "c", Entry: []byte(`{"command":"c","env":{"K":"canary5"}}`), File: "mcp.json"},
		{Name: "d", Entry: []byte(`{"command":"d","env":{"K":"${TOKEN}"}}`), File: "mcp.json", Fingerprint: "sha256:" + strings.Repeat("a", 64)},
	}
	env := []string{"TOKEN=t", "A_URL=https://x.example/mcp", "A_AUTHORIZATION=x", "A_X_B=x", "B_K=x", "E_K=x"}
	defs := []Definition{{Op: "add", Server: Server{Name: "e", Entry: []byte(`{"command":"e","env":{"K":"canary6"}}`)}}}
	rec, s := made(t, Options{Servers: servers, Definitions: defs}, env, join(begun("interactive"),
		[]event.Event{&event.BindingReconfigured{Header: at("", ""), Binding: "e", Op: "add", Saved: true}}, operatorTurn("t1", "c1", `{}`, tool.OK))...)
	if strings.Contains(string(rec.Text), "canary") {
		t.Errorf("a secret is in\n%s", rec.Text)
	}
	if len(s.Servers) != 3 || s.Servers[2].Name != "d" || s.Steps[0].Server.Env["K"] != "x" || !s.Attended {
		t.Errorf("%+v", s.Servers)
	}
	mustSay(t, rec, "set A_URL, A_AUTHORIZATION, A_X_B", "set B_K", "set E_K", "pre ${TOKEN}", "server c is that of mcp.json", "server e was added and kept",
		"{gate: untrusted_server, binding: d, fingerprint: \"sha256:"+strings.Repeat("a", 64)+"\", answer: once}")
}

// What no script does again is left out with all that belongs to it, and said.
func TestWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	form := func(turn, id string, why gate.CloseReason, a gate.Action) []event.Event {
		return asked(id, gate.KindForm, gate.Prompt{}, gate.Subject{Loop: "main", Turn: turn, Binding: "fx"}, gate.Response{Action: a, Values: json.RawMessage(`{"of":"` + turn + `"}`)}, why)
	}
	events := join(begun("headless"),
		operatorTurn("t1", "c1", `{"n":1}`, tool.OK, form("t1", "g1", gate.ReasonAnswered, gate.ActionSubmit)...),
		// interrupted, with an answer and a reply of its own
		[]event.Event{&event.TurnStarted{Header: at("main", "t2"), Kind: "user", Text: "stop this"}, &event.MessageCompleted{Header: at("main", "t2"), Role: content.RoleAssistant, Content: []content.Block{content.Text("lost")}}},
		form("t2", "g2", gate.ReasonAnswered, gate.ActionSubmit),
		[]event.Event{&event.TurnInterrupted{Header: at("main", "t2")}},
		// its model failed
		[]event.Event{&event.TurnStarted{Header: at("main", "t3"), Kind: "user", Text: "fail"}, &event.TurnFailed{Header: at("main", "t3"), Code: "model_error"}},
		// a text that is kept apart, and is not here
		[]event.Event{&event.TurnStarted{Header: at("main", "t4"), Kind: "user", Text: "long"}, &event.MessageCompleted{Header: at("main", "t4"), Role: content.RoleAssistant, Content: []content.Block{{Kind: content.KindText, Blob: "sha256:bb"}}}, &event.TurnCompleted{Header: at("main", "t4")}},
		[]event.Event{&event.BindingReconfigured{Header: at("", ""), Binding: "fy", Op: "replace"}},
		[]event.Event{&event.HistoryCompacted{Header: at("main", "")}, &event.FetchCompleted{Header: at("", ""), Binding: "fx", What: "resource", Name: "x://y", GivenUp: true}},
		form("", "g3", gate.ReasonTimedOut, gate.ActionCancel),
		operatorTurn("t5", "c5", `{"n":5}`, tool.ToolError, form("t5", "g5", gate.ReasonAnswered, gate.ActionSubmit)...),
		// it never ended
		[]event.Event{&event.TurnStarted{Header: at("main", "t6"), Kind: "user", Text: "and then"}},
	)
	rec, s := made(t, Options{Body: func(string) ([]byte, error) { return nil, errors.New("gone") }}, nil, events...)
	if len(s.Steps) != 2 || s.HasReplies || len(s.Answers) != 3 {
		t.Errorf("%d steps, replies %t, %d answers\n%s", len(s.Steps), s.HasReplies, len(s.Answers), rec.Text)
	}
	if strings.Contains(string(rec.Text), `"t2"`) || strings.Contains(string(rec.Text), "lost") {
		t.Errorf("what belongs to a turn that is not there is in\n%s", rec.Text)
	}
	mustSay(t, rec, "turn t2 is not in the script: it was interrupted", "turn t3 is not in the script: it failed with model_error", "turn t4", "turn t6 is not in the script: it had not ended",
		"server fy", "compacted", "did not wait for resource", "not answered in time", `.outcome == "tool_error"`, `answer: decline, times: 1}`)
	if empty, _ := made(t, Options{}, nil, begun("headless")...); empty.Text != nil || len(empty.Notes) != 1 {
		t.Errorf("%+v", empty)
	}
}

// The replies of a delegate are kept under its own name, and its questions belong
// to the turn that it works for.
func TestDelegates(t *testing.T) {
	t.Parallel()
	child := at("main/reviewer-1", "t2")
	ask := asked("g1", gate.KindAskUser, gate.Prompt{Choices: []string{"red", "green"}}, gate.Subject{Loop: "main/reviewer-1", Turn: "t2"}, gate.Response{Action: gate.ActionAnswer, Chosen: []int{1}}, gate.ReasonAnswered)
	say := func(h event.Header, blocks ...content.Block) event.Event {
		return &event.MessageCompleted{Header: h, Role: content.RoleAssistant, Content: blocks}
	}
	_, s := made(t, Options{Loops: []config.Loop{{Name: "main", Delegates: []string{"reviewer"}}, {Name: "reviewer", System: "You: review \"it\"."}}}, nil, join(begun("headless"), []event.Event{
		&event.TurnStarted{Header: at("main", "t1"), Kind: "user", Text: "go"},
		say(at("main", "t1"), content.Block{Kind: content.KindToolUse, CallID: "c1", Name: "delegate", JSON: json.RawMessage(`{"agent":"reviewer","task":"x"}`)}),
		&event.ToolRequested{Header: at("main", "t1"), Step: 1, Call: "c1", Tool: "builtin:delegate", ModelName: "delegate", By: "model"},
		&event.LoopStarted{Header: event.Header{Loop: "main/reviewer-1"}, Parent: "main", Call: "c1", Depth: 1, Agent: "reviewer"},
		&event.TurnStarted{Header: child, Kind: "user", Origin: "model", Text: "x"},
	}, ask, []event.Event{
		say(child, content.Text("seen")),
		&event.TurnCompleted{Header: child, Text: "seen"},
		&event.ToolCompleted{Header: at("main", "t1"), Step: 1, Call: "c1", Tool: "builtin:delegate", Outcome: tool.OK},
		say(at("main", "t1"), content.Text("done")),
		&event.TurnCompleted{Header: at("main", "t1"), Text: "done"},
	})...)
	if len(s.Steps) != 1 || len(s.Replies.ByLoop["main"]) != 2 || len(s.Replies.ByLoop["reviewer"]) != 1 || s.Replies.ByLoop["reviewer"][0].Say != "seen" {
		t.Errorf("%+v", s.Replies)
	}
	if len(s.Loops) != 2 || s.Loops[1].System != `You: review "it".` || s.Loops[0].Delegates[0] != "reviewer" {
		t.Errorf("%+v", s.Loops)
	}
	if len(s.Answers) != 1 || s.Answers[0].Choose[0] != "green" || s.Answers[0].Times != 1 {
		t.Errorf("%+v", s.Answers)
	}
	if e := s.Steps[0].Expects; len(e) != 4 || !strings.Contains(e[3].Text, "ask_user") {
		t.Errorf("%+v", e)
	}
}

// What was allowed for good is allowed for the session; a pattern matches the one
// tool; a server that was refused does not keep a run from beginning.
func TestAnswersThatLast(t *testing.T) {
	t.Parallel()
	odd := `mcp:fx:d*o?\`
	p := gate.Prompt{Calls: []gate.CallPrompt{{Call: "c1", Tool: odd}}}
	fp := "sha256:" + strings.Repeat("b", 64)
	rec, s := made(t, Options{Servers: []Server{{Name: "no", Entry: []byte(`{"command":"no"}`), Fingerprint: fp}}}, nil, join(begun("interactive"),
		asked("g0", gate.KindUntrustedServer, gate.Prompt{Fingerprint: fp}, gate.Subject{Binding: "no"}, gate.Response{Action: gate.ActionRefuse}, gate.ReasonAnswered),
		operatorTurn("t1", "c1", `{"text":"${HOME}"}`, tool.OK, asked("g1", gate.KindPermission, p, gate.Subject{Loop: "main", Turn: "t1", Call: "c1"},
			gate.Response{Action: gate.ActionAlways, When: ".n > 1"}, gate.ReasonAnswered)...))...)
	mustSay(t, rec, `tool: "mcp:fx:d\\*o\\?\\\\", answer: session, when: ".n > 1", times: 1}`, "allowed for good", "server no was not trusted")
	if s.Servers[0].Enabled || len(s.Answers) != 2 || string(s.Steps[0].Args.JSON()) != `{"text":"$${HOME}"}` && string(s.Steps[0].Args.JSON()) != `{"text":"${HOME}"}` {
		t.Errorf("%+v %+v %s", s.Servers, s.Answers, s.Steps[0].Args.JSON())
	}
}

// Each call of a question that was asked about several has its own answer, with
// what went with it.
func TestAnswersOfABatch(t *testing.T) {
	t.Parallel()
	p := gate.Prompt{Calls: []gate.CallPrompt{{Call: "c1", Tool: "mcp:fx:do"}, {Call: "c2", Tool: "mcp:fx:see"}, {Call: "c3", Tool: "mcp:fx:no"}}}
	rec, _ := made(t, Options{}, nil, join(begun("interactive"),
		operatorTurn("t1", "c1", `{}`, tool.OK, asked("g1", gate.KindPermission, p, gate.Subject{Loop: "main", Turn: "t1"}, gate.Response{
			Action: gate.ActionDeny, Calls: map[string]gate.Action{"c1": gate.ActionSession, "c2": gate.ActionSession}, Reason: "no others",
			Terms: map[string]gate.Terms{"c1": {When: ".n > 1"}, "c2": {Cover: gate.CoverReadOnly}},
		}, gate.ReasonAnswered)...))...)
	mustSay(t, rec, `tool: "mcp:fx:do", answer: session, when: ".n > 1", times: 1}`, `tool: "mcp:fx:see", answer: session, cover: read_only, times: 1}`,
		`tool: "mcp:fx:no", answer: deny, reason: "no others", times: 1}`)
}

// The rules of a run are in its script as the reader of scripts takes them.
func TestRulesWithHints(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	rules := config.Policy{
		Allow: []config.Rule{{Tool: "mcp:fx:*", Hints: tool.Hints{ReadOnly: &yes, OpenWorld: &no}}},
		Deny:  []config.Rule{{Tool: "*", Hints: tool.Hints{Destructive: &yes, Idempotent: &no}, When: ".n > 1", Loop: "main"}},
	}
	loops := []config.Loop{{Name: "main", Policy: config.Policy{Ask: []config.Rule{{Tool: "mcp:*", Hints: tool.Hints{OpenWorld: &yes}}}}}}
	rec, s := made(t, Options{Policy: rules, Loops: loops}, nil, join(begun("headless"), operatorTurn("t1", "c1", `{}`, tool.OK))...)
	for _, c := range []struct {
		name      string
		got, want []config.Rule
	}{{"allow", s.Policy.Allow, rules.Allow}, {"deny", s.Policy.Deny, rules.Deny}, {"loop", s.Loops[0].Policy.Ask, loops[0].Policy.Ask}} {
		if len(c.got) != 1 {
			t.Fatalf("%s: %+v", c.name, c.got)
		}
		g := c.got[0]
		g.Pos, g.File = c.want[0].Pos, ""
		if !reflect.DeepEqual(g, c.want[0]) {
			t.Errorf("%s: %+v, not %+v\n%s", c.name, g, c.want[0], rec.Text)
		}
	}
}

// A call of the model that names no tool is one that the script does again.
func TestACallThatNamesNoTool(t *testing.T) {
	t.Parallel()
	rec, s := made(t, Options{}, nil, join(begun("interactive"), []event.Event{
		&event.TurnStarted{Header: at("main", "t1"), Kind: "user", Text: "Go."},
		&event.MessageCompleted{Header: at("main", "t1"), Role: content.RoleAssistant, Content: []content.Block{{Kind: content.KindToolUse, CallID: "c1", JSON: json.RawMessage(`{"a":1}`)}}},
		&event.ToolRequested{Header: at("main", "t1"), Step: 1, Call: "c1", By: "model"},
		&event.ToolCompleted{Header: at("main", "t1"), Step: 1, Call: "c1", Outcome: tool.Unavailable},
		&event.MessageCompleted{Header: at("main", "t1"), Role: content.RoleAssistant, Content: []content.Block{{Kind: content.KindText, Text: "No."}}},
		&event.TurnCompleted{Header: at("main", "t1"), Text: "No."},
	})...)
	if rec.Steps != 1 || !s.HasReplies {
		t.Errorf("%d steps\n%s", rec.Steps, rec.Text)
	}
}
