package sqlite_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/journal/journaltest"
	"github.com/looprig/looprig/harness/journal/sqlite"
	"github.com/looprig/looprig/harness/ledger"
)

const canary = "CANARY-7f3a91"

// The bodies of the test and their digests.
const sharedBody = "shared"

var secretBody = strings.Repeat(canary, 2000)

func digestOf(body string) string {
	sum := sha256.Sum256([]byte(body))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// withCanaries fills two sessions in turns, so that rows of one move between
// pages when rows of the other come. Session "secret" is full of canaries.
func withCanaries(t *testing.T) (string, *sqlite.Store) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "looprig.db")
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	var leases []journal.Lease
	for _, id := range []string{"secret", "plain"} {
		lease, err := s.Create(t.Context(), journal.Meta{Session: id, Title: "t"}, "h")
		if err != nil {
			t.Fatal(err)
		}
		leases = append(leases, lease)
	}
	for i := range uint64(200) {
		for j, text := range []string{canary, "nothing"} {
			b := journal.Batch{ExpectedSeq: i, Records: []journal.Record{{
				Seq: i + 1, Type: "notice",
				Line: fmt.Appendf(nil, `{"n":%d,"text":%q,"blob":%q}`, i, strings.Repeat(text+" ", int(i%40)+1), digestOf(sharedBody)),
			}}}
			if j == 0 {
				b.Blobs = []journal.Blob{{Digest: digestOf(secretBody), Body: []byte(secretBody)}}
			} else {
				b.Blobs = []journal.Blob{{Digest: digestOf(sharedBody), Body: []byte(sharedBody)}}
			}
			b.Ledger = []ledger.Draft{{Kind: ledger.KindDecision, Session: leases[j].Session}}
			if _, err := s.Append(t.Context(), leases[j], b); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.SaveSnapshot(t.Context(), leases[0], journal.Snapshot{Seq: 5, Body: []byte(strings.Repeat(canary, 3000))}); err != nil {
		t.Fatal(err)
	}
	for _, lease := range leases {
		if err := s.Release(t.Context(), lease); err != nil {
			t.Fatal(err)
		}
	}
	if !holds(t, path, canary) {
		t.Fatal("the canary cannot be found even before it is erased")
	}
	return path, s
}

// holds reports whether any file of the database has the text.
func holds(t *testing.T, path, text string) bool {
	t.Helper()
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) == 0 {
		t.Fatalf("files %v, %v", files, err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(b, []byte(text)) {
			return true
		}
	}
	return false
}

func TestDeletedBytesAreGoneFromTheFiles(t *testing.T) {
	t.Parallel()
	path, s := withCanaries(t)
	if err := s.Delete(t.Context(), "secret"); err != nil {
		t.Fatal(err)
	}
	if holds(t, path, canary) {
		t.Error("the text of a deleted session is in the files")
	}
	checkRest(t, s, "plain")
}

func checkRest(t *testing.T, s *sqlite.Store, id string) {
	t.Helper()
	if err := journaltest.CheckInvariants(t.Context(), s, []journaltest.Acked{{
		Session: id, Seq: 1, Line: fmt.Appendf(nil, `{"n":0,"text":"nothing ","blob":%q}`, digestOf(sharedBody)),
	}}); err != nil {
		t.Error(err)
	}
	if b, err := s.Blob(t.Context(), digestOf(sharedBody)); err != nil || string(b.Body) != sharedBody {
		t.Errorf("the body that another session names: %q, %v", b.Body, err)
	}
}

func TestRewrittenBytesAreGoneFromTheFiles(t *testing.T) {
	t.Parallel()
	path, s := withCanaries(t)
	stop := errors.New("stop")
	if _, err := s.RewriteRecords(t.Context(), "secret", func(r journal.Record) ([]byte, error) {
		if r.Seq == 3 {
			return nil, stop
		}
		return []byte("undone"), nil
	}); !errors.Is(err, stop) || !holds(t, path, canary) {
		t.Fatalf("a rewriting that stops: %v", err)
	}
	n, err := s.RewriteRecords(t.Context(), "secret", func(r journal.Record) ([]byte, error) {
		if r.Seq == 200 {
			return bytes.ReplaceAll(r.Line, []byte(canary), []byte("-")), nil
		}
		return bytes.ReplaceAll(bytes.ReplaceAll(r.Line, []byte(canary), []byte("-")), []byte(digestOf(sharedBody)), nil), nil
	})
	if err != nil || n != 200 {
		t.Fatalf("rewrote %d, %v", n, err)
	}
	if err := s.DeleteBlob(t.Context(), digestOf(secretBody)); err != nil {
		t.Fatal(err)
	}
	if holds(t, path, canary) {
		t.Error("the rewritten text is in the files")
	}
	if _, ok, err := s.Snapshot(t.Context(), "secret"); ok || err != nil {
		t.Errorf("the snapshot of the old text: %v, %v", ok, err)
	}
	checkRest(t, s, "plain")
	lease, err := s.Acquire(t.Context(), "secret", "h", sqlite.LeaseTTL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.RewriteRecords(t.Context(), "secret", func(journal.Record) ([]byte, error) { return nil, nil }); !errors.Is(err, journal.ErrLeased) {
		t.Errorf("rewriting a session that is open: %v", err)
	}
	_ = s.Release(t.Context(), lease)
}

// A process may die after a deletion was committed and before the files were
// written anew: the next that opens the database does that.
func TestAnErasureThatWasCutShortIsEndedByTheNextOpen(t *testing.T) {
	t.Parallel()
	path, s := withCanaries(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	for _, stmt := range []string{
		"PRAGMA secure_delete(OFF)", "DELETE FROM records WHERE session='secret'", "DELETE FROM snapshots", "DELETE FROM sessions WHERE id='secret'",
		"DELETE FROM blobs WHERE mime='' AND length(body)>1000", "INSERT INTO home VALUES ('erase', x'00')",
	} {
		if _, err := db.ExecContext(t.Context(), stmt); err != nil {
			t.Fatal(stmt, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if !holds(t, path, canary) {
		t.Fatal("nothing was left over: the test shows nothing")
	}
	again, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = again.Close() }()
	if holds(t, path, canary) {
		t.Error("what was left over is still in the files")
	}
}

// A reader that stopped in the middle must not keep the log from being emptied.
func TestDeletingWhileOthersRead(t *testing.T) {
	t.Parallel()
	path, s := withCanaries(t)
	for r, err := range s.Read(t.Context(), "plain", 1) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Seq == 2 {
			if err := s.Delete(context.Background(), "secret"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if holds(t, path, canary) {
		t.Error("the text is in the files")
	}
}
