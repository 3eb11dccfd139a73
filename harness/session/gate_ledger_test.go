package session

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/model/scripted"
)

// Every gate that closes leaves an entry with who answered, the digests of what
// was shown and of all that was answered, and none of the words.
func TestGatesAreLedgered(t *testing.T) {
	t.Parallel()
	w := open(t, Options{}, []scripted.Reply{uses("mcp__demo__a"), {Say: "ok"}}, define("demo", "a", &fake{}))
	tk := w.submit(Input{Text: "go"})
	w.gate()
	w.answer(gate.Response{Action: gate.ActionDeny, Reason: "words \u202e of <a> person"})
	w.await(tk)
	d := w.store.gateDrafts()
	resolved := of[*event.GateResolved](t, w.store)
	if len(d) != 1 || len(resolved) != 1 {
		t.Fatalf("%d entries, %d events", len(d), len(resolved))
	}
	e := d[0]
	if e.Session != w.ID() || e.Gate != resolved[0].Gate || e.GateKind != "permission" || e.Verdict != "deny" || e.Answerer != "tester" ||
		e.AnswererKind != "person" || e.PromptDigest == "" || e.Detail != "" {
		t.Errorf("%+v", e)
	}
	if got := AnswerDigest(resolved[0].Response); got != e.AnswerDigest {
		t.Errorf("the digest is %s, that of the journal's response %s", e.AnswerDigest, got)
	}
	raw, err := json.Marshal(d)
	if err != nil || bytes.Contains(raw, []byte("words")) {
		t.Errorf("%s %v", raw, err)
	}
	tk = w.submit(Input{Call: &CallInput{Tool: "demo a"}})
	w.await(tk)
	if n := len(w.store.gateDrafts()); n != 1 {
		t.Errorf("%d entries of gates after a call that nobody was asked about", n)
	}
}

// The digest of an answer is another one as soon as anything of it is.
func TestAnswerDigestCoversAllThatIsAnswered(t *testing.T) {
	t.Parallel()
	w := open(t, Options{}, times(3, "mcp__demo__a"), define("demo", "a", &fake{}))
	for _, r := range []gate.Response{
		{Action: gate.ActionSession, When: ".x == 1"}, {Action: gate.ActionSession, When: ".x == 2"},
		{Action: gate.ActionSession, Terms: map[string]gate.Terms{"c3": {When: ".x == 2"}}},
	} {
		w.asked(r)
	}
	d, resolved := w.store.gateDrafts(), of[*event.GateResolved](t, w.store)
	seen := map[string]bool{}
	for i, e := range d {
		seen[e.AnswerDigest] = true
		if got := AnswerDigest(resolved[i].Response); got != e.AnswerDigest {
			t.Errorf("%d: %s in the ledger, %s of the journal's response", i, e.AnswerDigest, got)
		}
	}
	base := gate.Response{Action: gate.ActionSession}
	wide, reason := base, base
	wide.Cover, reason.Terms = gate.CoverReadOnly, map[string]gate.Terms{"c1": {Reason: "no"}}
	for _, r := range []gate.Response{base, wide, reason} {
		seen[AnswerDigest(r)] = true
	}
	if len(seen) != 6 || len(d) != 3 {
		t.Errorf("%d digests, %d entries", len(seen), len(d))
	}
}
