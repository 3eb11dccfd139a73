package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/ledger"
)

// RewriteRecords gives the lines of a session's records other bytes, in one
// transaction, and returns how many changed once the old bytes are gone from the
// files. rewrite is called for each record in order; nil, or the line itself,
// keeps it, and an error undoes everything. Bodies that only the old lines
// named go as well, and so do the snapshots of the session and of those that
// were forked from it. It fails with journal.ErrLeased while a living holder
// has one of them, since that would write the old text again.
func (s *Store) RewriteRecords(ctx context.Context, session string, rewrite func(journal.Record) ([]byte, error)) (int, error) {
	var n int
	_, err := s.erase(ctx, func(ctx context.Context, tx *sql.Tx) (_ []ledger.Entry, err error) {
		n, err = s.rewriteRecords(ctx, tx, session, rewrite)
		return nil, err
	})
	return n, err
}

// family selects a session and those that were forked from it, at any depth.
const family = `WITH RECURSIVE family(id) AS (SELECT id FROM sessions WHERE id=?
	UNION SELECT s.id FROM sessions s JOIN family f ON s.parent=f.id) `

// change is a record's new line beside what it replaces.
type change struct {
	seq      uint64
	old, new []byte
}

func (s *Store) rewriteRecords(ctx context.Context, tx *sql.Tx, session string, rewrite func(journal.Record) ([]byte, error)) (int, error) {
	if err := s.checkUnheld(ctx, tx, session); err != nil {
		return 0, err
	}
	changes, err := s.changes(ctx, tx, session, rewrite)
	if err != nil {
		return 0, err
	}
	for _, c := range changes {
		if _, err := tx.ExecContext(ctx, "UPDATE records SET line=?, sum=? WHERE session=? AND seq=?",
			c.new, crc32.Checksum(c.new, castagnoli), session, c.seq); err != nil {
			return 0, err
		}
	}
	if err := s.moveRefs(ctx, tx, session, changes); err != nil {
		return 0, err
	}
	_, err = tx.ExecContext(ctx, family+"DELETE FROM snapshots WHERE session IN family", session)
	return len(changes), err
}

// checkUnheld refuses work on a session that is not there, or that a living
// holder has, itself or one that was forked from it.
func (s *Store) checkUnheld(ctx context.Context, tx *sql.Tx, session string) (err error) {
	rows, err := tx.QueryContext(ctx, family+"SELECT id, lease_holder, lease_expires FROM sessions WHERE id IN family", session)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	found := false
	for rows.Next() {
		var id, holder string
		var expires int64
		if err := rows.Scan(&id, &holder, &expires); err != nil {
			return err
		}
		if s.held(holder, expires) {
			return refuse(fmt.Errorf("%w: %s is held by %s", journal.ErrLeased, id, holder))
		}
		found = true
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if !found {
		return refuse(fmt.Errorf("%w: %s", journal.ErrNotFound, session))
	}
	return nil
}

func (s *Store) changes(ctx context.Context, tx *sql.Tx, session string, rewrite func(journal.Record) ([]byte, error)) (out []change, err error) {
	rows, err := tx.QueryContext(ctx, readRecords+" ORDER BY seq", session, 1)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		r, err := scanRecord(rows, session)
		if err != nil {
			return nil, refuse(err)
		}
		line, err := rewrite(r)
		if err != nil {
			return nil, refuse(err)
		}
		if line != nil && !bytes.Equal(line, r.Line) {
			out = append(out, change{seq: r.Seq, old: r.Line, new: bytes.Clone(line)})
		}
	}
	return out, rows.Err()
}

// moveRefs adds what the new lines name and drops what only the old ones did.
func (s *Store) moveRefs(ctx context.Context, tx *sql.Tx, session string, changes []change) error {
	gone := map[string]bool{}
	for _, c := range changes {
		for _, d := range digestsIn(c.old) {
			gone[d] = true
		}
		for _, d := range digestsIn(c.new) {
			if err := addRef(ctx, tx, session, d); err != nil {
				return err
			}
		}
	}
	for d := range gone {
		var still int
		if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM records WHERE session=? AND instr(line, ?)", session, []byte(d)).Scan(&still); err != nil {
			return err
		}
		if still > 0 {
			continue
		}
		if err := dropRef(ctx, tx, session, d); err != nil {
			return err
		}
	}
	return nil
}
