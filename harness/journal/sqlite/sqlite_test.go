package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/journal/journaltest"
	"github.com/looprig/looprig/harness/journal/sqlite"
	"github.com/looprig/looprig/harness/ledger"
)

// childMain, when set, is what this program does when a test has started it as
// one of several processes.
var childMain func(job string)

const childVar = "LOOPRIG_STORE_CHILD"

func TestMain(m *testing.M) {
	if job := os.Getenv(childVar); job != "" && childMain != nil {
		childMain(job)
		return
	}
	goleak.VerifyTestMain(m)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	journaltest.Run(t, func(t *testing.T) journaltest.Opener {
		// The path has what would be special in a URL.
		path := filepath.Join(t.TempDir(), "a?b#c %41", "looprig.db")
		return func(t *testing.T, now func() time.Time) journal.Store {
			s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Now: now})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
	})
}

func filled(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "looprig.db")
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	lease, err := s.Create(t.Context(), journal.Meta{Session: "S"}, "h")
	if err != nil {
		t.Fatal(err)
	}
	for i := range uint64(6) {
		b := journal.Batch{ExpectedSeq: i, Records: []journal.Record{{Seq: i + 1, Type: "notice", Time: time.Unix(0, 0), Line: fmt.Appendf(nil, `{"seq":%d}`, i+1)}}}
		kind, call := ledger.KindIntent, fmt.Sprintf("c%d", i/2)
		if i%2 == 1 {
			kind = ledger.KindOutcome
		}
		b.Ledger = []ledger.Draft{{Kind: kind, Session: "S", Call: call}}
		if _, err := s.Append(t.Context(), lease, b); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func tamper(t *testing.T, path, stmt string) *sqlite.Store {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), stmt); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestLedgerTamperingIsFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stmt string
		seq  uint64
	}{
		"a field edited":        {`UPDATE ledger SET body = replace(body, 'c1', 'c9') WHERE seq=3`, 3},
		"a hash edited":         {`UPDATE ledger SET hash = 'sha256:00' WHERE seq=2`, 2},
		"one deleted":           {`DELETE FROM ledger WHERE seq=4`, 4},
		"the first deleted":     {`DELETE FROM ledger WHERE seq=1`, 1},
		"two swapped":           {`UPDATE ledger SET seq=-1 WHERE seq=3; UPDATE ledger SET seq=3 WHERE seq=4; UPDATE ledger SET seq=4 WHERE seq=-1`, 3},
		"one duplicated":        {`INSERT INTO ledger SELECT 7, hash, body FROM ledger WHERE seq=6`, 7},
		"a body made different": {`UPDATE ledger SET body = body || ' ' WHERE seq=5`, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tamper(t, filled(t), c.stmt)
			_, err := ledger.Verify(t.Context(), s)
			var bad *ledger.BadEntryError
			if !errors.As(err, &bad) || bad.Seq != c.seq {
				t.Fatalf("verify says %v, want entry %d", err, c.seq)
			}
		})
	}
}

func TestJournalTamperingIsFound(t *testing.T) {
	t.Parallel()
	for name, stmt := range map[string]string{
		"a line edited":    `UPDATE records SET line = '{"seq":9}' WHERE seq=3`,
		"one deleted":      `DELETE FROM records WHERE seq=3`,
		"the last deleted": `DELETE FROM records WHERE seq=6`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := tamper(t, filled(t), stmt)
			var last error
			for _, err := range s.Read(t.Context(), "S", 1) {
				last = err
			}
			var bad *journal.CorruptError
			if !errors.As(last, &bad) {
				t.Fatalf("read ends with %v", last)
			}
		})
	}
}

func TestAForeignFileIsTypedCorruption(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "looprig.db")
	if err := os.WriteFile(path, []byte("this is not a database, and longer than a header of one hundred bytes would have to be, to be sure of it......"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	var bad *journal.CorruptError
	if !errors.As(err, &bad) {
		t.Fatalf("open says %v", err)
	}
}

func TestANewerVersionIsRefused(t *testing.T) {
	t.Parallel()
	path := filled(t)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "PRAGMA user_version = 99"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = sqlite.Open(t.Context(), sqlite.Options{Path: path})
	var v *sqlite.VersionError
	if !errors.As(err, &v) || v.Have != 99 {
		t.Fatalf("open says %v", err)
	}
}

func TestOwnerOnlyFiles(t *testing.T) {
	t.Parallel()
	path := filled(t)
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if _, err := s.Create(t.Context(), journal.Meta{Session: "T"}, "h"); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) < 2 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, f := range files {
		st, err := os.Stat(f)
		if err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", f, st.Mode(), err)
		}
	}
}

func TestTwoStoresShareAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "looprig.db")
	const each = 30
	errs := make(chan error, 2)
	for i := range 2 {
		go func() { errs <- appendMany(path, fmt.Sprintf("S%d", i), each) }()
	}
	for range 2 {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if rep, err := ledger.Verify(t.Context(), s); err != nil || rep.Entries != 2*each {
		t.Fatalf("verify %+v, %v", rep, err)
	}
}

func appendMany(path, session string, n uint64) (err error) {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, sqlite.Options{Path: path})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	lease, err := s.Create(ctx, journal.Meta{Session: session}, session)
	if err != nil {
		return err
	}
	for i := range n {
		_, err := s.Append(ctx, lease, journal.Batch{
			ExpectedSeq: i, Records: []journal.Record{{Seq: i + 1, Type: "notice", Line: []byte("{}")}},
			Ledger: []ledger.Draft{{Kind: ledger.KindDecision, Session: session}},
		})
		if err != nil {
			return err
		}
	}
	return nil
}
