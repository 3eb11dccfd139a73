package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/ledger"
)

// SaveSnapshot implements journal.Store.
func (s *Store) SaveSnapshot(ctx context.Context, lease journal.Lease, snap journal.Snapshot) error {
	_, err := s.do(ctx, func(ctx context.Context, tx *sql.Tx) ([]ledger.Entry, error) {
		last, err := s.checkLease(ctx, tx, lease)
		if err != nil {
			return nil, err
		}
		if snap.Seq > last {
			return nil, refuse(fmt.Errorf("%w: a snapshot at %d, the last record is %d", journal.ErrConflict, snap.Seq, last))
		}
		_, err = tx.ExecContext(ctx, "INSERT OR REPLACE INTO snapshots (session, seq, version, sum, body) VALUES (?,?,?,?,?)",
			lease.Session, snap.Seq, snap.Version, crc32.Checksum(snap.Body, castagnoli), snap.Body)
		return nil, err
	})
	return err
}

// Snapshot implements journal.Store.
func (s *Store) Snapshot(ctx context.Context, session string) (journal.Snapshot, bool, error) {
	snap := journal.Snapshot{Session: session}
	var sum uint32
	err := s.db.QueryRowContext(ctx, "SELECT seq, version, sum, body FROM snapshots WHERE session=?", session).
		Scan(&snap.Seq, &snap.Version, &sum, &snap.Body)
	if errors.Is(err, sql.ErrNoRows) {
		return journal.Snapshot{}, false, nil
	}
	if err != nil {
		return journal.Snapshot{}, false, classify("snapshot of "+session, err)
	}
	return snap, crc32.Checksum(snap.Body, castagnoli) == sum, nil
}
