//go:build integration && linux

package sqlite_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/journal/journaltest"
	"github.com/looprig/looprig/harness/journal/sqlite"
)

// TestKilledAtAnyTime kills a process with four writers at a random moment, ten
// times on one database, so that what one kill left is what the next one meets.
func TestKilledAtAnyTime(t *testing.T) {
	t.Parallel()
	const perDatabase = 10
	var path string
	var acked []journaltest.Acked
	acknowledged := 0
	for seed := range sample(20, 1000) {
		rnd := rand.New(rand.NewPCG(uint64(seed), 1))
		if seed%perDatabase == 0 {
			path, acked = filepath.Join(t.TempDir(), "looprig.db"), nil
		}
		c := start(t, childJob{Path: path, Prefix: fmt.Sprint("K", seed), Writers: 4})
		after := rnd.IntN(40) + 1
		kill := time.AfterFunc(time.Hour, func() { _ = c.cmd.Process.Kill() })
		c.wait(t, func(n int) {
			if n == after {
				kill.Reset(time.Duration(rnd.IntN(20_000)) * time.Microsecond)
			}
		})
		kill.Stop()
		if c.said != "" || len(c.acked) < after {
			t.Fatalf("seed %d: %d records, then %s", seed, len(c.acked), c.said)
		}
		acknowledged += len(c.acked)
		acked = append(acked, c.acked...)
		t.Logf("seed %d", seed)
		checkFiles(t, path, acked)
	}
	t.Logf("%d records were acknowledged before the kills", acknowledged)
}

// tracer is strace, which kills or fails a process at a system call of choice.
func tracer(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("no strace here: system calls cannot be injected")
	}
	if out, err := exec.CommandContext(t.Context(), path, "-f", "-o", "/dev/null", "true").CombinedOutput(); err != nil {
		t.Skipf("strace may not trace here: %v %s", err, out)
	}
	return path
}

// calls are the places of the calls that a sweep injects at: closer together at the
// beginning, where the database is made.
func calls(all int) []int {
	var out []int
	for n := 1; n <= all; n = max(n+1, n*sample(3, 0)/2) {
		out = append(out, n)
	}
	return out
}

func inject(path, call, what string, when string) []string {
	return []string{path, "-f", "-qqq", "-o", "/dev/null", "-e", "trace=" + call, "-e", fmt.Sprintf("inject=%s:%s:when=%s", call, what, when)}
}

// TestKilledAtEachSystemCall kills a process at the n-th write, sync and cut.
func TestKilledAtEachSystemCall(t *testing.T) {
	t.Parallel()
	strace := tracer(t)
	for _, call := range []string{"pwrite64", "fdatasync", "fsync", "ftruncate"} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			killed := 0
			for _, n := range calls(150) {
				path := filepath.Join(t.TempDir(), "looprig.db")
				c := start(t, childJob{Path: path, Prefix: "X", Writers: 2, Records: 100}, inject(strace, call, "signal=SIGKILL", fmt.Sprint(n))...)
				if c.wait(t, nil) != 0 {
					killed++
				}
				if c.said != "" {
					t.Fatalf("%s %d: %s", call, n, c.said)
				}
				checkFiles(t, path, c.acked)
			}
			if killed < 3 && (call == "pwrite64" || call == "fdatasync") {
				t.Error("nothing was killed: the test shows nothing")
			}
			t.Logf("killed %d times", killed)
		})
	}
}

// TestFailingSystemCalls has the disk fail from the n-th call on: nothing more is
// acknowledged, the error is typed, and what was acknowledged is there.
func TestFailingSystemCalls(t *testing.T) {
	t.Parallel()
	strace := tracer(t)
	for _, c := range []struct{ call, err string }{{"fdatasync", "EIO"}, {"pwrite64", "EIO"}, {"pwrite64", "ENOSPC"}} {
		t.Run(c.call+" "+c.err, func(t *testing.T) {
			t.Parallel()
			failed := 0
			for _, n := range calls(60) {
				path := filepath.Join(t.TempDir(), "looprig.db")
				p := start(t, childJob{Path: path, Prefix: "X", Writers: 2, Records: 40}, inject(strace, c.call, "error="+c.err, fmt.Sprintf("%d+", n))...)
				code := p.wait(t, nil)
				if code != 0 {
					failed++
					if !strings.Contains(p.said, "storage=true") {
						t.Fatalf("call %d: exit %d, %s", n, code, p.said)
					}
				}
				checkFiles(t, path, p.acked)
			}
			if failed == 0 {
				t.Error("nothing failed: the test shows nothing")
			}
		})
	}
}

// TestTheLongestFile has a limit on the size of files, met in the middle.
func TestTheLongestFile(t *testing.T) {
	t.Parallel()
	for _, limit := range []uint64{16 << 10, 150 << 10, 400 << 10} {
		path := filepath.Join(t.TempDir(), "looprig.db")
		c := start(t, childJob{Path: path, Prefix: "X", Writers: 2, FileLimit: limit})
		c.wait(t, nil)
		if !strings.Contains(c.said, "storage=true") {
			t.Fatalf("limit %d: %s", limit, c.said)
		}
		checkFiles(t, path, c.acked)
	}
}

// TestATinyDisk has a disk that is too small to begin, and one that fills up.
func TestATinyDisk(t *testing.T) {
	t.Parallel()
	for _, size := range []string{"64k", "512k"} {
		dir := t.TempDir()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size+",mode=700"); err != nil {
			if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
				t.Skip("no right to mount a small disk here")
			}
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
		path := filepath.Join(dir, "looprig.db")
		c := start(t, childJob{Path: path, Prefix: "X", Writers: 2})
		c.wait(t, nil)
		if !strings.Contains(c.said, "storage=true") {
			t.Fatalf("%s: %s", size, c.said)
		}
		if size != "64k" && len(c.acked) == 0 {
			t.Fatalf("%s: nothing was acknowledged before the disk was full", size)
		}
		// With space again everything that was acknowledged is there.
		if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=16m"); err != nil {
			t.Fatal(err)
		}
		checkFiles(t, path, c.acked)
	}
}

// TestEightProcesses has eight processes on one database, each with sessions of
// its own, and one session that all of them take from each other.
func TestEightProcesses(t *testing.T) {
	t.Parallel()
	const processes = 8
	records := sample(25, 250)
	path := filepath.Join(t.TempDir(), "looprig.db")
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	lease, err := s.Create(t.Context(), journal.Meta{Session: "shared"}, "h")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), lease, batchOf("shared", 1)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Release(t.Context(), lease), s.Close()); err != nil {
		t.Fatal(err)
	}
	var all []*child
	for i := range processes {
		all = append(all, start(t, childJob{Path: path, Prefix: fmt.Sprint("P", i), Writers: 2, Records: records, Shared: "shared", SharedRecords: records}))
	}
	var acked []journaltest.Acked
	twice := map[uint64]bool{}
	for i, c := range all {
		if code := c.wait(t, nil); code != 0 {
			t.Errorf("process %d: exit %d, %s", i, code, c.said)
		}
		for _, a := range c.acked {
			if a.Session == "shared" {
				if twice[a.Seq] {
					t.Errorf("record %d of the shared session was acknowledged to two processes", a.Seq)
				}
				twice[a.Seq] = true
			}
		}
		acked = append(acked, c.acked...)
	}
	if want := processes * records * 3; len(acked) != want || len(twice) != processes*records {
		t.Errorf("%d records were acknowledged, want %d", len(acked), want)
	}
	checkFiles(t, path, acked)
}
