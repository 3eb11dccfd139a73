package sqlite

import (
	"database/sql"
	"errors"
	"path/filepath"
	"testing"

	"github.com/looprig/looprig/harness/journal"
)

// A schema that is no longer ours, and a disk that takes nothing more, are not
// the same fault: only the first puts what is stored in doubt.
func TestFaultsOfTheSchemaAndOfTheDiskAreTold(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, stmt := range []string{"CREATE TABLE ledger (seq INTEGER PRIMARY KEY, body BLOB)", "PRAGMA max_page_count = 2"} {
		if _, err := db.ExecContext(t.Context(), stmt); err != nil {
			t.Fatal(err)
		}
	}
	for _, stmt := range []string{"SELECT hash FROM ledger", "SELECT * FROM records", "INSERT INTO ledger (hash) VALUES ('x')"} {
		_, err := db.ExecContext(t.Context(), stmt)
		var corrupt *journal.CorruptError
		if !errors.As(classify("database", err), &corrupt) {
			t.Errorf("%s: %v", stmt, err)
		}
	}
	_, err = db.ExecContext(t.Context(), "INSERT INTO ledger (body) VALUES (zeroblob(100000))")
	var storage *journal.StorageError
	if !errors.As(classify("database", err), &storage) || storage.Fix == "" {
		t.Errorf("a full disk gave %v", err)
	}
}

// The sum says what the current version makes: whoever changes the schema changes
// it too.
func TestTheSumIsOfThisSchema(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	if sum, err := sumOfSchema(t.Context(), db); err != nil || sum != schemaSum {
		t.Errorf("schemaSum is %q, want %q (%v)", schemaSum, sum, err)
	}
}
