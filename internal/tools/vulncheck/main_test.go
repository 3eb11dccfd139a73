package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestReachable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := reachable(t.Context(), "file://"+dir); err == nil {
		t.Error("an empty directory passes for a database")
	}
	if err := os.Mkdir(filepath.Join(dir, "index"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "index", "db.json"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := reachable(t.Context(), "file://"+dir); err != nil {
		t.Error(err)
	}
	if err := reachable(t.Context(), "http://127.0.0.1:1"); err == nil {
		t.Error("a closed port passes for a database")
	}
}
