package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/journal/journaltest"
	"github.com/looprig/looprig/harness/journal/sqlite"
	"github.com/looprig/looprig/harness/ledger"
)

// faultsVar set to "full" runs the fault sweeps whole; else they are samples.
const faultsVar = "LOOPRIG_FAULTS"

func full() bool { return os.Getenv(faultsVar) == "full" }

// sample is n for a normal run, all of them for a full one.
func sample(normal, all int) int {
	if full() {
		return all
	}
	return normal
}

// stored is what a database was given.
type stored struct {
	main, wal []byte
	acked     []journaltest.Acked
	blob      string
	entries   uint64
}

// written makes a database of two sessions whose last records are in the log, and
// copies its files while it is open: what a machine that lost power would have.
func written(t *testing.T, moved bool) stored {
	t.Helper()
	path := filepath.Join(t.TempDir(), "looprig.db")
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	out := stored{blob: strings.Repeat("a body apart ", 900)}
	for _, id := range []string{"S1", "S2"} {
		lease, err := s.Create(t.Context(), journal.Meta{Session: id, Title: "title of " + id}, "h")
		if err != nil {
			t.Fatal(err)
		}
		for i := range uint64(12) {
			line := fmt.Appendf(nil, `{"v":1,"seq":%d,"session":%q,"text":%q}`, i+1, id, strings.Repeat("x", int(i*37)))
			b := journal.Batch{ExpectedSeq: i, Records: []journal.Record{{Seq: i + 1, Type: "notice", Line: line}}}
			b.Ledger = []ledger.Draft{{Kind: ledger.KindDecision, Session: id, Call: fmt.Sprint(i)}}
			if i == 3 {
				b.Blobs = []journal.Blob{{Digest: digestOf(out.blob), Body: []byte(out.blob)}}
			}
			if _, err := s.Append(t.Context(), lease, b); err != nil {
				t.Fatal(err)
			}
			out.entries++
			out.acked = append(out.acked, journaltest.Acked{Session: id, Seq: i + 1, Line: line})
		}
		if err := s.Release(t.Context(), lease); err != nil {
			t.Fatal(err)
		}
	}
	if moved {
		if err := s.Close(); err != nil { // moves the log into the main file
			t.Fatal(err)
		}
	} else if out.wal, err = os.ReadFile(path + "-wal"); err != nil {
		t.Fatal(err)
	}
	if out.main, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return out
}

func put(t *testing.T, path string, main, wal []byte) {
	t.Helper()
	_ = os.Remove(path + "-shm")
	if err := os.WriteFile(path, main, 0o600); err != nil {
		t.Fatal(err)
	}
	if wal == nil {
		_ = os.Remove(path + "-wal")
		return
	}
	if err := os.WriteFile(path+"-wal", wal, 0o600); err != nil {
		t.Fatal(err)
	}
}

// survey opens a database and reads all that it holds.
func survey(ctx context.Context, path string) (lines map[string][][]byte, entries uint64, err error) {
	s, err := sqlite.Open(ctx, sqlite.Options{Path: path})
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	metas, err := s.List(ctx, journal.Query{Limit: math.MaxInt32})
	if err != nil {
		return nil, 0, err
	}
	lines = map[string][][]byte{}
	for _, m := range metas {
		for r, err := range s.Read(ctx, m.Session, 1) {
			if err != nil {
				return lines, 0, err
			}
			lines[m.Session] = append(lines[m.Session], r.Line)
		}
	}
	rep, err := ledger.Verify(ctx, s)
	return lines, rep.Entries, err
}

// A log that is cut anywhere leaves a state that once was: what was committed
// before the cut, and nothing of what came after it.
func TestACutLogLeavesAPrefix(t *testing.T) {
	t.Parallel()
	db := written(t, false)
	if err := prefixAt(t, db, len(db.wal), len(db.acked)); err != nil {
		t.Fatalf("the whole log: %v", err)
	}
	step := max(len(db.wal)/sample(60, len(db.wal)), 1)
	last := 0
	for at := 0; at <= len(db.wal); at += step {
		path := filepath.Join(t.TempDir(), "looprig.db")
		put(t, path, db.main, db.wal[:at])
		lines, entries, err := survey(t.Context(), path)
		if err != nil {
			t.Fatalf("cut at %d: %v", at, err)
		}
		n := 0
		for _, a := range db.acked {
			if have := lines[a.Session]; uint64(len(have)) >= a.Seq {
				n++
				if !bytes.Equal(have[a.Seq-1], a.Line) {
					t.Fatalf("cut at %d: session %s seq %d is %s", at, a.Session, a.Seq, have[a.Seq-1])
				}
			}
		}
		if n < last || uint64(n) != entries {
			t.Fatalf("cut at %d: %d records (%d before it) and %d entries", at, n, last, entries)
		}
		last = n
		if err := os.RemoveAll(filepath.Dir(path)); err != nil {
			t.Fatal(err)
		}
	}
}

func prefixAt(t *testing.T, db stored, at, want int) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "looprig.db")
	put(t, path, db.main, db.wal[:at])
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	return journaltest.CheckInvariants(t.Context(), s, db.acked[:want])
}

// A main file that is cut is damage that is told. Cut to nothing it is a new
// database: only a ledger head that is kept elsewhere can tell that.
func TestACutMainFileIsTypedCorruption(t *testing.T) {
	t.Parallel()
	db := written(t, true)
	step := max(len(db.main)/sample(80, len(db.main)), 1)
	path := filepath.Join(t.TempDir(), "looprig.db")
	for at := 1; at < len(db.main); at += step {
		put(t, path, db.main[:at], nil)
		if _, _, err := survey(t.Context(), path); !isCorrupt(err) {
			t.Fatalf("cut at %d of %d: %v", at, len(db.main), err)
		}
	}
}

// A bit that flips may hit what nothing reads. What is read is right or refused.
func TestFlippedBitsNeverReadAsSomethingElse(t *testing.T) {
	t.Parallel()
	db := written(t, true)
	want := map[string][][]byte{}
	for _, a := range db.acked {
		want[a.Session] = append(want[a.Session], a.Line)
	}
	step := max(len(db.main)/sample(400, len(db.main)), 1)
	path := filepath.Join(t.TempDir(), "looprig.db")
	told := 0
	for at := 0; at < len(db.main); at += step {
		damaged := bytes.Clone(db.main)
		damaged[at] ^= 1 << (at / step % 8)
		put(t, path, damaged, nil)
		if err := surveyFlipped(t.Context(), path, db, want); err != nil {
			if !isCorrupt(err) {
				t.Errorf("bit in byte %d: %v", at, err)
			}
			told++
		}
	}
	if told == 0 {
		t.Error("no flip was noticed: the test shows nothing")
	}
}

// surveyFlipped reads the sessions by name and returns the error that tells the
// damage; what is read and is not what was written is an error of its own.
func surveyFlipped(ctx context.Context, path string, db stored, want map[string][][]byte) (err error) {
	s, err := sqlite.Open(ctx, sqlite.Options{Path: path, ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	var told error
	for id, lines := range want {
		n := 0
		for r, err := range s.Read(ctx, id, 1) {
			if err != nil {
				told = err
				break
			}
			if n >= len(lines) || !bytes.Equal(r.Line, lines[n]) {
				return fmt.Errorf("session %s seq %d reads as %q", id, r.Seq, r.Line)
			}
			n++
		}
		if told == nil && n != len(lines) {
			return fmt.Errorf("session %s reads as %d records", id, n)
		}
	}
	if rep, err := ledger.Verify(ctx, s); err != nil {
		told = errors.Join(told, err)
	} else if rep.Entries != db.entries {
		return fmt.Errorf("the ledger reads as %d entries", rep.Entries)
	}
	if b, err := s.Blob(ctx, digestOf(db.blob)); err != nil {
		told = errors.Join(told, err)
	} else if string(b.Body) != db.blob {
		return errors.New("the body reads as another")
	}
	return told
}

// isCorrupt reports whether an error says that what is stored cannot be trusted.
func isCorrupt(err error) bool {
	var bad *journal.CorruptError
	var version *sqlite.VersionError
	return errors.As(err, &bad) || errors.As(err, &version) || ledger.IsBad(err)
}
