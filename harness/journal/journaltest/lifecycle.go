package journaltest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/looprig/looprig/harness/journal"
)

// patience is how long the suite waits for what must happen.
const patience = 10 * time.Second

func typed(seq uint64, kind, rest string) journal.Record {
	r := record(seq, "")
	r.Type = kind
	r.Line = fmt.Appendf(nil, `{"v":1,"seq":%d,"time":"2026-11-30T12:00:00Z","session":"S","type":%q%s}`, seq, kind, rest)
	return r
}

func blobOf(text string) journal.Blob {
	sum := sha256.Sum256([]byte(text))
	return journal.Blob{Digest: "sha256:" + hex.EncodeToString(sum[:]), MIME: "text/plain", Body: []byte(text)}
}

func one(t *testing.T, s journal.Store, q journal.Query) journal.Meta {
	t.Helper()
	metas, err := s.List(t.Context(), q)
	if err != nil || len(metas) != 1 {
		t.Fatalf("list %+v: %+v, %v", q, metas, err)
	}
	return metas[0]
}

func release(t *testing.T, s journal.Store, lease journal.Lease) {
	t.Helper()
	if err := s.Release(t.Context(), lease); err != nil {
		t.Fatalf("release: %v", err)
	}
}

func forks(t *testing.T, o Opener) {
	s := open(t, o, NewClock().Now)
	parent := create(t, s, "P")
	mustAppend(t, s, parent, 0, record(1, "a"), record(2, "b"))
	fork, err := s.Create(t.Context(), journal.Meta{Session: "F", Parent: "P", ParentSeq: 1}, "h")
	if err != nil {
		t.Fatal(err)
	}
	if metas, err := s.List(t.Context(), journal.Query{Prefix: "F"}); err != nil || len(metas) != 0 {
		t.Fatalf("a fork without a record is listed: %+v, %v", metas, err)
	}
	mustAppend(t, s, fork, 0, record(1, "f"))
	if m := one(t, s, journal.Query{Prefix: "F"}); m.Parent != "P" || m.ParentSeq != 1 {
		t.Fatalf("the fork is listed as %+v", m)
	}
	release(t, s, parent)
	wantErr(t, s.Delete(t.Context(), "P"), journal.ErrForked)
	release(t, s, fork)
	for _, id := range []string{"F", "P"} {
		if err := s.Delete(t.Context(), id); err != nil {
			t.Fatalf("delete %s: %v", id, err)
		}
	}
}

func searching(t *testing.T, o Opener) {
	clock := NewClock()
	s := open(t, o, clock.Now)
	long := "In a body apart: MARZIPAN"
	blob := blobOf(long)
	lease := create(t, s, "S1")
	if _, err := s.Append(t.Context(), lease, journal.Batch{Blobs: []journal.Blob{blob}, Records: []journal.Record{
		typed(1, "turn.started", `,"loop":"main","turn":"t1","input":"i1","origin":"person","kind":"user","text":"Wo ist die STRAẞE \u201cnord\u201d?","toolset":""`),
		typed(2, "tool.requested", `,"loop":"main","turn":"t1","step":1,"call":"c1","tool":"mcp:docs:Find_It","model_name":"mcp__docs__find_it","args":{"q":"needleinargs"},"by":"model"`),
		typed(3, "message.completed", `,"loop":"main","turn":"t1","step":1,"role":"assistant","content":[{"kind":"text","blob":"`+blob.Digest+`","blob_of":"text","bytes":25}],"usage":{}`),
	}}); err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Second)
	second, err := s.Create(t.Context(), journal.Meta{Session: "S2", Title: "Über 100% of_it"}, "h")
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, second, 0, record(1, "a"))
	for text, want := range map[string]string{
		"straße": "S1", "“NORD”": "S1", "docs:find_it": "S1", "marzipan": "S1", "über 100%": "S2",
		"needleinargs": "", "nowhere": "", "100%of": "", "toolset": "", "": "S2 S1",
	} {
		metas, err := s.List(t.Context(), journal.Query{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range metas {
			got = append(got, m.Session)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("search for %q finds %v, want %q", text, got, want)
		}
	}
	if metas, err := s.List(t.Context(), journal.Query{Text: "t", Limit: 1}); err != nil || len(metas) != 1 || metas[0].Session != "S2" {
		t.Errorf("limited search: %+v, %v", metas, err)
	}
}

func openSessions(t *testing.T, o Opener) {
	clock := NewClock()
	s := open(t, o, clock.Now)
	lease := create(t, s, "S1")
	mustAppend(t, s, lease, 0, record(1, "a"))
	if m := one(t, s, journal.Query{}); m.Open != "holder-a" {
		t.Fatalf("a held session is listed as %+v", m)
	}
	clock.Advance(time.Hour)
	if m := one(t, s, journal.Query{}); m.Open != "" {
		t.Fatalf("a lease that ran out is listed as %+v", m)
	}
	if err := s.Renew(t.Context(), lease, time.Hour); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, lease, 1, record(2, "b")) // must not shorten the lease
	clock.Advance(30 * time.Minute)
	if m := one(t, s, journal.Query{}); m.Open != "holder-a" {
		t.Fatalf("a renewed lease is listed as %+v", m)
	}
	release(t, s, lease)
	if m := one(t, s, journal.Query{}); m.Open != "" {
		t.Fatalf("a released session is listed as %+v", m)
	}
}

func closedAgain(t *testing.T, o Opener) {
	s := open(t, o, NewClock().Now)
	lease := create(t, s, "S1")
	end := record(1, "end")
	end.Type = "session.closed"
	mustAppend(t, s, lease, 0, end)
	if m := one(t, s, journal.Query{}); !m.Closed {
		t.Fatal("closed is not told")
	}
	mustAppend(t, s, lease, 1, record(2, "restored"))
	if m := one(t, s, journal.Query{}); m.Closed {
		t.Fatal("a session that went on is told to be closed")
	}
}

func watching(t *testing.T, o Opener) {
	clock := NewClock()
	s, other := open(t, o, clock.Now), open(t, o, clock.Now)
	lease := create(t, s, "S1")
	mustAppend(t, s, lease, 0, record(1, "a"))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	next := uint64(1)
	for r, err := range s.Watch(ctx, "S1", 1) {
		if err != nil || r.Seq != next {
			t.Fatalf("watch yields %d, %v; want %d", r.Seq, err, next)
		}
		next++
		more := record(next, "more")
		switch r.Seq {
		case 1:
			mustAppend(t, s, lease, 1, more)
		case 2: // as another process would
			mustAppend(t, other, lease, 2, more)
		case 3:
			more.Type = "session.closed"
			mustAppend(t, s, lease, 3, more)
		}
	}
	if next != 5 {
		t.Fatalf("the watch ended before %d", next)
	}
	ended, stop := context.WithCancel(t.Context())
	var last error
	for _, err := range s.Watch(ended, "S1", 3) {
		last = err
		stop() // one record later the watch would end anyway
	}
	if last != nil && !errors.Is(last, context.Canceled) {
		t.Fatalf("a stopped watch ends with %v", last)
	}
	stop()
}

func deleting(t *testing.T, o Opener) {
	s := open(t, o, NewClock().Now)
	wantErr(t, s.Delete(t.Context(), "none"), journal.ErrNotFound)
	lease := create(t, s, "S1")
	mustAppend(t, s, lease, 0, record(1, "a"))
	wantErr(t, s.Delete(t.Context(), "S1"), journal.ErrLeased)
	release(t, s, lease)
	if err := s.Delete(t.Context(), "S1"); err != nil {
		t.Fatal(err)
	}
	for _, err := range s.Read(t.Context(), "S1", 1) {
		wantErr(t, err, journal.ErrNotFound)
	}
	again := create(t, s, "S1")
	mustAppend(t, s, again, 0, record(1, "another"))
}

func deletingShared(t *testing.T, o Opener) {
	s := open(t, o, NewClock().Now)
	blob := func(c string) journal.Blob { return blobOf("body " + c) }
	named := func(c string) journal.Record { return typed(1, "notice", `,"content":[{"blob":"`+blob(c).Digest+`"}]`) }
	a, b := create(t, s, "A"), create(t, s, "B")
	batch := journal.Batch{Records: []journal.Record{named("1")}, Blobs: []journal.Blob{blob("1"), blob("2")}}
	if _, err := s.Append(t.Context(), a, batch); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, s, b, 0, named("1")) // names a body that another session stored
	release(t, s, a)
	release(t, s, b)
	if err := s.Delete(t.Context(), "A"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Blob(t.Context(), blob("1").Digest); err != nil {
		t.Errorf("a body that another session names: %v", err)
	}
	if _, err := s.Blob(t.Context(), blob("2").Digest); err == nil {
		t.Error("a body that nothing names is still there")
	}
	if err := s.Delete(t.Context(), "B"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Blob(t.Context(), blob("1").Digest); err == nil {
		t.Error("the body is still there without the last that named it")
	}
}

func snapshots(t *testing.T, o Opener) {
	clock := NewClock()
	s := open(t, o, clock.Now)
	lease := create(t, s, "S1")
	if _, ok, err := s.Snapshot(t.Context(), "S1"); ok || err != nil {
		t.Fatalf("a snapshot that was never saved: %v, %v", ok, err)
	}
	mustAppend(t, s, lease, 0, record(1, "a"), record(2, "b"))
	for seq := range uint64(3) {
		if err := s.SaveSnapshot(t.Context(), lease, journal.Snapshot{Session: "S1", Seq: seq, Version: 7, Body: fmt.Appendf(nil, "upto %d", seq)}); err != nil {
			t.Fatal(err)
		}
	}
	wantErr(t, s.SaveSnapshot(t.Context(), lease, journal.Snapshot{Session: "S1", Seq: 3}), journal.ErrConflict)
	snap, ok, err := s.Snapshot(t.Context(), "S1")
	if err != nil || !ok || snap.Seq != 2 || snap.Version != 7 || string(snap.Body) != "upto 2" || snap.Session != "S1" {
		t.Fatalf("snapshot %+v, %v, %v", snap, ok, err)
	}
	release(t, s, lease)
	wantErr(t, s.SaveSnapshot(t.Context(), lease, journal.Snapshot{Session: "S1", Seq: 1}), journal.ErrFenced)
	if err := s.Delete(t.Context(), "S1"); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := s.Snapshot(t.Context(), "S1"); ok || err != nil {
		t.Fatalf("the snapshot of a deleted session: %v, %v", ok, err)
	}
}

func invariants(t *testing.T, o Opener) {
	s := open(t, o, NewClock().Now)
	lease := create(t, s, "S1")
	mustAppend(t, s, lease, 0, record(1, "a"))
	release(t, s, lease)
	acked := []Acked{{Session: "S1", Seq: 1, Line: record(1, "a").Line}}
	if err := CheckInvariants(t.Context(), s, acked); err != nil {
		t.Fatal(err)
	}
	// The check itself can fail.
	for name, lost := range map[string]Acked{
		"missing": {Session: "S1", Seq: 2, Line: record(2, "b").Line}, "altered": {Session: "S1", Seq: 1, Line: []byte("{}")}, "unknown": {Session: "S9", Seq: 1},
	} {
		if CheckInvariants(t.Context(), s, []Acked{lost}) == nil {
			t.Errorf("%s: an acknowledged record that is not there was not missed", name)
		}
	}
}
