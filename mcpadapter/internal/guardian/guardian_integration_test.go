//go:build integration && linux

package guardian

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/guardian/kin"
)

func TestMain(m *testing.M) {
	if handled, code := Main(os.Args); handled {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
	}
}

// TestHelperIsMendedAndLeaves: one helper for the whole process, replaced when
// it was killed, gone after an orderly end.
func TestHelperIsMendedAndLeaves(t *testing.T) {
	g, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	first := g.PID()
	if again, err := Start(); err != nil || again.PID() != first {
		t.Fatalf("a second helper: %d and %d, %v", first, again.PID(), err)
	}
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	ward := Ward{Member: kin.Member{PID: 1 << 30, Start: 1}} // nobody
	eventually(t, "the helper was not replaced", func() bool {
		return g.Add(ward) == nil && g.PID() != first
	})
	second := g.PID()
	g.Remove(ward.PID)
	g.Close()
	if running(second) || g.PID() != 0 {
		t.Error("the helper is still there")
	}
}

func running(pid int) bool { return syscall.Kill(pid, 0) == nil }

// TestEndReachesWhoCarriesTheMarker: only who carries exactly the token.
func TestEndReachesWhoCarriesTheMarker(t *testing.T) {
	t.Parallel()
	start := func(marker string) *exec.Cmd {
		cmd := exec.Command("sleep", "60")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
		if marker != "" {
			cmd.Env = append(cmd.Env, kin.EnvName+"="+marker)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		return cmd
	}
	token := NewToken()
	inner := start(kin.Marker(kin.Marker("", Token(), token), NewToken(), NewToken()))
	plain := start(kin.Marker("", NewToken(), token))
	stranger := start(kin.Marker("", Token(), NewToken()))
	bare := start("")
	family := kin.Family{Token: token}
	var found []int
	for _, m := range family.Alive() {
		found = append(found, m.PID)
	}
	want := []int{inner.Process.Pid, plain.Process.Pid}
	slices.Sort(found)
	slices.Sort(want)
	if !slices.Equal(found, want) {
		t.Errorf("found %v, want %v", found, want)
	}
	if left := family.End(kin.Bounds{Grace: time.Second, Kill: time.Second}); left != 0 {
		t.Errorf("%d left", left)
	}
	for _, cmd := range []*exec.Cmd{stranger, bare} {
		if !running(cmd.Process.Pid) {
			t.Errorf("a stranger was ended: %s", fmt.Sprint(cmd.Env))
		}
	}
}
