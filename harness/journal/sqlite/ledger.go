package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"

	"github.com/looprig/looprig/harness/ledger"
)

// AppendLedger seals entries that belong to no session.
func (s *Store) AppendLedger(ctx context.Context, drafts ...ledger.Draft) ([]ledger.Entry, error) {
	return s.do(ctx, func(ctx context.Context, tx *sql.Tx) ([]ledger.Entry, error) {
		return s.seal(ctx, tx, drafts)
	})
}

func (s *Store) seal(ctx context.Context, tx *sql.Tx, drafts []ledger.Draft) ([]ledger.Entry, error) {
	if len(drafts) == 0 {
		return nil, nil
	}
	var seq uint64
	var hash string
	err := tx.QueryRowContext(ctx, "SELECT seq, hash FROM ledger ORDER BY seq DESC LIMIT 1").Scan(&seq, &hash)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	out := make([]ledger.Entry, 0, len(drafts))
	for _, d := range drafts {
		e, stored, err := ledger.Seal(d, seq, hash, s.now())
		if err != nil {
			return nil, refuse(err)
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO ledger (seq, hash, body) VALUES (?,?,?)", stored.Seq, stored.Hash, stored.Body); err != nil {
			return nil, err
		}
		seq, hash = e.Seq, e.Hash
		out = append(out, e)
	}
	return out, nil
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
