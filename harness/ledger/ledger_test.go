package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/looprig/looprig/harness/ledger"
)

type chain []ledger.Stored

func (c chain) LedgerEntries(_ context.Context, from uint64) iter.Seq2[ledger.Stored, error] {
	return func(yield func(ledger.Stored, error) bool) {
		for _, s := range c {
			if s.Seq >= from && !yield(s, nil) {
				return
			}
		}
	}
}

func build(t testing.TB, drafts ...ledger.Draft) chain {
	t.Helper()
	var c chain
	var seq uint64
	var prev string
	for _, d := range drafts {
		e, s, err := ledger.Seal(d, seq, prev, time.Unix(1, 2345))
		if err != nil {
			t.Fatal(err)
		}
		seq, prev = e.Seq, e.Hash
		c = append(c, s)
	}
	return c
}

func TestVerifyCountsOpenCalls(t *testing.T) {
	t.Parallel()
	rep, err := ledger.Verify(t.Context(), build(t,
		ledger.Draft{Kind: ledger.KindIntent, Session: "s", Call: "c1"},
		ledger.Draft{Kind: ledger.KindIntent, Session: "s", Call: "c2"},
		ledger.Draft{Kind: ledger.KindOutcome, Session: "s", Call: "c1", Outcome: "ok"},
	))
	if err != nil || rep.Entries != 3 || rep.Intents != 2 || rep.Outcomes != 1 || rep.OpenTotal != 1 || rep.Open[0] != "s/c2" {
		t.Fatalf("report %+v, %v", rep, err)
	}
}

func TestVerifyRefusesImpossibleHistories(t *testing.T) {
	t.Parallel()
	for name, drafts := range map[string][]ledger.Draft{
		"two intents for one call":  {{Kind: ledger.KindIntent, Call: "c"}, {Kind: ledger.KindIntent, Call: "c"}},
		"an outcome out of nothing": {{Kind: ledger.KindIntent, Call: "c"}, {Kind: ledger.KindOutcome, Call: "d"}},
		"an unknown kind":           {{Kind: ledger.KindIntent, Call: "c"}, {Kind: "x"}},
	} {
		_, err := ledger.Verify(t.Context(), build(t, drafts...))
		var bad *ledger.BadEntryError
		if !errors.As(err, &bad) || bad.Seq != 2 || !ledger.IsBad(err) {
			t.Errorf("%s: verify says %v", name, err)
		}
	}
}

func TestEveryFieldIsCovered(t *testing.T) {
	t.Parallel()
	base := ledger.Draft{Kind: ledger.KindIntent}
	_, plain, err := ledger.Seal(base, 0, "", time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{plain.Hash: "nothing"}
	for name, d := range map[string]ledger.Draft{
		"session": {Session: "x"}, "loop": {Loop: "x"}, "turn": {Turn: "x"}, "call": {Call: "x"}, "source": {Source: "x"},
		"binding": {Binding: "x"}, "tool": {Tool: "x"}, "tool digest": {ToolDigest: "x"}, "pin": {Pin: "x"}, "pin key": {PinKey: "x"},
		"args": {ArgsDigest: "x"}, "prompt": {PromptDigest: "x"}, "rule": {Rule: "x"}, "gate kind": {GateKind: "x"}, "answer": {AnswerDigest: "x"}, "redacts": {Redacts: []uint64{1}}, "reason": {Reason: "x"}, "considered": {Considered: []string{"x"}},
		"verdict": {Verdict: "x"}, "gate": {Gate: "x"}, "answerer": {Answerer: "x"}, "answerer kind": {AnswererKind: "x"},
		"outcome": {Outcome: "x"}, "attempts": {Attempts: 1}, "result": {ResultDigest: "x"}, "detail": {Detail: "x"},
	} {
		d.Kind = ledger.KindIntent
		_, s, err := ledger.Seal(d, 0, "", time.Unix(1, 0))
		if err != nil {
			t.Fatal(err)
		}
		if other, taken := seen[s.Hash]; taken {
			t.Errorf("%s has the hash of %s", name, other)
		}
		seen[s.Hash] = name
	}
}

func BenchmarkVerify(b *testing.B) {
	drafts := make([]ledger.Draft, 10_000)
	for i := range drafts {
		drafts[i] = ledger.Draft{Kind: ledger.KindDecision, Session: "01JABCDEFGHJKMNPQRSTVWXYZ0", Call: fmt.Sprintf("c%d", i), Tool: "mcp:demo:add"}
	}
	c := build(b, drafts...)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ledger.Verify(b.Context(), c); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(drafts)), "ns/entry")
}
