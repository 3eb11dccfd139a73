package sqlite_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/journal/sqlite"
	"github.com/looprig/looprig/harness/ledger"
	"github.com/looprig/looprig/harness/ledger/coverage"
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
		if _, err := s.Append(t.Context(), lease, journal.Batch{Records: []journal.Record{{Seq: 1, Type: "notice", Line: []byte(`{}`)}}, Ledger: drafts}); err != nil {
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
	rows, err := coverage.Check(t.Context(), s)
	if err == nil || !strings.Contains(err.Error(), "entry 4") { // the records of S2 do not tell its call
		t.Fatalf("%+v, %v", rows, err)
	}
	if len(rows) != 1 || rows[0].Session != "S1" || !rows[0].Deleted {
		t.Errorf("%+v", rows)
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
	if err != nil || e.Kind != ledger.KindRedaction || e.Session != "S1" || e.Detail != ledger.DetailDeleted || !slices.Equal(e.Redacts, []uint64{1, 2}) {
		t.Fatalf("%+v, %v", e, err)
	}
}

// A session whose maker was killed before its first record is in nobody's way:
// it is not listed, and gone once its lease has run out and another is made.
func TestStillbornSessions(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "looprig.db"), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	parent, err := s.Create(t.Context(), journal.Meta{Session: "P"}, "h")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), parent, journal.Batch{Records: []journal.Record{{Seq: 1, Type: "notice", Line: []byte(`{}`)}}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Release(t.Context(), parent); err != nil {
		t.Fatal(err)
	}
	for _, m := range []journal.Meta{{Session: "S"}, {Session: "F", Parent: "P", ParentSeq: 1}} {
		if _, err := s.Create(t.Context(), m, "dead"); err != nil {
			t.Fatal(err)
		}
	}
	if metas, err := s.List(t.Context(), journal.Query{}); err != nil || len(metas) != 1 || metas[0].Session != "P" {
		t.Fatalf("%+v, %v", metas, err)
	}
	if err := s.Delete(t.Context(), "P"); !errors.Is(err, journal.ErrForked) {
		t.Fatalf("while the fork may still get records: %v", err)
	}
	now = now.Add(2 * sqlite.LeaseTTL)
	if err := s.Delete(t.Context(), "P"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(t.Context(), journal.Meta{Session: "N"}, "h"); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"S", "F"} {
		if _, err := s.Acquire(t.Context(), id, "h", time.Minute); !errors.Is(err, journal.ErrNotFound) {
			t.Errorf("%s is still there: %v", id, err)
		}
	}
}

// A journal that is gone although nobody deleted it is found.
func TestAJournalThatIsGone(t *testing.T) {
	t.Parallel()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "looprig.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for _, id := range []string{"kept", "gone"} {
		lease, err := s.Create(t.Context(), journal.Meta{Session: id}, "h")
		if err != nil {
			t.Fatal(err)
		}
		batch := journal.Batch{Records: []journal.Record{{Seq: 1, Type: "notice", Line: []byte(`{}`)}}, Ledger: []ledger.Draft{{Kind: ledger.KindReconfiguration, Session: id}}}
		if id == "gone" {
			batch.Records = nil // as if they had been taken out
		}
		if _, err := s.Append(t.Context(), lease, batch); err != nil {
			t.Fatal(err)
		}
		if err := s.Release(t.Context(), lease); err != nil {
			t.Fatal(err)
		}
	}
	var bad *ledger.BadEntryError
	if _, err := coverage.Check(t.Context(), s); !errors.As(err, &bad) || bad.Seq != 2 {
		t.Fatalf("%v", err)
	}
	if err := s.Delete(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	rows, err := coverage.Check(t.Context(), s)
	if err != nil || len(rows) != 2 || !rows[0].Deleted || rows[1].Deleted {
		t.Errorf("%+v, %v", rows, err)
	}
}
