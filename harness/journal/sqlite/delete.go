package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/ledger"
)

// Delete implements journal.Store.
func (s *Store) Delete(ctx context.Context, session string) error {
	_, err := s.do(ctx, func(ctx context.Context, tx *sql.Tx) ([]ledger.Entry, error) {
		var holder string
		var expires int64
		var forks int
		err := tx.QueryRowContext(ctx, `SELECT lease_holder, lease_expires, (SELECT count(*) FROM sessions f WHERE f.parent=s.id)
			FROM sessions s WHERE id=?`, session).Scan(&holder, &expires, &forks)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return nil, refuse(fmt.Errorf("%w: %s", journal.ErrNotFound, session))
		case err != nil:
			return nil, err
		case holder != "" && micro(expires).After(s.now()):
			return nil, refuse(fmt.Errorf("%w: held by %s", journal.ErrLeased, holder))
		case forks > 0:
			return nil, refuse(journal.ErrForked)
		}
		for _, table := range []string{"records WHERE session", "snapshots WHERE session", "sessions WHERE id"} {
			if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+"=?", session); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	return err
}
