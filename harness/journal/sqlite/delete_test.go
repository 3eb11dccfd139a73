package sqlite_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/journal/sqlite"
	"github.com/looprig/looprig/harness/ledger"
)

// What was deleted must not be confirmed by a guess: the ledger keeps the entries
// of the session, without their salts, and says so.
func TestDeletingTakesTheSaltsAway(t *testing.T) {
	t.Parallel()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "looprig.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for _, id := range []string{"S1", "S2"} {
		lease, err := s.Create(t.Context(), journal.Meta{Session: id}, "h")
		if err != nil {
			t.Fatal(err)
		}
		drafts := []ledger.Draft{
			{Kind: ledger.KindIntent, Session: id, Call: "c1", ArgsDigest: digestOf("secret")},
			{Kind: ledger.KindOutcome, Session: id, Call: "c1", ResultDigest: digestOf("secret")},
			{Kind: ledger.KindReconfiguration, Session: id}, // nothing to open
		}
		if _, err := s.Append(t.Context(), lease, journal.Batch{Ledger: drafts}); err != nil {
			t.Fatal(err)
		}
		if err := s.Release(t.Context(), lease); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Delete(t.Context(), "S1"); err != nil {
		t.Fatal(err)
	}
	for seq, want := range []int{0, 0, 0, 1, 1, 0, 0} {
		if salts, err := s.LedgerSalts(t.Context(), uint64(seq+1)); err != nil || len(salts) != want {
			t.Errorf("entry %d has %d salts, %v", seq+1, len(salts), err)
		}
	}
	rep, err := ledger.Verify(t.Context(), s)
	if err != nil || rep.Entries != 7 || rep.Redacted != 2 {
		t.Fatalf("%+v, %v", rep, err)
	}
	last, err := s.LedgerTail(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	e, err := ledger.Open(last[0])
	if err != nil || e.Kind != ledger.KindRedaction || e.Session != "S1" || e.Detail != sqlite.DetailDeleted || !slices.Equal(e.Redacts, []uint64{1, 2}) {
		t.Fatalf("%+v, %v", e, err)
	}
}
