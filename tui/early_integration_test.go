//go:build integration && unix

package tui

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/looprig/looprig/internal/ptytest"
)

const (
	// earlyRuns is how often the program is started for each way of leaving it.
	earlyRuns = 15
	// latest is when keys are typed at the latest, counted from the start of the
	// process: before the terminal is in raw mode, before the first frame, while
	// servers start and while a gate arms.
	latest = 450 * time.Millisecond
	// leaveTime is how long leaving may take on a busy machine.
	leaveTime = 15 * time.Second
)

// stroke is a key and the pause before it.
type stroke struct {
	pause time.Duration
	key   string
}

// ways are the ways to leave. A gate that stands open already takes what is
// typed, so that words are tried without one.
var ways = map[string]struct {
	gate    bool
	strokes func(*rand.Rand) []stroke
}{
	"a word at once": {false, func(*rand.Rand) []stroke { return []stroke{{key: "/quit" + ptytest.Enter}} }},
	"a word key by key": {false, func(r *rand.Rand) []stroke {
		var out []stroke
		for _, c := range "/quit" + ptytest.Enter {
			out = append(out, stroke{time.Duration(r.IntN(30)) * time.Millisecond, string(c)})
		}
		return out
	}},
	"two presses": {false, func(r *rand.Rand) []stroke {
		return []stroke{{key: ptytest.CtrlC}, {time.Duration(r.IntN(400)) * time.Millisecond, ptytest.CtrlC}}
	}},
	"two presses around a gate": {true, func(r *rand.Rand) []stroke {
		return []stroke{{key: ptytest.CtrlC}, {time.Duration(r.IntN(400)) * time.Millisecond, ptytest.CtrlC}}
	}},
}

// TestEarlyKeysAreTaken leaves the real program at random moments soon after its
// start, in terminals that answer queries and in ones that do not.
func TestEarlyKeysAreTaken(t *testing.T) {
	t.Parallel()
	bin := filepath.Join(t.TempDir(), "looprig")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-ldflags", "-s -w", "-o", bin, "../cmd/looprig")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	seed := uint64(time.Now().UnixNano())
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Logf("seed %d", seed)
			r := rand.New(rand.NewPCG(seed, 1))
			for i := range earlyRuns {
				leave(t, bin, way.gate, i%2 == 0, time.Duration(r.Int64N(int64(latest))), way.strokes(r))
			}
		})
	}
}

func leave(t *testing.T, bin string, gate, mute bool, wait time.Duration, keys []stroke) {
	t.Helper()
	home := t.TempDir()
	if gate {
		if err := os.Chmod(home, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, "mcp.json"), []byte(`{"mcpServers":{"odd":{"command":"/bin/cat"}}}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), bin, "--home", home)
	start := ptytest.Start
	if mute {
		start = ptytest.StartMute
	}
	x := start(t, cmd, 80, 24)
	time.Sleep(wait)
	for _, k := range keys {
		time.Sleep(k.pause)
		x.Type(k.key)
	}
	defer func() {
		if t.Failed() {
			t.Logf("the keys began after %v, mute %v: %v", wait, mute, keys)
		}
	}()
	x.Wait(leaveTime)
	if left := x.Restored(); len(left) > 0 {
		t.Errorf("after %v: %v", wait, left)
	}
}
