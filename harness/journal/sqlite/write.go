package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/ledger"
)

// job is one unit of the writer: run inside a savepoint of a group's
// transaction. Its result is valid once done is closed.
type job struct {
	run     func(ctx context.Context, tx *sql.Tx) ([]ledger.Entry, error)
	entries []ledger.Entry
	err     error
	done    chan struct{}
}

// The types of records that a listing counts or tells.
const (
	typeTurn   = "turn.started"
	typeClosed = "session.closed"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// do hands work to the writer and waits until it is durable or refused. Once
// accepted it is not abandoned: ctx bounds only the wait for a place.
func (s *Store) do(ctx context.Context, run func(context.Context, *sql.Tx) ([]ledger.Entry, error)) ([]ledger.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.pending.Done()
	j := &job{run: run, done: make(chan struct{})}
	select {
	case s.queue <- j:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	<-j.done
	return j.entries, j.err
}

// write is the writer goroutine: it commits whatever has queued up in one
// transaction, so that one fsync serves many appends.
func (s *Store) write() {
	defer close(s.done)
	gather := time.NewTimer(0)
	defer gather.Stop()
	expect := 1
	for j := range s.queue {
		group := s.group(j, expect, gather)
		s.commit(group)
		// Those who are answered now are likely to come again at once.
		expect = len(group) + len(s.queue)
		s.announce()
		for _, j := range group {
			close(j.done)
		}
	}
}

// group collects what is committed with a first job: what is queued already and
// what comes within GatherFor while fewer are there than wrote just before. A
// lone writer is never made to wait.
func (s *Store) group(first *job, expect int, gather *time.Timer) []*job {
	group := []*job{first}
	gather.Reset(GatherFor)
	for len(group) < MaxGroup {
		select {
		case j, ok := <-s.queue:
			if !ok {
				return group
			}
			group = append(group, j)
			continue
		default:
		}
		if len(group) >= expect {
			break
		}
		select {
		case j, ok := <-s.queue:
			if !ok {
				return group
			}
			group = append(group, j)
		case <-gather.C:
			return group
		}
	}
	return group
}

// commit runs a group in one transaction, first without savepoints: a job that
// is turned down is rare, undoes the group and has it run again with them. A
// failure of the transaction itself fails every job in it and, unless it is
// contention, latches the store.
func (s *Store) commit(group []*job) {
	if err := s.latchedErr(); err != nil {
		failAll(group, err)
		return
	}
	ctx := context.Background()
	err := s.transact(ctx, group, s.runJob)
	var turnedDown *refusal
	if errors.As(err, &turnedDown) {
		err = s.transact(ctx, group, s.runInSavepoint)
	}
	if err != nil {
		s.failGroup(group, err)
	}
}

// transact runs the jobs of a group in a transaction, or nothing of them.
func (s *Store) transact(ctx context.Context, group []*job, run func(context.Context, *sql.Tx, *job) error) error {
	tx, err := s.wdb.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	s.tip.read = false // what others appended since
	for _, j := range group {
		if err := run(ctx, tx, j); err != nil {
			return errors.Join(err, ignoreDone(tx.Rollback()))
		}
	}
	if err := tx.Commit(); err != nil {
		return errors.Join(err, ignoreDone(tx.Rollback()))
	}
	return nil
}

func failAll(group []*job, err error) {
	for _, j := range group {
		j.entries, j.err = nil, err
	}
}

func (s *Store) failGroup(group []*job, err error) {
	err = classify("database", err)
	if contention(err) {
		failAll(group, fmt.Errorf("journal: the database stayed locked by others for %s: %w", BusyTimeout, err))
		return
	}
	s.latch(err)
	failAll(group, &journal.LatchedError{Err: err})
}

// refusal marks an error by which one job is turned down while the others of
// its group go on.
type refusal struct{ err error }

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

func refuse(err error) error { return &refusal{err: err} }

func (s *Store) runJob(ctx context.Context, tx *sql.Tx, j *job) error {
	j.entries, j.err = j.run(ctx, tx)
	return j.err
}

func (s *Store) runInSavepoint(ctx context.Context, tx *sql.Tx, j *job) error {
	if _, err := tx.StmtContext(ctx, s.st.savepoint).ExecContext(ctx); err != nil {
		return err
	}
	j.entries, j.err = j.run(ctx, tx)
	var turnedDown *refusal
	switch {
	case errors.As(j.err, &turnedDown):
		j.entries, j.err = nil, turnedDown.err
		s.tip.read = false // it may have sealed
		_, err := tx.ExecContext(ctx, "ROLLBACK TO job; RELEASE job")
		return err
	case j.err != nil:
		return j.err
	}
	_, err := tx.StmtContext(ctx, s.st.release).ExecContext(ctx)
	return err
}

// Append implements journal.Store.
func (s *Store) Append(ctx context.Context, lease journal.Lease, b journal.Batch) ([]ledger.Entry, error) {
	for i, r := range b.Records {
		if r.Seq != b.ExpectedSeq+uint64(i)+1 {
			return nil, fmt.Errorf("%w: record %d of the batch has number %d, not %d", journal.ErrConflict, i, r.Seq, b.ExpectedSeq+uint64(i)+1)
		}
	}
	return s.do(ctx, func(ctx context.Context, tx *sql.Tx) ([]ledger.Entry, error) {
		fresh, err := s.appendRecords(ctx, tx, lease, b)
		if err != nil || !fresh {
			return nil, err
		}
		if err := changeGrants(ctx, tx, b.Grants); err != nil {
			return nil, err
		}
		return s.seal(ctx, tx, b.Ledger)
	})
}

// appendRecords reports whether the batch is fresh, which one that was appended
// before is not.
func (s *Store) appendRecords(ctx context.Context, tx *sql.Tx, lease journal.Lease, b journal.Batch) (fresh bool, err error) {
	if ok, err := s.advance(ctx, tx, lease, b); err != nil {
		return false, err
	} else if !ok {
		return false, s.misplaced(ctx, tx, lease, b)
	}
	insert := tx.StmtContext(ctx, s.st.insert)
	for _, r := range b.Records {
		if _, err := insert.ExecContext(ctx,
			lease.Session, r.Seq, r.Type, r.Time.UnixMicro(), nullable(r.Key), crc32.Checksum(r.Line, castagnoli), r.Line); err != nil {
			return false, err
		}
	}
	return true, storeBlobs(ctx, tx, lease.Session, b)
}

// advance moves the session to the end of the batch when the lease holds and the
// batch begins where the session ends.
func (s *Store) advance(ctx context.Context, tx *sql.Tx, lease journal.Lease, b journal.Batch) (bool, error) {
	var turns int
	closed := false
	for _, r := range b.Records {
		closed = r.Type == typeClosed
		if r.Type == typeTurn {
			turns++
		}
	}
	now := s.now()
	res, err := tx.StmtContext(ctx, s.st.advance).ExecContext(ctx,
		len(b.Records), turns, len(b.Records) > 0, closed, now.UnixMicro(), now.Add(LeaseTTL).UnixMicro(),
		lease.Session, b.ExpectedSeq, lease.Token, lease.Holder)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

// misplaced says why a batch cannot be appended. A batch that is there already is
// none that was misplaced.
func (s *Store) misplaced(ctx context.Context, tx *sql.Tx, lease journal.Lease, b journal.Batch) error {
	last, err := s.checkLease(ctx, tx, lease)
	if err != nil {
		return err
	}
	dup, err := alreadyThere(ctx, tx, lease.Session, b)
	if err != nil || dup {
		return err
	}
	return refuse(fmt.Errorf("%w: expected %d, the last record is %d", journal.ErrConflict, b.ExpectedSeq, last))
}

// alreadyThere reports whether every record of the batch has a key that is in
// the session already: a repeated append of what was acknowledged before.
func alreadyThere(ctx context.Context, tx *sql.Tx, session string, b journal.Batch) (bool, error) {
	if len(b.Records) == 0 {
		return false, nil
	}
	for _, r := range b.Records {
		if r.Key == "" {
			return false, nil
		}
		var n int
		if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM records WHERE session=? AND key=?", session, r.Key).Scan(&n); err != nil {
			return false, err
		}
		if n == 0 {
			return false, nil
		}
	}
	return true, nil
}

func (s *Store) checkLease(ctx context.Context, tx *sql.Tx, lease journal.Lease) (last uint64, err error) {
	var holder string
	var token uint64
	err = tx.StmtContext(ctx, s.st.lease).QueryRowContext(ctx, lease.Session).Scan(&last, &holder, &token)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, refuse(journal.ErrNotFound)
	case err != nil:
		return 0, err
	case token != lease.Token || holder != lease.Holder:
		return 0, refuse(journal.ErrFenced)
	}
	return last, nil
}

func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func micro(us int64) time.Time { return time.UnixMicro(us).UTC() }
