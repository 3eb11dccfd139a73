// Package journaltest is the conformance suite of journal stores: every
// implementation runs it, so that a session may rely on the same promises
// whatever holds its journal.
package journaltest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/ledger"
)

// Opener opens the same storage anew at each call; the suite closes what it
// opens. now is the store's clock.
type Opener func(t *testing.T, now func() time.Time) journal.Store

// Run runs the whole suite; fresh gives an Opener over new, empty storage.
func Run(t *testing.T, fresh func(t *testing.T) Opener) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Opener){
		"append and read":          appendAndRead,
		"conflicts are refused":    conflicts,
		"batches are atomic":       atomic,
		"leases fence":             fencing,
		"idempotency keys":         idempotency,
		"reopen":                   reopen,
		"blobs":                    blobs,
		"listing":                  listing,
		"concurrent sessions":      concurrent,
		"ledger in one chain":      chain,
		"read from the middle":     readFrom,
		"errors name the session":  unknown,
		"forks":                    forks,
		"search":                   searching,
		"open sessions are told":   openSessions,
		"a closed session again":   closedAgain,
		"watch":                    watching,
		"delete":                   deleting,
		"delete keeps shared":      deletingShared,
		"snapshots":                snapshots,
		"invariants":               invariants,
		"grants with their record": grants,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, fresh(t))
		})
	}
}

// Clock is a settable clock.
type Clock struct {
	mu sync.Mutex
	t  time.Time
}

// NewClock starts at a fixed time.
func NewClock() *Clock {
	return &Clock{t: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
}

// Now reads the clock.
func (c *Clock) Now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.t }

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) { c.mu.Lock(); defer c.mu.Unlock(); c.t = c.t.Add(d) }

func record(seq uint64, text string) journal.Record {
	return journal.Record{
		Seq: seq, Type: "notice", Time: time.Date(2026, 11, 30, 12, 0, 0, 1000, time.UTC),
		Line: fmt.Appendf(nil, `{"v":1,"seq":%d,"text":%q}`, seq, text),
	}
}

func open(t *testing.T, o Opener, now func() time.Time) journal.Store {
	t.Helper()
	s := o(t, now)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func create(t *testing.T, s journal.Store, id string) journal.Lease {
	t.Helper()
	lease, err := s.Create(t.Context(), journal.Meta{Session: id, Title: "t", Mode: "headless", Model: "scripted"}, "holder-a")
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	return lease
}

func mustAppend(t *testing.T, s journal.Store, lease journal.Lease, expected uint64, recs ...journal.Record) {
	t.Helper()
	if _, err := s.Append(t.Context(), lease, journal.Batch{ExpectedSeq: expected, Records: recs}); err != nil {
		t.Fatalf("append after %d: %v", expected, err)
	}
}

func readAll(t *testing.T, s journal.Store, id string, from uint64) []journal.Record {
	t.Helper()
	var out []journal.Record
	for r, err := range s.Read(t.Context(), id, from) {
		if err != nil {
			t.Fatalf("read: %v", err)
		}
		out = append(out, r)
	}
	return out
}

func wantLines(t *testing.T, got []journal.Record, want ...journal.Record) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("read %d records, want %d", len(got), len(want))
	}
	for i := range got {
		if string(got[i].Line) != string(want[i].Line) || got[i].Seq != want[i].Seq || got[i].Type != want[i].Type || !got[i].Time.Equal(want[i].Time) {
			t.Errorf("record %d is %+v (%s), want %+v (%s)", i, got[i], got[i].Line, want[i], want[i].Line)
		}
	}
}

func wantErr(t *testing.T, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("error is %v, want %v", got, want)
	}
}

func appendAndRead(t *testing.T, o Opener) {
	s := open(t, o, NewClock().Now)
	lease := create(t, s, "S1")
	a, b, c := record(1, "a"), record(2, "b\u202e\x00"), record(3, "c")
	mustAppend(t, s, lease, 0, a)
	mustAppend(t, s, lease, 1, b, c)
	wantLines(t, readAll(t, s, "S1", 1), a, b, c)
	for r, err := range s.Read(t.Context(), "S1", 1) {
		if err != nil || r.Seq != 1 {
			t.Fatalf("first record is %v, %v", r.Seq, err)
		}
		break // a reader may stop early
	}
}

func conflicts(t *testing.T, o Opener) {
	s := open(t, o, NewClock().Now)
	lease := create(t, s, "S1")
	mustAppend(t, s, lease, 0, record(1, "a"))
	for _, b := range []journal.Batch{
		{ExpectedSeq: 0, Records: []journal.Record{record(1, "again")}},
		{ExpectedSeq: 2, Records: []journal.Record{record(3, "gap")}},
		{ExpectedSeq: 1, Records: []journal.Record{record(3, "gap")}},
	} {
		_, err := s.Append(t.Context(), lease, b)
		wantErr(t, err, journal.ErrConflict)
	}
	_, err := s.Create(t.Context(), journal.Meta{Session: "S1"}, "x")
	wantErr(t, err, journal.ErrExists)
	mustAppend(t, s, lease, 1, record(2, "b"))
	wantLines(t, readAll(t, s, "S1", 1), record(1, "a"), record(2, "b"))
}

func atomic(t *testing.T, o Opener) {
	s := open(t, o, NewClock().Now)
	lease := create(t, s, "S1")
	// The batch is refused for its sequence: its ledger entry must not appear.
	_, err := s.Append(t.Context(), lease, journal.Batch{
		ExpectedSeq: 7, Records: []journal.Record{record(8, "x")},
		Ledger: []ledger.Draft{{Kind: ledger.KindIntent, Session: "S1", Call: "c0"}},
	})
	wantErr(t, err, journal.ErrConflict)
	sealed, err := s.Append(t.Context(), lease, journal.Batch{
		Records: []journal.Record{record(1, "x")},
		Ledger:  []ledger.Draft{{Kind: ledger.KindIntent, Session: "S1", Call: "c1"}},
	})
	if err != nil || len(sealed) != 1 || sealed[0].Seq != 1 || sealed[0].Call != "c1" {
		t.Fatalf("sealed %+v, %v", sealed, err)
	}
}

func fencing(t *testing.T, o Opener) {
	clock := NewClock()
	s := open(t, o, clock.Now)
	lease := create(t, s, "S1")
	mustAppend(t, s, lease, 0, record(1, "a"))
	_, err := s.Acquire(t.Context(), "S1", "holder-b", time.Minute)
	wantErr(t, err, journal.ErrLeased)
	clock.Advance(time.Hour)
	second, err := s.Acquire(t.Context(), "S1", "holder-b", time.Minute)
	if err != nil {
		t.Fatalf("acquire after expiry: %v", err)
	}
	_, err = s.Append(t.Context(), lease, journal.Batch{ExpectedSeq: 1, Records: []journal.Record{record(2, "old")}})
	wantErr(t, err, journal.ErrFenced)
	wantErr(t, s.Renew(t.Context(), lease, time.Minute), journal.ErrFenced)
	mustAppend(t, s, second, 1, record(2, "new"))
	if err := s.Release(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	_, err = s.Append(t.Context(), second, journal.Batch{ExpectedSeq: 2, Records: []journal.Record{record(3, "released")}})
	wantErr(t, err, journal.ErrFenced)
	third, err := s.Acquire(t.Context(), "S1", "holder-c", time.Minute)
	if err != nil {
		t.Fatalf("acquire after release: %v", err)
	}
	mustAppend(t, s, third, 2, record(3, "c"))
}

func idempotency(t *testing.T, o Opener) {
	s := open(t, o, NewClock().Now)
	lease := create(t, s, "S1")
	r := record(1, "a")
	r.Key = "k1"
	batch := journal.Batch{Records: []journal.Record{r}, Ledger: []ledger.Draft{{Kind: ledger.KindIntent, Session: "S1", Call: "c1"}}}
	for again, want := range []int{1, 0} { // the same append again is the same append
		if got, err := s.Append(t.Context(), lease, batch); err != nil || len(got) != want {
			t.Fatalf("append %d: %d entries, %v", again+1, len(got), err)
		}
	}
	if got := readAll(t, s, "S1", 1); len(got) != 1 || got[0].Key != "k1" {
		t.Fatalf("read %+v", got)
	}
}

func reopen(t *testing.T, o Opener) {
	clock := NewClock()
	s := o(t, clock.Now)
	lease := create(t, s, "S1")
	mustAppend(t, s, lease, 0, record(1, "a"))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), lease, journal.Batch{ExpectedSeq: 1, Records: []journal.Record{record(2, "b")}}); !errors.Is(err, journal.ErrClosed) {
		t.Fatalf("append after close: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatalf("second close: %v", err)
	}
	again := open(t, o, clock.Now)
	wantLines(t, readAll(t, again, "S1", 1), record(1, "a"))
	mustAppend(t, again, lease, 1, record(2, "b"))
}

func blobs(t *testing.T, o Opener) {
	s := open(t, o, NewClock().Now)
	lease := create(t, s, "S1")
	blob := blobOf("body")
	for i := range uint64(2) { // stored once, however often it is referred to
		_, err := s.Append(t.Context(), lease, journal.Batch{ExpectedSeq: i, Records: []journal.Record{record(i+1, "r")}, Blobs: []journal.Blob{blob}})
		if err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Blob(t.Context(), blob.Digest)
	if err != nil || string(got.Body) != "body" || got.MIME != "text/plain" {
		t.Fatalf("blob %+v, %v", got, err)
	}
	if _, err := s.Blob(t.Context(), "sha256:bb"); err == nil {
		t.Fatal("a body that was never stored was found")
	}
}

func listing(t *testing.T, o Opener) {
	clock := NewClock()
	s := open(t, o, clock.Now)
	for _, id := range []string{"A1", "A_2", "B1"} {
		lease := create(t, s, id)
		turn := record(1, "x")
		turn.Type = "turn.started"
		mustAppend(t, s, lease, 0, turn)
		clock.Advance(time.Second)
	}
	all, err := s.List(t.Context(), journal.Query{})
	if err != nil || len(all) != 3 || all[0].Session != "B1" || all[2].Session != "A1" || all[0].Turns != 1 || all[0].Records != 1 {
		t.Fatalf("list %+v, %v", all, err)
	}
	some, err := s.List(t.Context(), journal.Query{Prefix: "A_", Limit: 5})
	if err != nil || len(some) != 1 || some[0].Session != "A_2" {
		t.Fatalf("list with prefix %+v, %v", some, err)
	}
}

func concurrent(t *testing.T, o Opener) {
	const sessions, each = 8, 25
	s := open(t, o, NewClock().Now)
	var wg sync.WaitGroup
	for i := range sessions {
		lease := create(t, s, fmt.Sprintf("S%d", i))
		wg.Go(func() {
			for n := range uint64(each) {
				_, err := s.Append(context.Background(), lease, journal.Batch{
					ExpectedSeq: n, Records: []journal.Record{record(n+1, "x")},
					Ledger: []ledger.Draft{{Kind: ledger.KindDecision, Session: lease.Session, Call: fmt.Sprint(n)}},
				})
				if err != nil {
					t.Errorf("append: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	for i := range sessions {
		if got := readAll(t, s, fmt.Sprintf("S%d", i), 1); len(got) != each {
			t.Errorf("session %d has %d records", i, len(got))
		}
	}
	verify(t, s, sessions*each)
}

func chain(t *testing.T, o Opener) {
	clock := NewClock()
	s := o(t, clock.Now)
	a, b := create(t, s, "A"), create(t, s, "B")
	for i, lease := range []journal.Lease{a, b} {
		sealed, err := s.Append(t.Context(), lease, journal.Batch{
			Records: []journal.Record{record(1, "x")},
			Ledger:  []ledger.Draft{{Kind: ledger.KindIntent, Session: lease.Session, Call: "c1"}, {Kind: ledger.KindOutcome, Session: lease.Session, Call: "c1", Outcome: "ok"}},
		})
		if err != nil || len(sealed) != 2 || sealed[0].Seq != uint64(2*i+1) || sealed[1].Prev != sealed[0].Hash {
			t.Fatalf("sealed %+v, %v", sealed, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	rep := verify(t, open(t, o, clock.Now), 4)
	if rep.Intents != 2 || rep.Outcomes != 2 || rep.OpenTotal != 0 {
		t.Errorf("report %+v", rep)
	}
}

func verify(t *testing.T, s journal.Store, entries uint64) ledger.Report {
	t.Helper()
	r, ok := s.(ledger.Reader)
	if !ok {
		t.Skip("the store keeps its ledger elsewhere")
	}
	rep, err := ledger.Verify(t.Context(), r)
	if err != nil || rep.Entries != entries {
		t.Fatalf("verify: %+v, %v; want %d entries", rep, err, entries)
	}
	return rep
}

func readFrom(t *testing.T, o Opener) {
	s := open(t, o, NewClock().Now)
	lease := create(t, s, "S1")
	mustAppend(t, s, lease, 0, record(1, "a"), record(2, "b"), record(3, "c"))
	wantLines(t, readAll(t, s, "S1", 3), record(3, "c"))
	wantLines(t, readAll(t, s, "S1", 4))
	wantLines(t, readAll(t, s, "S1", 0), record(1, "a"), record(2, "b"), record(3, "c"))
}

func unknown(t *testing.T, o Opener) {
	s := open(t, o, NewClock().Now)
	for _, err := range s.Read(t.Context(), "none", 1) {
		wantErr(t, err, journal.ErrNotFound)
	}
	_, err := s.Acquire(t.Context(), "none", "h", time.Minute)
	wantErr(t, err, journal.ErrNotFound)
	_, err = s.Append(t.Context(), journal.Lease{Session: "none", Holder: "h", Token: 1}, journal.Batch{Records: []journal.Record{record(1, "a")}})
	wantErr(t, err, journal.ErrNotFound)
}
