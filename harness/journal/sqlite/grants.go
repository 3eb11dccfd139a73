package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/ledger"
	"github.com/looprig/looprig/harness/policy"
)

var _ journal.GrantStore = (*Store)(nil)

const grantColumns = `SELECT id, created, identity, digest, rule, predicate, "by", session, pin FROM grants`

// GrantsFor implements policy.Lookup. What cannot be read is not granted.
func (s *Store) GrantsFor(ctx context.Context, identity string) []policy.Grant {
	out, err := s.readGrants(ctx, s.db, grantColumns+" WHERE identity=? ORDER BY created, id LIMIT ?", identity, policy.MaxGrantsPerTool)
	if err != nil {
		return nil
	}
	return out
}

// Grants implements policy.Store.
func (s *Store) Grants(ctx context.Context) ([]policy.Grant, error) {
	out, err := s.readGrants(ctx, s.db, grantColumns+" ORDER BY created, id")
	return out, classify("grants", err)
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func (s *Store) readGrants(ctx context.Context, db querier, query string, args ...any) (out []policy.Grant, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		g := policy.Grant{Scope: policy.ScopeAlways}
		var created int64
		if err := rows.Scan(&g.ID, &created, &g.Tool, &g.Digest, &g.Rule, &g.When, &g.By, &g.Session, &g.Pin); err != nil {
			return nil, err
		}
		g.Created = time.UnixMicro(created).UTC()
		out = append(out, g)
	}
	return out, rows.Err()
}

// AddGrant implements policy.Store.
func (s *Store) AddGrant(ctx context.Context, g policy.Grant) (policy.Grant, error) {
	if g.Digest == "" {
		return policy.Grant{}, policy.ErrNoDigest
	}
	var kept policy.Grant
	_, err := s.do(ctx, func(ctx context.Context, tx *sql.Tx) ([]ledger.Entry, error) {
		const same = grantColumns + " WHERE identity=? AND digest=? AND rule=? AND predicate=?"
		there, err := s.readGrants(ctx, tx, same, g.Tool, g.Digest, g.Rule, g.When)
		if err != nil {
			return nil, err
		}
		if len(there) > 0 {
			kept = there[0]
			return nil, nil
		}
		var all, of int
		err = tx.QueryRowContext(ctx, "SELECT count(*), count(CASE WHEN identity=? THEN 1 END) FROM grants", g.Tool).Scan(&all, &of)
		if err != nil {
			return nil, err
		}
		if all >= policy.MaxGrants || of >= policy.MaxGrantsPerTool {
			return nil, refuse(policy.ErrTooManyGrants)
		}
		kept = g
		kept.Scope, kept.Created = policy.ScopeAlways, g.Created.UTC().Truncate(time.Microsecond)
		return nil, insertGrant(ctx, tx, g)
	})
	return kept, err
}

func insertGrant(ctx context.Context, tx *sql.Tx, g policy.Grant) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO grants (id, created, identity, digest, rule, predicate, "by", session, pin) VALUES (?,?,?,?,?,?,?,?,?)
		ON CONFLICT DO NOTHING`, g.ID, g.Created.UnixMicro(), g.Tool, g.Digest, g.Rule, g.When, g.By, g.Session, g.Pin)
	return err
}

// changeGrants gives and takes back what a batch tells of.
func changeGrants(ctx context.Context, tx *sql.Tx, changes []journal.GrantChange) error {
	for _, c := range changes {
		if c.Given != nil {
			if err := insertGrant(ctx, tx, *c.Given); err != nil {
				return err
			}
			continue
		}
		if _, err := tx.ExecContext(ctx, "DELETE FROM grants WHERE id=?", c.Revoke); err != nil {
			return err
		}
	}
	return nil
}

// RevokeGrant implements policy.Store.
func (s *Store) RevokeGrant(ctx context.Context, id string) error { return s.RevokeGrantAs(ctx, id) }

// RevokeGrantAs revokes a grant and seals the entries that say so, or neither.
func (s *Store) RevokeGrantAs(ctx context.Context, id string, drafts ...ledger.Draft) error {
	_, err := s.do(ctx, func(ctx context.Context, tx *sql.Tx) ([]ledger.Entry, error) {
		res, err := tx.ExecContext(ctx, "DELETE FROM grants WHERE id=?", id)
		if err != nil {
			return nil, err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return nil, errors.Join(err, refuseIf(n == 0, policy.ErrNoGrant))
		}
		return s.seal(ctx, tx, drafts)
	})
	return err
}

func refuseIf(when bool, err error) error {
	if when {
		return refuse(err)
	}
	return nil
}
