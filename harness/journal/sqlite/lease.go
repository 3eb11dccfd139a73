package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/ledger"
)

// Create implements journal.Store.
func (s *Store) Create(ctx context.Context, m journal.Meta, holder string) (journal.Lease, error) {
	lease := journal.Lease{Session: m.Session, Holder: holder, Token: 1}
	_, err := s.do(ctx, func(ctx context.Context, tx *sql.Tx) ([]ledger.Entry, error) {
		now := s.now()
		if m.Created.IsZero() {
			m.Created = now
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM sessions WHERE "+stillborn, now.UnixMicro()); err != nil {
			return nil, err
		}
		res, err := tx.ExecContext(ctx, `INSERT OR IGNORE INTO sessions
			(id, created, updated, title, mode, model, parent, parent_seq, lease_holder, lease_token, lease_expires) VALUES (?,?,?,?,?,?,?,?,?,1,?)`,
			m.Session, m.Created.UnixMicro(), now.UnixMicro(), m.Title, m.Mode, m.Model, m.Parent, m.ParentSeq, holder, now.Add(LeaseTTL).UnixMicro())
		if err != nil {
			return nil, err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return nil, errors.Join(err, refuse(fmt.Errorf("%w: %s", journal.ErrExists, m.Session)))
		}
		return nil, nil
	})
	return lease, err
}

// stillborn are sessions whose maker was killed before their first record.
const stillborn = "last_seq=0 AND lease_expires<=?"

// Acquire implements journal.Store.
func (s *Store) Acquire(ctx context.Context, session, holder string, ttl time.Duration) (journal.Lease, error) {
	lease := journal.Lease{Session: session, Holder: holder}
	_, err := s.do(ctx, func(ctx context.Context, tx *sql.Tx) ([]ledger.Entry, error) {
		var cur string
		var token uint64
		var expires int64
		err := tx.QueryRowContext(ctx, "SELECT lease_holder, lease_token, lease_expires FROM sessions WHERE id=?", session).Scan(&cur, &token, &expires)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, refuse(journal.ErrNotFound)
		}
		if err != nil {
			return nil, err
		}
		now := s.now()
		if cur != holder && s.held(cur, expires) {
			return nil, refuse(fmt.Errorf("%w: held by %s until %s", journal.ErrLeased, cur, micro(expires).Format(time.RFC3339)))
		}
		lease.Token = token + 1
		_, err = tx.ExecContext(ctx, "UPDATE sessions SET lease_holder=?, lease_token=?, lease_expires=? WHERE id=?",
			holder, lease.Token, now.Add(ttl).UnixMicro(), session)
		return nil, err
	})
	return lease, err
}

// Renew implements journal.Store.
func (s *Store) Renew(ctx context.Context, lease journal.Lease, ttl time.Duration) error {
	return s.touch(ctx, lease, lease.Holder, ttl)
}

// Release implements journal.Store.
func (s *Store) Release(ctx context.Context, lease journal.Lease) error {
	return s.touch(ctx, lease, "", 0)
}

// held reports whether a lease keeps others out: it has a holder, has not run out,
// and its holder is not known to be dead.
func (s *Store) held(holder string, expires int64) bool {
	return holder != "" && micro(expires).After(s.now()) && s.alive(holder)
}

func (s *Store) touch(ctx context.Context, lease journal.Lease, holder string, ttl time.Duration) error {
	_, err := s.do(ctx, func(ctx context.Context, tx *sql.Tx) ([]ledger.Entry, error) {
		if _, err := s.checkLease(ctx, tx, lease); err != nil {
			return nil, err
		}
		_, err := tx.ExecContext(ctx, "UPDATE sessions SET lease_holder=?, lease_expires=? WHERE id=?",
			holder, s.now().Add(ttl).UnixMicro(), lease.Session)
		return nil, err
	})
	return err
}
