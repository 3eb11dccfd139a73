package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/ledger"
)

// eraseKey marks, in the table of the home, that what was deleted may still have
// bytes in the files. It goes with the transaction that deletes and is taken
// away once the files were written anew, so that a process that dies in between
// leaves the work to the next that opens the database.
const eraseKey = "erase"

// erase runs work that deletes what must be gone from the files, not only from
// the tables, and returns when it is. SQLite leaves copies of rows behind when
// it moves them between pages: only writing the file anew is sure, so that an
// erasure costs time in proportion to the file.
func (s *Store) erase(ctx context.Context, run func(context.Context, *sql.Tx) ([]ledger.Entry, error)) ([]ledger.Entry, error) {
	entries, err := s.do(ctx, func(ctx context.Context, tx *sql.Tx) ([]ledger.Entry, error) {
		entries, err := run(ctx, tx)
		if err != nil {
			return nil, err
		}
		_, err = tx.ExecContext(ctx, "INSERT OR REPLACE INTO home (key, value) VALUES (?, randomblob(8))", eraseKey)
		return entries, err
	})
	if err != nil {
		return nil, err
	}
	if err := s.enter(); err != nil {
		return entries, err
	}
	defer s.pending.Done()
	return entries, s.scrub(ctx)
}

// scrub writes the files anew when something was deleted from them.
func (s *Store) scrub(ctx context.Context) error {
	var mark []byte
	err := s.wdb.QueryRowContext(ctx, "SELECT value FROM home WHERE key=?", eraseKey).Scan(&mark)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return classify("database", err)
	}
	if _, err := s.wdb.ExecContext(ctx, "VACUUM"); err != nil {
		return fmt.Errorf("it is deleted, but its bytes are still in the file: %w", classify("database", err))
	}
	if err := s.emptyWAL(ctx); err != nil {
		return err
	}
	_, err = s.wdb.ExecContext(ctx, "DELETE FROM home WHERE key=? AND value=?", eraseKey, mark)
	return classify("database", err)
}

// emptyWAL moves everything into the main file and cuts the log to nothing.
func (s *Store) emptyWAL(ctx context.Context) error {
	var busy, frames, moved int
	if err := s.wdb.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &frames, &moved); err != nil {
		return classify("database", err)
	}
	if busy != 0 {
		return fmt.Errorf("it is deleted, but its bytes stay in the log while another process reads: %w", journal.ErrLeased)
	}
	return nil
}

// DeleteBlob removes a stored body and what refers to it, and returns when its
// bytes are gone from the files. A body that is not there is no error.
func (s *Store) DeleteBlob(ctx context.Context, digest string) error {
	_, err := s.erase(ctx, func(ctx context.Context, tx *sql.Tx) ([]ledger.Entry, error) {
		return nil, deleteBlob(ctx, tx, digest)
	})
	return err
}

func deleteBlob(ctx context.Context, tx *sql.Tx, digest string) error {
	for _, stmt := range []string{"DELETE FROM blobs WHERE digest=?", "DELETE FROM blob_refs WHERE digest=?"} {
		if _, err := tx.ExecContext(ctx, stmt, digest); err != nil {
			return err
		}
	}
	return nil
}
