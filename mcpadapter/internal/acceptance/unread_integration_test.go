//go:build integration && linux

package acceptance

import (
	"bytes"
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A reader of stdout that stays open and does not read holds the end of a run up,
// but not against the person who interrupts it.
func TestInterruptWhileNobodyReads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// More than a pipe takes, so that the last events wait for a reader.
	long := strings.Repeat("x", 100_000)
	path := w.write("s.yaml", "version: 1\nsteps:\n  - call: {tool: mcp__demo__echo, args: {text: "+long+"}}\n")
	ctx, cancel := context.WithTimeout(t.Context(), runWait)
	defer cancel()
	cmd := w.command(ctx, "--headless", "--tofu", "--output", "json", "--script", path)
	unread, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unread.Close() }()
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = stdout.Close()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	w.await("a full pipe", runWait, func() bool {
		n, err := unix.IoctlGetInt(int(unread.Fd()), unix.TIOCINQ)
		return err == nil && n > 32<<10
	})
	// The first signal may end the run itself; when that has come to its end is not
	// known from outside, so it is asked repeatedly.
	ask := time.NewTicker(300 * time.Millisecond)
	defer ask.Stop()
	for {
		select {
		case <-ended:
			if ctx.Err() != nil {
				t.Fatal("it did not end")
			}
			if code := cmd.ProcessState.ExitCode(); code != 130 {
				t.Errorf("exit %d: %s", code, &stderr)
			}
			return
		case <-ask.C:
			_ = cmd.Process.Signal(syscall.SIGINT)
		}
	}
}
