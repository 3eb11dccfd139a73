//go:build unix

package pin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestPinsThatOthersCanWriteAreRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "mcp-pins.json")
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	fingerprint := "sha256:" + strings.Repeat("0", 64)
	if err := s.Accept("b", LayerLaunch, fingerprint, "test", time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err != nil {
		t.Fatalf("an owner's pins: %v", err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "chmod go-w") {
		t.Errorf("pins that others can write gave %v", err)
	}
	if err := s.Accept("c", LayerLaunch, fingerprint, "test", time.Unix(1, 0)); err == nil {
		t.Error("they were added to")
	}
}
