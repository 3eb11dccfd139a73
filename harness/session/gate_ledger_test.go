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
