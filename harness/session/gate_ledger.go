package session

import (
	"encoding/json"
	"fmt"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/ledger"
)

// gateDraft is the ledger entry of a gate that closes: who answered what to which
// question, or why nobody did. What was shown and what was typed appear as
// digests.
func (s *Session) gateDraft(r gate.Resolution) ledger.Draft {
	env := r.Envelope
	d := ledger.Draft{
		Kind: ledger.KindDecision, Session: s.o.ID, Loop: env.Subject.Loop, Turn: env.Subject.Turn, Call: env.Subject.Call,
		Binding: env.Subject.Binding, Pin: env.Prompt.Fingerprint, PromptDigest: promptDigest(env.Prompt),
		Verdict: string(r.Response.Action), Gate: env.ID, GateKind: string(env.Kind),
		AnswerDigest: AnswerDigest(r.Response),
	}
	if r.Reason == gate.ReasonAnswered {
		d.Answerer, d.AnswererKind = r.Response.Answerer.ID, string(r.Response.Answerer.Kind)
		return d
	}
	d.Detail = string(r.Reason)
	if r.Response.Detail == string(gate.ReasonNoGate) {
		d.Detail = r.Response.Detail
	}
	return d
}

// AnswerDigest covers everything that an answer to a gate says. It is the same of
// a response that was read out of the journal.
func AnswerDigest(r gate.Response) string {
	b, err := json.Marshal(r)
	if err != nil {
		return digest(fmt.Append(nil, err))
	}
	return digest(event.Escape(b))
}
