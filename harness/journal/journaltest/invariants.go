package journaltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/ledger"
)

// Acked is a record whose append was acknowledged.
type Acked struct {
	Session string
	Seq     uint64
	Line    []byte
}

// CheckInvariants holds an opened store to what must be true after any fault that
// left its files whole: every acknowledged record is there once, in order and byte
// for byte; every journal is a gap-free prefix; the ledger verifies, with an
// outcome only after its intent; and a session can be taken over and appended to,
// while the lease from before is fenced. It appends one record to each session
// that has acknowledged ones.
func CheckInvariants(ctx context.Context, s journal.Store, acked []Acked) error {
	found := map[string]map[uint64][]byte{}
	metas, err := s.List(ctx, journal.Query{Limit: math.MaxInt32})
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	for _, m := range metas {
		lines, err := readPrefix(ctx, s, m)
		if err != nil {
			return err
		}
		found[m.Session] = lines
	}
	written := map[string]bool{}
	for _, a := range acked {
		line, ok := found[a.Session][a.Seq]
		switch {
		case !ok:
			return fmt.Errorf("session %s: record %d was acknowledged and is missing", a.Session, a.Seq)
		case !bytes.Equal(line, a.Line):
			return fmt.Errorf("session %s: record %d is not what was acknowledged", a.Session, a.Seq)
		}
		written[a.Session] = true
	}
	if r, ok := s.(ledger.Reader); ok {
		if _, err := ledger.Verify(ctx, r); err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
	}
	for id := range written {
		if err := goOn(ctx, s, id, uint64(len(found[id]))); err != nil {
			return fmt.Errorf("session %s: %w", id, err)
		}
	}
	return nil
}

func readPrefix(ctx context.Context, s journal.Store, m journal.Meta) (map[uint64][]byte, error) {
	lines := map[uint64][]byte{}
	for r, err := range s.Read(ctx, m.Session, 1) {
		if err != nil {
			return nil, fmt.Errorf("session %s: %w", m.Session, err)
		}
		if r.Seq != uint64(len(lines))+1 {
			return nil, fmt.Errorf("session %s: record %d follows %d", m.Session, r.Seq, len(lines))
		}
		lines[r.Seq] = r.Line
	}
	if uint64(len(lines)) != m.Records {
		return nil, fmt.Errorf("session %s: %d records of %d", m.Session, len(lines), m.Records)
	}
	return lines, nil
}

// goOn takes a session over and appends to it.
func goOn(ctx context.Context, s journal.Store, id string, last uint64) error {
	first, err := s.Acquire(ctx, id, "checker", time.Minute)
	if err != nil {
		return fmt.Errorf("acquire: %w", err)
	}
	lease, err := s.Acquire(ctx, id, "checker", time.Minute)
	if err != nil {
		return fmt.Errorf("acquire: %w", err)
	}
	batch := journal.Batch{ExpectedSeq: last, Records: []journal.Record{record(last+1, "after the fault")}}
	switch _, err := s.Append(ctx, first, batch); {
	case err == nil:
		return errors.New("an append with a lost lease was taken")
	case !errors.Is(err, journal.ErrFenced):
		return fmt.Errorf("append with a lost lease: %w", err)
	}
	if _, err := s.Append(ctx, lease, batch); err != nil {
		return fmt.Errorf("append: %w", err)
	}
	return s.Release(ctx, lease)
}
