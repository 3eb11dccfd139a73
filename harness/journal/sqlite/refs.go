package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"

	"github.com/looprig/looprig/harness/journal"
)

// Which session refers to which body is kept in a table, so that deleting a
// session need not read every other one. A session refers to the bodies that
// came with its batches and to those that its lines name.

// refMark is how a line names a body that is stored apart.
var refMark = []byte(`"blob":"sha256:`)

const (
	digestPrefix = "sha256:"
	digestHex    = 64
)

// digestsIn lists the bodies that a line names, in order, maybe more than once.
func digestsIn(line []byte) []string {
	var out []string
	for {
		i := bytes.Index(line, refMark)
		if i < 0 {
			return out
		}
		line = line[i+len(refMark):]
		if len(line) > digestHex && line[digestHex] == '"' && isHex(line[:digestHex]) {
			out = append(out, digestPrefix+string(line[:digestHex]))
		}
	}
}

func isHex(b []byte) bool {
	for _, c := range b {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func addRef(ctx context.Context, tx *sql.Tx, session, digest string) error {
	_, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO blob_refs (digest, session) VALUES (?,?)", digest, session)
	return err
}

// storeBlobs keeps the bodies of a batch and what its records refer to.
func storeBlobs(ctx context.Context, tx *sql.Tx, session string, b journal.Batch) error {
	for _, blob := range b.Blobs {
		if _, err := tx.ExecContext(ctx, "INSERT OR IGNORE INTO blobs (digest, mime, body) VALUES (?,?,?)", blob.Digest, blob.MIME, blob.Body); err != nil {
			return err
		}
		if err := addRef(ctx, tx, session, blob.Digest); err != nil {
			return err
		}
	}
	for _, r := range b.Records {
		for _, d := range digestsIn(r.Line) {
			if err := addRef(ctx, tx, session, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropRefs forgets what a session refers to and the bodies that no other does.
func dropRefs(ctx context.Context, tx *sql.Tx, session string) error {
	for _, stmt := range []string{
		`DELETE FROM blobs WHERE digest IN (SELECT digest FROM blob_refs WHERE session=?1)
			AND NOT EXISTS (SELECT 1 FROM blob_refs r WHERE r.digest=blobs.digest AND r.session<>?1)`,
		"DELETE FROM blob_refs WHERE session=?1",
	} {
		if _, err := tx.ExecContext(ctx, stmt, session); err != nil {
			return err
		}
	}
	return nil
}

// dropRef forgets one reference, and the body when it was the last.
func dropRef(ctx context.Context, tx *sql.Tx, session, digest string) error {
	if _, err := tx.ExecContext(ctx, "DELETE FROM blob_refs WHERE digest=? AND session=?", digest, session); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM blobs WHERE digest=?1 AND NOT EXISTS (SELECT 1 FROM blob_refs WHERE digest=?1)`, digest)
	return err
}

// fillRefs makes the table from the records of a database that had none.
func fillRefs(ctx context.Context, tx *sql.Tx) (err error) {
	rows, err := tx.QueryContext(ctx, `SELECT session, line FROM records WHERE instr(line, '"blob":"sha256:')`)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	type ref struct{ session, digest string }
	var refs []ref
	for rows.Next() {
		var session string
		var line sql.RawBytes
		if err := rows.Scan(&session, &line); err != nil {
			return err
		}
		for _, d := range digestsIn(line) {
			refs = append(refs, ref{session, d})
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, r := range refs {
		if err := addRef(ctx, tx, r.session, r.digest); err != nil {
			return err
		}
	}
	return nil
}
