// Package refpage holds pages of docs/reference to what they are generated from.
// Only tests import it.
package refpage

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the reference pages")

// Check reports a page ("commands.md") that is not what is wanted, or writes it when
// the test runs with -update. root leads from the test's folder to the module's.
func Check(t testing.TB, root, page, want string) {
	t.Helper()
	path := filepath.Join(root, "docs", "reference", page)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s is stale (%v): run make generate", path, err)
	}
}
