package sqlite

import (
	"context"
	"database/sql"
	"errors"

	driver "modernc.org/sqlite"
)

// statements are what every append runs, prepared once for the writer's
// connection.
type statements struct {
	savepoint, release, lease, insert, advance *sql.Stmt
	last, entry, node, salt                    *sql.Stmt
}

func (s *Store) prepare(ctx context.Context) error {
	// The times of a file are not needed to read it back. Where the system has
	// no such call, commits sync with the one that it has.
	_, _ = driver.Fdatasync(true)
	for _, p := range []struct {
		to   **sql.Stmt
		text string
	}{
		{&s.st.savepoint, "SAVEPOINT job"},
		{&s.st.release, "RELEASE job"},
		{&s.st.lease, "SELECT last_seq, lease_holder, lease_token FROM sessions WHERE id=?"},
		{&s.st.insert, "INSERT INTO records (session, seq, type, time, key, sum, line) VALUES (?,?,?,?,?,?,?)"},
		{&s.st.advance, `UPDATE sessions SET last_seq=last_seq+?, turns=turns+?, closed=CASE WHEN ? THEN ? ELSE closed END,
			updated=?, lease_expires=max(lease_expires,?) WHERE id=? AND last_seq=? AND lease_token=? AND lease_holder=?`},
		{&s.st.last, "SELECT seq, hash FROM ledger ORDER BY seq DESC LIMIT 1"},
		{&s.st.entry, "INSERT INTO ledger (seq, hash, body) VALUES (?,?,?)"},
		{&s.st.node, "INSERT INTO tree (seq, nodes) VALUES (?,?)"},
		{&s.st.salt, "INSERT INTO salts (entry, field, salt) VALUES (?,?,?)"},
	} {
		var err error
		if *p.to, err = s.wdb.PrepareContext(ctx, p.text); err != nil {
			return err
		}
	}
	return nil
}

func (st *statements) close() error {
	var errs []error
	for _, p := range []*sql.Stmt{st.savepoint, st.release, st.lease, st.insert, st.advance, st.last, st.entry, st.node, st.salt} {
		if p != nil {
			errs = append(errs, p.Close())
		}
	}
	return errors.Join(errs...)
}
