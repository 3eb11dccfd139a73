package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

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
	if _, err := tx.ExecContext(ctx, "DELETE FROM sessions WHERE parent=? AND "+stillborn, session, s.now().UnixMicro()); err != nil {
		return err
	}
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
	if err := s.unsaltSession(ctx, tx, session); err != nil {
		return err
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

// unsaltSession takes away the salts of all that the ledger says of a session, so
// that no guess at what was deleted can be confirmed, and appends the entries
// that say so.
func (s *Store) unsaltSession(ctx context.Context, tx *sql.Tx, session string) error {
	entries, salted, err := entriesOf(ctx, tx, session)
	if err != nil || entries == 0 {
		return err
	}
	said := ledger.Draft{
		Kind: ledger.KindRedaction, Session: session, Source: "person", Answerer: "local", AnswererKind: "person",
		Detail: ledger.DetailDeleted, Reason: "the session was deleted",
	}
	var drafts []ledger.Draft
	for some := range slices.Chunk(salted, MaxRedacted) {
		for _, seq := range some {
			if _, err := tx.ExecContext(ctx, "DELETE FROM salts WHERE entry=?", seq); err != nil {
				return err
			}
		}
		d := said
		d.Redacts = some
		drafts = append(drafts, d)
	}
	if len(drafts) == 0 {
		drafts = []ledger.Draft{said}
	}
	_, err = s.seal(ctx, tx, drafts)
	return err
}

// entriesOf counts the entries of a session and lists those that have a salt.
// Entries that cannot be read are for a verification to tell.
func entriesOf(ctx context.Context, tx *sql.Tx, session string) (n int, salted []uint64, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT l.seq, EXISTS (SELECT 1 FROM salts WHERE entry=l.seq) FROM ledger l
		WHERE CASE WHEN json_valid(CAST(l.body AS TEXT)) THEN json_extract(CAST(l.body AS TEXT), '$.session') END = ? ORDER BY l.seq`, session)
	if err != nil {
		return 0, nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for ; rows.Next(); n++ {
		var seq uint64
		var has bool
		if err := rows.Scan(&seq, &has); err != nil {
			return n, nil, err
		}
		if has {
			salted = append(salted, seq)
		}
	}
	return n, salted, rows.Err()
}
