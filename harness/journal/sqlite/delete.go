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
	_, err := s.erase(ctx, func(ctx context.Context, tx *sql.Tx) ([]ledger.Entry, error) {
		return nil, s.deleteSession(ctx, tx, session)
	})
	return err
}

func (s *Store) deleteSession(ctx context.Context, tx *sql.Tx, session string) error {
	var holder string
	var expires int64
	var forks int
	err := tx.QueryRowContext(ctx, `SELECT lease_holder, lease_expires, (SELECT count(*) FROM sessions f WHERE f.parent=s.id)
		FROM sessions s WHERE id=?`, session).Scan(&holder, &expires, &forks)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return refuse(fmt.Errorf("%w: %s", journal.ErrNotFound, session))
	case err != nil:
		return err
	case s.held(holder, expires):
		return refuse(fmt.Errorf("%w: held by %s", journal.ErrLeased, holder))
	case forks > 0:
		return refuse(fmt.Errorf("%w: %s", journal.ErrForked, session))
	}
	if err := dropRefs(ctx, tx, session); err != nil {
		return err
	}
	for _, stmt := range []string{
		"DELETE FROM records WHERE session=?", "DELETE FROM snapshots WHERE session=?", "DELETE FROM sessions WHERE id=?",
	} {
		if _, err := tx.ExecContext(ctx, stmt, session); err != nil {
			return err
		}
	}
	return nil
}
