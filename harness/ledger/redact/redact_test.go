package redact

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/journal"
)

func records(t *testing.T, session string, events ...event.Event) []journal.Record {
	t.Helper()
	var out []journal.Record
	for i, e := range events {
		e.Head().Session, e.Head().Seq = session, uint64(i+1)
		line, err := event.Encode(e)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, journal.Record{Seq: uint64(i + 1), Line: line})
	}
	return out
}

// A call goes from every place that has it, and copies from what was said
// elsewhere; the rest of the session stays byte for byte.
func TestCallIsGoneEverywhere(t *testing.T) {
	t.Parallel()
	const secret, answer = "tell \"Ada\" <now>", "K9"
	args, err := json.Marshal(map[string]string{"text": secret})
	if err != nil {
		t.Fatal(err)
	}
	recs := records(t, "S",
		&event.InputQueued{Input: "i1", Kind: "call", Text: "/call " + secret},
		&event.TurnStarted{Header: event.Header{Turn: "t1"}, Input: "i1", Kind: "call", Text: "/call " + secret},
		&event.ToolRequested{Header: event.Header{Turn: "t1"}, Call: "c1", Args: args, By: "person"},
		&event.GateOpened{Envelope: gate.Envelope{ID: "g1", Kind: gate.KindForm, Subject: gate.Subject{Call: "c1"}}},
		&event.GateResolved{Gate: "g1", Response: gate.Response{Values: json.RawMessage(`{"code":"K9","n":7}`)}},
		&event.GateOpened{Envelope: gate.Envelope{ID: "g2", Kind: gate.KindPermission, Prompt: gate.Prompt{Calls: []gate.CallPrompt{{Call: "c1"}, {Call: "c2"}}}}},
		&event.GateResolved{Gate: "g2", Response: gate.Response{When: `. == {"n":7}`, Terms: map[string]gate.Terms{"c1": {Reason: "Bob knows", When: `. == {"n":7}`}}}},
		&event.ToolStarted{Call: "c1", Args: args, ArgsDigest: "sha256:11"},
		&event.ToolCompleted{Call: "c1", Content: []content.Block{{Kind: content.KindText, Text: "a long result"}}, Structured: args},
		&event.MessageCompleted{Content: []content.Block{{Kind: content.KindToolUse, CallID: "c1", JSON: args}, {Kind: content.KindText, Text: "said: " + secret + " and K9."}}},
		&event.MessageCompleted{Content: []content.Block{{Kind: content.KindText, Text: "K99 and xK9 stay"}}},
	)
	p := New("S", "c1")
	for _, r := range recs {
		if err := p.Learn(r); err != nil {
			t.Fatal(err)
		}
	}
	p.Ready()
	for i, r := range recs {
		line, err := p.Rewrite(r)
		if err != nil {
			t.Fatal(err)
		}
		if i == len(recs)-1 {
			if !bytes.Equal(line, r.Line) {
				t.Errorf("a record that says nothing of it was rewritten: %s", line)
			}
			continue
		}
		for _, gone := range []string{"Ada", `"K9"`, " K9", "long result", "sha256:11", `"n":7`, `\"n\":7`, "Bob"} {
			if bytes.Contains(line, []byte(gone)) {
				t.Errorf("record %d still has %s: %s", r.Seq, gone, line)
			}
		}
	}
	// In a fork the id is another call's.
	fork := records(t, "F", &event.ToolStarted{Call: "c1", Args: json.RawMessage(`{"other":"thing"}`), ArgsDigest: "sha256:22"})
	if line, err := p.Rewrite(fork[0]); err != nil || !bytes.Equal(line, fork[0].Line) {
		t.Errorf("the fork's own call: %s, %v", line, err)
	}
	if p.Clean("a "+answer) != "a "+Mark {
		t.Error("a title keeps it")
	}
}
