//go:build integration && linux

package stdio

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// program copies the test binary, so that it can be swapped, and returns its
// path and digest.
func program(t *testing.T) (path, digest string) {
	t.Helper()
	raw, err := os.ReadFile(self(t))
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "server")
	writeFile(t, path, raw, 0o755)
	sum := sha256.Sum256(raw)
	return path, hex.EncodeToString(sum[:])
}

func writeFile(t *testing.T, path string, raw []byte, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, raw, mode); err != nil {
		t.Fatal(err)
	}
}

func dialVerified(t *testing.T, path, digest string, afterHash func()) (wire.Conn, error) {
	t.Helper()
	tr, err := New(Config{Command: path, Args: []string{"canary-argument"}, SHA256: digest,
		Env: map[string]string{roleEnv: "server", "GORACE": "atexit_sleep_ms=0"}})
	if err != nil {
		t.Fatal(err)
	}
	tr.afterHash = afterHash
	conn, err := tr.Dial(context.Background(), wire.Options{})
	if err == nil {
		t.Cleanup(func() { _ = conn.Close() })
	}
	return conn, err
}

func TestVerifiedNative(t *testing.T) {
	t.Parallel()
	path, digest := program(t)
	conn, err := dialVerified(t, path, strings.ToUpper(digest), nil)
	if err != nil {
		t.Fatal(err)
	}
	send(t, conn, order{Do: "echo"})
	mustRead(t, conn)
	send(t, conn, order{Do: "fds"})
	if frame := string(mustRead(t, conn).Data); strings.Contains(frame, path) {
		t.Errorf("the executable's descriptor leaked: %s", frame)
	}
	cmdline, err := os.ReadFile("/proc/" + itoa(conn.Diagnostics().PID) + "/cmdline")
	if err != nil || string(cmdline) != path+"\x00canary-argument\x00" {
		t.Errorf("command line %q, error %v", cmdline, err)
	}
	if w := conn.Diagnostics().Warnings; len(w) != 0 {
		t.Errorf("warnings %q", w)
	}
}

func itoa(n int) string { raw, _ := json.Marshal(n); return string(raw) }

func TestMismatchStartsNothing(t *testing.T) {
	t.Parallel()
	path, digest := program(t)
	wrong := strings.Repeat("0", 64)
	_, err := dialVerified(t, path, wrong, func() { t.Error("went on after a mismatch") })
	var mismatch *SHA256MismatchError
	if !errors.As(err, &mismatch) || mismatch.Want != wrong || mismatch.Got != digest || mismatch.Code() != "MCPServerSHA256Mismatch" {
		t.Fatalf("error %v", err)
	}
	if strings.Contains(err.Error(), filepath.Dir(path)) {
		t.Errorf("the error shows the path: %v", err)
	}
}

// TestSwapByRename: another file under the checked name is not what runs.
func TestSwapByRename(t *testing.T) {
	t.Parallel()
	path, digest := program(t)
	evil := filepath.Join(t.TempDir(), "evil")
	writeFile(t, evil, []byte("#!/bin/sh\necho '{\"evil\":true}'\nsleep 5\n"), 0o755)
	conn, err := dialVerified(t, path, digest, func() {
		if err := os.Rename(evil, path); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	send(t, conn, order{Do: "echo"})
	if got := string(mustRead(t, conn).Data); got != `{"do":"echo"}` {
		t.Fatalf("something else runs: %s", got)
	}
}

// TestOverwriteCannotWin: nobody gets the checked file open for writing
// between the hash and the start, and the running program keeps it so.
func TestOverwriteCannotWin(t *testing.T) {
	t.Parallel()
	path, digest := program(t)
	open := func() error {
		fd, err := unix.Open(path, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err == nil {
			_ = unix.Close(fd)
		}
		return err
	}
	var during error
	conn, err := dialVerified(t, path, digest, func() { during = open() })
	if err != nil {
		t.Fatal(err)
	}
	if !errors.Is(during, unix.EWOULDBLOCK) {
		t.Errorf("opening for writing in between: %v", during)
	}
	send(t, conn, order{Do: "echo"})
	mustRead(t, conn)
}

func TestOpenWriterRefusesTheStart(t *testing.T) {
	t.Parallel()
	path, digest := program(t)
	writer, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	_, err = dialVerified(t, path, digest, func() { t.Error("went on beside an open writer") })
	var failed *wire.LaunchError
	if !errors.As(err, &failed) || failed.Reason != "the executable is open for writing" {
		t.Fatalf("error %v", err)
	}
}

func TestForeignWritableTargetIsRefused(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	path, digest := program(t)
	if err := os.Chown(path, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	conn, err := dialVerified(t, path, digest, nil)
	if err != nil {
		t.Fatalf("a foreign file that nobody else may write: %v", err)
	}
	_ = conn.Close()
	if err := os.Chmod(path, 0o757); err != nil {
		t.Fatal(err)
	}
	var failed *wire.LaunchError
	if _, err := dialVerified(t, path, digest, nil); !errors.As(err, &failed) || !errors.Is(err, fs.ErrPermission) {
		t.Fatalf("error %v", err)
	}
}

func TestVerifiedScript(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"#!/bin/sh", "#!/usr/bin/env sh", "#!/usr/bin/env -S sh -e", "#! /bin/sh -e"} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "script")
			text := []byte(line + "\necho \"{\\\"zero\\\":\\\"$0\\\",\\\"one\\\":\\\"$1\\\"}\"\nread x\n")
			writeFile(t, path, text, 0o755)
			sum := sha256.Sum256(text)
			digest := hex.EncodeToString(sum[:])
			conn, err := dialVerified(t, path, digest, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := string(mustRead(t, conn).Data), `{"zero":"`+path+`","one":"canary-argument"}`; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if w := conn.Diagnostics().Warnings; !slices.Contains(w, scriptRemark) {
				t.Errorf("warnings %q", w)
			}
			var mismatch *SHA256MismatchError
			_, err = dialVerified(t, path, digest, func() { writeFile(t, path, []byte("#!/bin/sh\nexec sleep 30\n"), 0o755) })
			if !errors.As(err, &mismatch) {
				t.Errorf("a script that was swapped before its start: %v", err)
			}
		})
	}
}
