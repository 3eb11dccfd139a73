package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/looprig/looprig/harness/journal/sqlite"
	"github.com/looprig/looprig/harness/ledger"
	"github.com/looprig/looprig/harness/ledger/anchor"
)

// whole is a draft with every field set.
func whole(t *testing.T, kind ledger.Kind, call string) ledger.Draft {
	t.Helper()
	var d ledger.Draft
	v := reflect.ValueOf(&d).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString("value " + v.Type().Field(i).Name)
		case reflect.Int:
			f.SetInt(2)
		case reflect.Slice:
			if f.Type().Elem().Kind() == reflect.String {
				f.Set(reflect.ValueOf([]string{"a", "b"}))
			}
		default:
			t.Fatalf("a field %s of kind %s: say how to fill it", v.Type().Field(i).Name, f.Kind())
		}
	}
	d.Kind, d.Call, d.Redacts = kind, call, nil
	d.ArgsDigest, d.PromptDigest, d.ResultDigest, d.AnswerDigest = digestOf("a"), digestOf("p"), digestOf("r"), digestOf("t")
	return d
}

// tampered is a database of which a raw connection may change anything.
type tampered struct {
	path  string
	db    *sql.DB
	store *sqlite.Store
	heads []ledger.Checkpoint
}

func ledgered(t *testing.T) *tampered {
	t.Helper()
	path := filepath.Join(t.TempDir(), "looprig.db")
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	red := ledger.Draft{Kind: ledger.KindRedaction, Redacts: []uint64{1, 2}, Reason: "why"}
	if _, err := s.AppendLedger(t.Context(), whole(t, ledger.KindIntent, "c1"), whole(t, ledger.KindOutcome, "c1"),
		whole(t, ledger.KindDecision, "c2"), red, whole(t, ledger.KindPin, ""), whole(t, ledger.KindReconfiguration, ""), whole(t, ledger.KindIntent, "c3")); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), "PRAGMA synchronous=OFF"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	x := &tampered{path: path, db: db, store: s}
	x.heads = []ledger.Checkpoint{x.head(t)}
	return x
}

func (x *tampered) head(t *testing.T) ledger.Checkpoint {
	t.Helper()
	size, err := x.store.LedgerSize(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	root, err := x.store.LedgerRoot(t.Context(), size)
	if err != nil {
		t.Fatal(err)
	}
	return ledger.Checkpoint{Origin: "looprig/test", Size: size, Root: root}
}

// with runs statements, verifies, and undoes them.
func (x *tampered) with(t *testing.T, do func(exec func(string, ...any))) error {
	t.Helper()
	exec := func(stmt string, args ...any) {
		if _, err := x.db.ExecContext(t.Context(), stmt, args...); err != nil {
			t.Fatal(stmt, err)
		}
	}
	for _, table := range []string{"ledger", "tree", "salts"} {
		exec("CREATE TEMP TABLE IF NOT EXISTS kept_" + table + " AS SELECT * FROM main." + table)
	}
	do(exec)
	_, err := ledger.VerifyAgainst(t.Context(), x.store, x.heads)
	exec("BEGIN IMMEDIATE")
	for _, table := range []string{"ledger", "tree", "salts"} {
		exec("DELETE FROM main." + table)
		exec("INSERT INTO main." + table + " SELECT * FROM kept_" + table)
	}
	exec("COMMIT")
	return err
}

func names(t *testing.T, what string, err error, seq uint64) {
	t.Helper()
	var bad *ledger.BadEntryError
	if !errors.As(err, &bad) || bad.Seq != seq {
		t.Errorf("%s: verify says %v, want entry %d", what, err, seq)
	}
}

// Every member of every entry is edited, in the place and order that it is stored
// in, with the hash as it was and with one that fits.
func TestVerifyNamesAnEditedField(t *testing.T) {
	t.Parallel()
	x := ledgered(t)
	var stored []ledger.Stored
	for s, err := range x.store.LedgerEntries(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, s)
	}
	fields := reflect.VisibleFields(reflect.TypeFor[ledger.Entry]())
	edits := 0
	for _, s := range stored {
		e, err := ledger.Open(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range fields {
			if f.Anonymous {
				continue
			}
			changed := e
			alter(t, reflect.ValueOf(&changed).Elem().FieldByIndex(f.Index))
			body := bodyOf(t, changed)
			leaf := ledger.LeafHash(body)
			fitting := fmt.Sprintf("sha256:%x", leaf[:])
			hashes := []string{s.Hash, fitting}
			if f.Name == "Hash" {
				hashes = []string{changed.Hash}
			}
			for _, hash := range hashes {
				err := x.with(t, func(exec func(string, ...any)) {
					exec("UPDATE ledger SET body=?, hash=? WHERE seq=?", body, hash, s.Seq)
				})
				edits++
				var bad *ledger.BadEntryError
				var head *ledger.HeadError
				switch {
				// The last entry has no successor: what names it is its node, or the head.
				case hash == fitting && s.Seq == uint64(len(stored)) && errors.As(err, &head):
				// An entry whose hash was made to fit is caught by what stands on it.
				case errors.As(err, &bad) && (bad.Seq == s.Seq || (hash == fitting && bad.Seq == s.Seq+1)):
				default:
					t.Errorf("entry %d, %s: verify says %v", s.Seq, f.Name, err)
				}
			}
		}
	}
	if want := len(stored) * (len(fields) - 2); edits < want {
		t.Errorf("%d edits, want %d", edits, want)
	}
}

func alter(t *testing.T, v reflect.Value) {
	t.Helper()
	switch x := v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(x.Add(time.Second)))
	case []string:
		v.Set(reflect.ValueOf(append(slices.Clone(x), "more")))
	case []uint64:
		v.Set(reflect.ValueOf(append(slices.Clone(x), 3)))
	default:
		switch v.Kind() {
		case reflect.String:
			v.SetString(v.String() + "x")
		case reflect.Int:
			v.SetInt(v.Int() + 1)
		case reflect.Uint64:
			v.SetUint(v.Uint() + 1)
		default:
			t.Fatalf("a field of kind %s", v.Kind())
		}
	}
}

// bodyOf is an entry without its hash, as it is stored.
func bodyOf(t *testing.T, e ledger.Entry) []byte {
	t.Helper()
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		t.Fatal(err)
	}
	i := bytes.LastIndex(buf.Bytes(), []byte(`,"hash":`))
	return append(slices.Clone(buf.Bytes()[:i]), '}')
}

func TestVerifyNamesMissingAndMovedEntries(t *testing.T) {
	t.Parallel()
	x := ledgered(t)
	if _, err := ledger.VerifyAgainst(t.Context(), x.store, x.heads); err != nil {
		t.Fatal(err)
	}
	const last = 7
	for seq := uint64(1); seq < last; seq++ {
		names(t, fmt.Sprint("deleted ", seq), x.with(t, func(exec func(string, ...any)) {
			exec("DELETE FROM ledger WHERE seq=?", seq)
		}), seq)
		names(t, fmt.Sprint("swapped ", seq), x.with(t, func(exec func(string, ...any)) {
			exec("UPDATE ledger SET seq=-1 WHERE seq=?", seq)
			exec("UPDATE ledger SET seq=? WHERE seq=?", seq, seq+1)
			exec("UPDATE ledger SET seq=? WHERE seq=-1", seq+1)
		}), seq)
		names(t, fmt.Sprint("moved up over ", seq), x.with(t, func(exec func(string, ...any)) {
			exec("DELETE FROM ledger WHERE seq=?", seq)
			exec("UPDATE ledger SET seq=-seq WHERE seq>?", seq)
			exec("UPDATE ledger SET seq=-seq-1 WHERE seq<0")
		}), seq)
		names(t, fmt.Sprint("duplicated ", seq), x.with(t, func(exec func(string, ...any)) {
			exec("UPDATE ledger SET (hash, body)=(SELECT hash, body FROM ledger WHERE seq=?) WHERE seq=?", seq, seq+1)
		}), seq+1)
		var head *ledger.HeadError
		err := x.with(t, func(exec func(string, ...any)) {
			for _, table := range []string{"ledger", "tree"} {
				exec("DELETE FROM "+table+" WHERE seq>?", seq)
			}
		})
		if !errors.As(err, &head) || head.Head != last || head.Entries != seq || !strings.Contains(head.Error(), fmt.Sprintf("entry %d is missing", seq+1)) {
			t.Errorf("cut after %d: %v", seq, err)
		}
	}
	names(t, "a copy at the end", x.with(t, func(exec func(string, ...any)) {
		exec("INSERT INTO ledger SELECT 8, hash, body FROM ledger WHERE seq=7")
	}), last+1)
	names(t, "another node", x.with(t, func(exec func(string, ...any)) {
		exec("UPDATE tree SET nodes=zeroblob(length(nodes)) WHERE seq=4")
	}), 4)
	names(t, "no node", x.with(t, func(exec func(string, ...any)) { exec("DELETE FROM tree WHERE seq=2") }), 2)
	names(t, "no salt", x.with(t, func(exec func(string, ...any)) { exec("DELETE FROM salts WHERE entry>=3") }), 3)
}

// An older copy of the whole home verifies by itself, and not against its head,
// however it is gone on with.
func TestOlderCopyIsCaughtByTheHead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "looprig.db")
	run := func(calls ...string) (*sqlite.Store, string) {
		s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range calls {
			if _, err := s.AppendLedger(t.Context(), ledger.Draft{Kind: ledger.KindIntent, Call: c}); err != nil {
				t.Fatal(err)
			}
		}
		id, err := s.HomeID(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s, id
	}
	s, id := run("a", "b")
	dir, err := anchor.At(t.TempDir(), id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dir.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	must(t, s.Close())
	old, err := os.ReadFile(path)
	must(t, err)
	s, _ = run("c", "d")
	_, err = dir.Update(t.Context(), s)
	must(t, err)
	must(t, s.Close())
	must(t, os.WriteFile(path, old, 0o600))
	for n, later := range [][]string{nil, {"x"}, {"y", "z"}} {
		s, again := run(later...)
		if again != id {
			t.Fatal("another id")
		}
		if _, err := ledger.Verify(t.Context(), s); err != nil {
			t.Errorf("by itself: %v", err)
		}
		var head *ledger.HeadError
		if _, err := dir.Update(t.Context(), s); !errors.As(err, &head) || head.Head != 4 {
			t.Errorf("gone on with %d times: the head was moved: %v", n, err)
		}
		kept, err := dir.Read()
		must(t, err)
		if _, err := ledger.VerifyAgainst(context.Background(), s, []ledger.Checkpoint{kept.Checkpoint}); !errors.As(err, &head) {
			t.Errorf("gone on with %d times: %v", n, err)
		}
		must(t, s.Close())
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
