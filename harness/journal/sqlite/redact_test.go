package sqlite_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/journal/sqlite"
	"github.com/looprig/looprig/harness/ledger"
)

func TestRedact(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "looprig.db")
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	lease, err := s.Create(t.Context(), journal.Meta{Session: "S", Title: "about " + canary}, "h")
	if err != nil {
		t.Fatal(err)
	}
	line := []byte(`{"v":1,"text":"` + canary + `"}`)
	entries, err := s.Append(t.Context(), lease, journal.Batch{
		Records: []journal.Record{{Seq: 1, Type: "notice", Line: line}},
		Ledger: []ledger.Draft{
			{Kind: ledger.KindDecision, Session: "S", Gate: "g1", PromptDigest: digestOf("shown"), AnswerDigest: digestOf(canary)},
			{Kind: ledger.KindDecision, Session: "S", Gate: "g2", AnswerDigest: digestOf("other")},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	red := sqlite.Redaction{
		Session: "S", Draft: ledger.Draft{Answerer: "tester", Reason: "asked for"},
		Rewrite: func(r journal.Record) ([]byte, error) {
			return bytes.ReplaceAll(r.Line, []byte(canary), []byte("-")), nil
		},
		Title: func(string) string { return "about -" },
		Fields: func(e ledger.Entry) []string {
			if e.Gate == "g1" {
				return []string{ledger.FieldAnswer}
			}
			return nil
		},
	}
	if _, err := s.Redact(t.Context(), red); !errors.Is(err, journal.ErrLeased) {
		t.Fatalf("of a session that is open: %v", err)
	}
	if err := s.Release(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	out, err := s.Redact(t.Context(), red)
	if err != nil || out.Records != 1 || !slices.Equal(out.Entries, []uint64{1}) || out.Entry != 3 {
		t.Fatalf("%+v, %v", out, err)
	}
	if holds(t, path, canary) {
		t.Fatal("the text is still in the files")
	}
	rep, err := ledger.Verify(t.Context(), s)
	if err != nil || rep.Entries != 3 || rep.Redacted != 1 {
		t.Fatalf("%+v, %v", rep, err)
	}
	opens := func(entry int, field, value, text string) bool {
		salts, err := s.LedgerSalts(t.Context(), uint64(entry))
		if err != nil {
			t.Fatal(err)
		}
		return ledger.Opens(value, field, digestOf(text), salts)
	}
	if opens(1, ledger.FieldAnswer, entries[0].AnswerDigest, canary) {
		t.Error("the redacted value can still be opened")
	}
	if !opens(1, ledger.FieldPrompt, entries[0].PromptDigest, "shown") || !opens(2, ledger.FieldAnswer, entries[1].AnswerDigest, "other") {
		t.Error("a value that stays can no longer be opened")
	}
	if _, err := s.Redact(t.Context(), red); !errors.Is(err, sqlite.ErrNothingToRedact) {
		t.Fatalf("once more: %v", err)
	}
	if _, err := s.Acquire(t.Context(), "S", "h", time.Minute); err != nil {
		t.Fatal(err)
	}
}
