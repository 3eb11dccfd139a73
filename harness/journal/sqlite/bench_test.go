package sqlite_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/journal/sqlite"
	"github.com/looprig/looprig/harness/ledger"
)

// BenchmarkAppendDurable16Writers has 16 writers with a session each, every one
// waiting until its record is durable before it writes the next.
func BenchmarkAppendDurable16Writers(b *testing.B) {
	const writers = 16
	s, err := sqlite.Open(b.Context(), sqlite.Options{Path: filepath.Join(b.TempDir(), "looprig.db")})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	leases := make([]journal.Lease, writers)
	for i := range leases {
		if leases[i], err = s.Create(b.Context(), journal.Meta{Session: fmt.Sprint("S", i)}, "h"); err != nil {
			b.Fatal(err)
		}
	}
	took := make([][]time.Duration, writers)
	var wg sync.WaitGroup
	b.ResetTimer()
	for w, lease := range leases {
		n := b.N / writers
		if w < b.N%writers {
			n++
		}
		wg.Go(func() {
			for seq := range uint64(n) {
				start := time.Now()
				if _, err := s.Append(context.Background(), lease, journal.Batch{ExpectedSeq: seq, Records: []journal.Record{benchRecord(seq + 1)}}); err != nil {
					b.Error(err)
					return
				}
				took[w] = append(took[w], time.Since(start))
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	all := slices.Concat(took...)
	slices.Sort(all)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64(s.Commits())/float64(b.N), "fsyncs/event")
}

func benchRecord(seq uint64) journal.Record {
	line := make([]byte, 300)
	for i := range line {
		line[i] = byte('a' + i%26)
	}
	return journal.Record{Seq: seq, Type: "notice", Time: time.UnixMicro(int64(seq)), Line: line}
}

// BenchmarkReopenMillion is what comes before a session of 1,000,000 records is
// usable: opening the store, its snapshot, and the records after that.
func BenchmarkReopenMillion(b *testing.B) {
	const total, batch, tail = 1_000_000, 5_000, 4_999
	path := filepath.Join(b.TempDir(), "looprig.db")
	s, err := sqlite.Open(b.Context(), sqlite.Options{Path: path})
	if err != nil {
		b.Fatal(err)
	}
	lease, err := s.Create(b.Context(), journal.Meta{Session: "S"}, "h")
	if err != nil {
		b.Fatal(err)
	}
	for seq := uint64(0); seq < total; seq += batch {
		recs := make([]journal.Record, batch)
		for i := range recs {
			recs[i] = benchRecord(seq + uint64(i) + 1)
		}
		if _, err := s.Append(b.Context(), lease, journal.Batch{ExpectedSeq: seq, Records: recs}); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.SaveSnapshot(b.Context(), lease, journal.Snapshot{Seq: total - tail, Version: 1, Body: make([]byte, 4<<20)}); err != nil {
		b.Fatal(err)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := sqlite.Open(b.Context(), sqlite.Options{Path: path})
		if err != nil {
			b.Fatal(err)
		}
		snap, ok, err := s.Snapshot(b.Context(), "S")
		if err != nil || !ok {
			b.Fatal(ok, err)
		}
		n := 0
		for _, err := range s.Read(b.Context(), "S", snap.Seq+1) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != tail {
			b.Fatalf("%d records after the snapshot", n)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAppendLedger16Writers is BenchmarkAppendDurable16Writers with an entry
// of the ledger beside every record.
func BenchmarkAppendLedger16Writers(b *testing.B) {
	const writers = 16
	s, err := sqlite.Open(b.Context(), sqlite.Options{Path: filepath.Join(b.TempDir(), "looprig.db")})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	var wg sync.WaitGroup
	b.ResetTimer()
	for w := range writers {
		lease, err := s.Create(b.Context(), journal.Meta{Session: fmt.Sprint("S", w)}, "h")
		if err != nil {
			b.Fatal(err)
		}
		wg.Go(func() {
			for seq := range uint64(b.N / writers) {
				batch := journal.Batch{ExpectedSeq: seq, Records: []journal.Record{benchRecord(seq + 1)}, Ledger: []ledger.Draft{benchDraft(lease.Session, seq)}}
				if _, err := s.Append(context.Background(), lease, batch); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

func benchDraft(session string, n uint64) ledger.Draft {
	return ledger.Draft{
		Kind: ledger.KindIntent, Session: session, Loop: "main", Turn: "t1", Call: fmt.Sprint("c", n), Source: "model", Binding: "demo",
		Tool: "mcp:demo:add", ToolDigest: digestOf("tool"), ArgsDigest: digestOf("args"), Rule: "allow[0]", Considered: []string{"allow[0]"}, Verdict: "allow",
	}
}

// BenchmarkVerifyStored verifies a ledger as it is stored, with its tree and salts.
func BenchmarkVerifyStored(b *testing.B) {
	const entries = 20_000
	s, err := sqlite.Open(b.Context(), sqlite.Options{Path: filepath.Join(b.TempDir(), "looprig.db")})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	drafts := make([]ledger.Draft, entries)
	for i := range drafts {
		drafts[i] = benchDraft("S", uint64(i))
	}
	if _, err := s.AppendLedger(b.Context(), drafts...); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := ledger.Verify(b.Context(), s); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(entries*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
}
