package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/looprig/looprig/harness/journal"
)

// schemaVersion is kept in user_version; applicationID marks the file as ours.
const (
	schemaVersion = 4
	applicationID = 0x6c707267 // "lprg"

	// refsVersion is the first that keeps which session refers to which body.
	refsVersion = 2
	// treeVersion is the first that keeps the ledger's tree and the home's id.
	treeVersion = 3
)

// VersionError says that the file was written by another version.
type VersionError struct{ Have, Want int }

func (e *VersionError) Error() string {
	if e.Have < e.Want {
		return fmt.Sprintf("the database has version %d, this program works with version %d: the next run that writes brings it there", e.Have, e.Want)
	}
	return fmt.Sprintf("the database has version %d, this program knows only up to version %d: use the program that wrote it", e.Have, e.Want)
}

const schema = `
CREATE TABLE sessions (
  id TEXT PRIMARY KEY, created INTEGER NOT NULL, updated INTEGER NOT NULL,
  title TEXT NOT NULL, mode TEXT NOT NULL, model TEXT NOT NULL,
  last_seq INTEGER NOT NULL DEFAULT 0, turns INTEGER NOT NULL DEFAULT 0, closed INTEGER NOT NULL DEFAULT 0,
  lease_holder TEXT NOT NULL DEFAULT '', lease_token INTEGER NOT NULL DEFAULT 0, lease_expires INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE records (
  session TEXT NOT NULL, seq INTEGER NOT NULL, type TEXT NOT NULL, time INTEGER NOT NULL,
  key TEXT, sum INTEGER NOT NULL, line BLOB NOT NULL,
  PRIMARY KEY (session, seq)
) WITHOUT ROWID;
CREATE UNIQUE INDEX records_key ON records (session, key) WHERE key IS NOT NULL;
CREATE TABLE ledger (seq INTEGER PRIMARY KEY, hash TEXT NOT NULL, body BLOB NOT NULL);
CREATE TABLE blobs (digest TEXT PRIMARY KEY, mime TEXT NOT NULL, body BLOB NOT NULL) WITHOUT ROWID;
`

// schema2 is what version 2 adds: forks, snapshots, standing grants, the salts of
// the ledger's commitments, facts about the home (its id), and which session
// refers to which body.
const schema2 = `
ALTER TABLE sessions ADD COLUMN parent TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN parent_seq INTEGER NOT NULL DEFAULT 0;
CREATE TABLE snapshots (session TEXT PRIMARY KEY, seq INTEGER NOT NULL, version INTEGER NOT NULL, sum INTEGER NOT NULL, body BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE grants (
  id TEXT PRIMARY KEY, created INTEGER NOT NULL, identity TEXT NOT NULL, digest TEXT NOT NULL, rule TEXT NOT NULL,
  predicate TEXT NOT NULL DEFAULT '', by TEXT NOT NULL, session TEXT NOT NULL DEFAULT '',
  UNIQUE (identity, digest, rule, predicate)
) WITHOUT ROWID;
CREATE TABLE salts (entry INTEGER NOT NULL, field TEXT NOT NULL, salt BLOB NOT NULL, PRIMARY KEY (entry, field)) WITHOUT ROWID;
CREATE TABLE home (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE blob_refs (digest TEXT NOT NULL, session TEXT NOT NULL, PRIMARY KEY (digest, session)) WITHOUT ROWID;
CREATE INDEX blob_refs_session ON blob_refs (session);
CREATE INDEX sessions_parent ON sessions (parent) WHERE parent <> '';
`

// schema3 is what version 3 adds: the nodes above the leaves of the ledger's tree,
// each in the row of the entry that completed it (every other entry completes
// none), and the home's id.
const schema3 = `
CREATE TABLE tree (seq INTEGER PRIMARY KEY, nodes BLOB NOT NULL);
INSERT OR IGNORE INTO home (key, value) VALUES ('id', lower(hex(randomblob(16))));
`

// schema4 is what version 4 adds: the source that a standing grant was given for.
const schema4 = `
ALTER TABLE grants ADD COLUMN pin TEXT NOT NULL DEFAULT '';
`

// steps bring a database from each version to the next.
var steps = []string{schema, schema2, schema3, schema4}

// migrate brings an empty file to the current schema. Reading the version
// inside the immediate transaction keeps two first starts apart.
func migrate(ctx context.Context, db *sql.DB) (err error) {
	if v, err := version(ctx, db); err == nil && v == schemaVersion {
		return nil
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignoreDone(tx.Rollback()))
		}
	}()
	v, err := version(ctx, tx)
	if err != nil {
		return err
	}
	switch {
	case v == schemaVersion:
		return tx.Commit()
	case v < 0 || v > schemaVersion:
		return &VersionError{Have: v, Want: schemaVersion}
	}
	for _, stmt := range append(slices.Clone(steps[v:]),
		fmt.Sprintf("PRAGMA application_id = %d", applicationID),
		fmt.Sprintf("PRAGMA user_version = %d", schemaVersion),
	) {
		if _, err := tx.ExecContext(ctx, stmt); err != nil {
			return err
		}
	}
	if v > 0 && v < refsVersion {
		if err := fillRefs(ctx, tx); err != nil {
			return err
		}
	}
	if v > 0 && v < treeVersion {
		if err := fillTree(ctx, tx); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// schemaSum is over the tables and indexes as the current version makes them. A
// bit that flipped in their description could otherwise make rows disappear
// without an error.
const schemaSum = "06e4a38382975579eb02a922a23e6f9704eca9483334ecfe2d7c8c84bc4c0a60"

// checkSchema holds what the file says of its tables to what was made.
func checkSchema(ctx context.Context, db *sql.DB) error {
	sum, err := sumOfSchema(ctx, db)
	if err == nil && sum != schemaSum {
		return &journal.CorruptError{Where: "database", Reason: "the database's tables are not what they were made"}
	}
	return err
}

func sumOfSchema(ctx context.Context, db *sql.DB) (_ string, err error) {
	rows, err := db.QueryContext(ctx, "SELECT type, name, tbl_name, coalesce(sql,'') FROM sqlite_schema ORDER BY type, name")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	h := sha256.New()
	for rows.Next() {
		var kind, name, table, text string
		if err := rows.Scan(&kind, &name, &table, &text); err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(h, "%q %q %q %q\n", kind, name, table, text) // a hash takes everything
	}
	return hex.EncodeToString(h.Sum(nil)), rows.Err()
}

// ErrUnmade says, to who only reads, that a file has nothing in it yet: whoever
// began it was killed before the tables were there. The next that writes makes
// them. It is an fs.ErrNotExist.
var ErrUnmade = fmt.Errorf("the database has not been made yet: %w", fs.ErrNotExist)

func checkVersion(ctx context.Context, db *sql.DB) error {
	v, err := version(ctx, db)
	if err != nil {
		return err
	}
	if v == 0 {
		var n int
		if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&n); err != nil {
			return err
		}
		if n == 0 {
			return ErrUnmade
		}
	}
	if v != schemaVersion {
		return &VersionError{Have: v, Want: schemaVersion}
	}
	return nil
}

type rowQuerier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func version(ctx context.Context, q rowQuerier) (int, error) {
	var v int
	err := q.QueryRowContext(ctx, "PRAGMA user_version").Scan(&v)
	return v, err
}

func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// classify turns SQLite's own corruption codes into the typed error.
func classify(where string, err error) error {
	var se *driver.Error
	if !errors.As(err, &se) {
		if err != nil && strings.HasPrefix(err.Error(), "sql: Scan error") {
			// A column holds what no append puts there.
			return &journal.CorruptError{Where: where, Reason: "a row does not hold what was written", Err: err}
		}
		return err
	}
	switch se.Code() & 0xff {
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return &journal.CorruptError{Where: where, Reason: "the database file is damaged", Err: err}
	case lib.SQLITE_ERROR:
		// The statements are fixed: what they name is missing only from a schema
		// that is no longer the one that was made.
		if text := se.Error(); strings.Contains(text, "no such table") || strings.Contains(text, "no such column") || strings.Contains(text, "has no column") || strings.Contains(text, "unsupported file format") {
			return &journal.CorruptError{Where: where, Reason: "the database's tables are not what they were made", Err: err}
		}
	case lib.SQLITE_FULL:
		return &journal.StorageError{Reason: "the disk is full", Fix: "free some space on the disk of the home, then try again", Err: err}
	case lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN, lib.SQLITE_PERM:
		return &journal.StorageError{
			Reason: "the database cannot be opened or written",
			Fix:    "its folder must be writable, for reading too: mend its permissions, or copy the home to a place that can be written and name that with --home",
			Err:    err,
		}
	case lib.SQLITE_IOERR:
		return &journal.StorageError{Reason: "the disk reports an error", Fix: "look at the system's log, and check that disk before it is used again", Err: err}
	}
	return err
}

// contention reports whether err only says that others hold the lock.
func contention(err error) bool {
	var se *driver.Error
	if !errors.As(err, &se) {
		return false
	}
	code := se.Code() & 0xff
	return code == lib.SQLITE_BUSY || code == lib.SQLITE_LOCKED
}
