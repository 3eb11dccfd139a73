package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"strings"

	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/ledger"
)

// Read implements journal.Store. A record that is missing or altered ends the
// sequence with a *journal.CorruptError.
func (s *Store) Read(ctx context.Context, session string, from uint64) iter.Seq2[journal.Record, error] {
	return func(yield func(journal.Record, error) bool) {
		stopped := false
		err := s.read(ctx, session, max(from, 1), func(r journal.Record) bool {
			stopped = !yield(r, nil)
			return !stopped
		})
		if err != nil && !stopped {
			yield(journal.Record{}, err)
		}
	}
}

func (s *Store) read(ctx context.Context, session string, from uint64, yield func(journal.Record) bool) (err error) {
	where := "session " + session
	// One snapshot for the count and the rows, so that appends that happen
	// meanwhile cannot look like missing records.
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return classify(where, err)
	}
	defer func() { err = errors.Join(err, ignoreDone(tx.Rollback())) }()
	var last uint64
	err = tx.QueryRowContext(ctx, "SELECT last_seq FROM sessions WHERE id=?", session).Scan(&last)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%w: %s", journal.ErrNotFound, session)
	}
	if err != nil {
		return classify(where, err)
	}
	rows, err := tx.QueryContext(ctx, "SELECT seq, type, time, coalesce(key,''), sum, line FROM records WHERE session=? AND seq>=? ORDER BY seq", session, from)
	if err != nil {
		return classify(where, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	next := from
	for rows.Next() {
		var r journal.Record
		var us int64
		var sum uint32
		if err := rows.Scan(&r.Seq, &r.Type, &us, &r.Key, &sum, &r.Line); err != nil {
			return classify(where, err)
		}
		r.Time = micro(us)
		if r.Seq != next {
			return &journal.CorruptError{Where: fmt.Sprintf("%s seq %d", where, next), Reason: "the record is missing"}
		}
		if crc32.Checksum(r.Line, castagnoli) != sum {
			return &journal.CorruptError{Where: fmt.Sprintf("%s seq %d", where, r.Seq), Reason: "the record does not match its checksum"}
		}
		next++
		if !yield(r) {
			return nil
		}
	}
	if err := rows.Err(); err != nil {
		return classify(where, err)
	}
	if last >= from && next != last+1 {
		return &journal.CorruptError{Where: fmt.Sprintf("%s seq %d", where, next), Reason: "the record is missing"}
	}
	return nil
}

// Blob implements journal.Store.
func (s *Store) Blob(ctx context.Context, digest string) (journal.Blob, error) {
	b := journal.Blob{Digest: digest}
	err := s.db.QueryRowContext(ctx, "SELECT mime, body FROM blobs WHERE digest=?", digest).Scan(&b.MIME, &b.Body)
	if errors.Is(err, sql.ErrNoRows) {
		return b, fmt.Errorf("no stored body %s", digest)
	}
	return b, classify("blob "+digest, err)
}

// List implements journal.Store.
func (s *Store) List(ctx context.Context, q journal.Query) ([]journal.Meta, error) {
	limit := q.Limit
	if limit <= 0 {
		limit = journal.DefaultListLimit
	}
	prefix := strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(q.Prefix) + "%"
	rows, err := s.db.QueryContext(ctx, `SELECT id, created, updated, title, mode, model, last_seq, turns, closed
		FROM sessions WHERE id LIKE ? ESCAPE '\' ORDER BY created DESC, id DESC LIMIT ?`, prefix, limit)
	if err != nil {
		return nil, classify("sessions", err)
	}
	var out []journal.Meta
	for rows.Next() {
		var m journal.Meta
		var created, updated int64
		if err := rows.Scan(&m.Session, &created, &updated, &m.Title, &m.Mode, &m.Model, &m.Records, &m.Turns, &m.Closed); err != nil {
			return nil, errors.Join(classify("sessions", err), rows.Close())
		}
		m.Created, m.Updated = micro(created), micro(updated)
		out = append(out, m)
	}
	return out, classify("sessions", errors.Join(rows.Err(), rows.Close()))
}

// LedgerEntries implements ledger.Reader.
func (s *Store) LedgerEntries(ctx context.Context, from uint64) iter.Seq2[ledger.Stored, error] {
	return func(yield func(ledger.Stored, error) bool) {
		rows, err := s.db.QueryContext(ctx, "SELECT seq, hash, body FROM ledger WHERE seq>=? ORDER BY seq", max(from, 1))
		if err != nil {
			yield(ledger.Stored{}, classify("ledger", err))
			return
		}
		defer func() { _ = rows.Close() }() // an error of reading shows in rows.Err
		for rows.Next() {
			var e ledger.Stored
			if err := rows.Scan(&e.Seq, &e.Hash, &e.Body); err != nil {
				yield(e, classify("ledger", err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(ledger.Stored{}, classify("ledger", err))
		}
	}
}

// LedgerTail returns the last n entries, oldest first, as they are stored.
func (s *Store) LedgerTail(ctx context.Context, n int) ([]ledger.Stored, error) {
	var last uint64
	if err := s.db.QueryRowContext(ctx, "SELECT coalesce(max(seq),0) FROM ledger").Scan(&last); err != nil {
		return nil, classify("ledger", err)
	}
	from := uint64(1)
	if n >= 0 && last > uint64(n) {
		from = last - uint64(n) + 1
	}
	var out []ledger.Stored
	for e, err := range s.LedgerEntries(ctx, from) {
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}
