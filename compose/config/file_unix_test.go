//go:build unix

package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A pipe in the place of a file would block its reader before any signal or
// limit could end it.
func TestReadFileRefusesAPipeAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "mcp.json")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("no pipes here:", err)
	}
	got := make(chan error, 1)
	go func() {
		_, err := ReadFile(path)
		got <- err
	}()
	select {
	case err := <-got:
		if err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("a pipe gave %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("a pipe without a writer is waited for")
	}
}

func TestCheckDirRefusesWhatOthersCanWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := CheckDir(dir); err != nil {
		t.Errorf("an owner's directory gave %v", err)
	}
	for _, mode := range []os.FileMode{0o770, 0o777} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		var perm *PermissionError
		if err := CheckDir(dir); !errors.As(err, &perm) || !strings.Contains(perm.Fix, "chmod go-w") {
			t.Errorf("mode %o gave %v", mode, err)
		}
	}
}
