package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/journal/journaltest"
	"github.com/looprig/looprig/harness/journal/sqlite"
	"github.com/looprig/looprig/harness/ledger"
)

// version1 is a copy of a database that version 1 of the schema's program wrote.
func version1(t *testing.T) string { return oldFile(t, "v1.db") }

func oldFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "looprig.db")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestVersion1IsBroughtUpToDate(t *testing.T) {
	t.Parallel()
	path := version1(t)
	if _, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, ReadOnly: true}); !isVersion(err, 1) {
		t.Fatalf("reading an old file: %v", err)
	}
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if rep, err := ledger.Verify(t.Context(), s); err != nil || rep.Entries != 6 {
		t.Fatalf("verify %+v, %v", rep, err)
	}
	if err := journaltest.CheckInvariants(t.Context(), s, []journaltest.Acked{{Session: "OLD2", Seq: 3, Line: []byte(`{"v":1,"seq":3,"session":"OLD2"}`)}}); err != nil {
		t.Fatal(err)
	}
	metas, err := s.List(t.Context(), journal.Query{Text: "VERSION 1"})
	if err != nil || len(metas) != 2 || metas[0].Parent != "" || metas[0].Open != "" {
		t.Fatalf("list %+v, %v", metas, err)
	}
	// Which session names a body is known of old records too.
	digest := digestOf("a body of version 1")
	if _, err := s.Blob(t.Context(), digest); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), "OLD1"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Blob(t.Context(), digest); err == nil || holds(t, path, "a body of version 1") {
		t.Fatalf("the body of the deleted session: %v", err)
	}
}

// A file of version 2 gets the tree over what its ledger has, and an id.
func TestVersion2IsBroughtUpToDate(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	for range 2 {
		path := oldFile(t, "v2.db")
		s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		id, err := s.HomeID(t.Context())
		if err != nil || len(id) != 32 || ids[id] {
			t.Fatalf("id %q, %v", id, err)
		}
		ids[id] = true
		rep, err := ledger.Verify(t.Context(), s)
		if err != nil || rep.Entries != 6 || rep.OpenTotal != 6 {
			t.Fatalf("verify %+v, %v", rep, err)
		}
		// Entries of old and of now are one chain and one tree.
		lease, err := s.Acquire(t.Context(), "OLD2", "h", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			if _, err := s.Append(t.Context(), lease, journal.Batch{ExpectedSeq: 3, Ledger: []ledger.Draft{{
				Kind: ledger.KindOutcome, Session: "OLD2", Call: fmt.Sprint("c", i), ResultDigest: digestOf("x"),
			}}}); err != nil {
				t.Fatal(err)
			}
		}
		rep, err = ledger.Verify(t.Context(), s)
		if err != nil || rep.Entries != 9 || rep.OpenTotal != 3 {
			t.Fatalf("verify %+v, %v", rep, err)
		}
		if root, err := s.LedgerRoot(t.Context(), 9); err != nil || (ledger.Checkpoint{Root: root}).RootText() != rep.Root {
			t.Fatalf("root %v, %v, want %s", root, err, rep.Root)
		}
		if snap, ok, err := s.Snapshot(t.Context(), "OLD1"); err != nil || !ok || string(snap.Body) != "a snapshot" {
			t.Fatalf("snapshot %+v %v %v", snap, ok, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		if same, err := again.HomeID(t.Context()); err != nil || same != id {
			t.Fatalf("the id was %s, is %s, %v", id, same, err)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A file of version 3 keeps its grants, of which it is not known what they were
// given for beside the definition.
func TestVersion3IsBroughtUpToDate(t *testing.T) {
	t.Parallel()
	path := oldFile(t, "v3.db")
	if _, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, ReadOnly: true}); !isVersion(err, 3) {
		t.Fatalf("reading an old file: %v", err)
	}
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if rep, err := ledger.Verify(t.Context(), s); err != nil || rep.Entries != 2 {
		t.Fatalf("verify %+v, %v", rep, err)
	}
	all, err := s.Grants(t.Context())
	if err != nil || len(all) != 1 || all[0].ID != "01OLD" || all[0].Digest != "sha256:aa" || all[0].When != ".a < 10" || all[0].Pin != "" {
		t.Fatalf("%+v %v", all, err)
	}
	next := all[0]
	next.ID, next.Digest, next.Pin = "01NEW", "sha256:bb", "sha256:pin"
	if _, err := s.AddGrant(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	if got := s.GrantsFor(t.Context(), next.Tool); len(got) != 2 || got[0].Pin+got[1].Pin != next.Pin {
		t.Fatalf("%+v", got)
	}
}

func TestManyBringAFileUpToDateAtOnce(t *testing.T) {
	t.Parallel()
	path := version1(t)
	errs := make(chan error)
	const stores = 8
	for range stores {
		go func() {
			s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
			if err == nil {
				_, err = s.List(t.Context(), journal.Query{})
				err = errors.Join(err, s.Close())
			}
			errs <- err
		}()
	}
	for range stores {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}

func isVersion(err error, have int) bool {
	var v *sqlite.VersionError
	return errors.As(err, &v) && v.Have == have
}

// Whoever began a database may have been killed before its tables were there:
// that is no database yet, and no damage.
func TestUnmadeDatabase(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]string{"an empty file": "", "turned into WAL mode": "PRAGMA journal_mode=WAL", "with an undone transaction": "BEGIN; CREATE TABLE sessions (id TEXT); ROLLBACK"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "looprig.db")
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if begin != "" {
				db, err := sql.Open("sqlite", path)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := db.ExecContext(t.Context(), begin); err != nil {
					t.Fatal(err)
				}
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, ReadOnly: true}); !errors.Is(err, sqlite.ErrUnmade) || !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("to read: %v", err)
			}
			s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
			if err != nil {
				t.Fatalf("to write: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			r, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, ReadOnly: true})
			if err != nil {
				t.Fatalf("afterwards: %v", err)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
