//go:build integration && linux

package acceptance

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/looprig/looprig/internal/ptytest"
	"github.com/looprig/looprig/mcpadapter/internal/fixture"
)

// These measure whole processes. Each reports, beside its own time, that of a Go
// program that does nothing, taken in turns with it, and the ratio of the two: a
// figure that says something on a busy machine as well.

// idleProgram builds a Go program that does nothing.
func idleProgram(b *testing.B) string {
	b.Helper()
	dir := b.TempDir()
	src := filepath.Join(dir, "main.go")
	if err := os.WriteFile(src, []byte("package main\n\nfunc main() { println(\"hello\") }\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	bin := filepath.Join(dir, "idle")
	if out, err := exec.Command("go", "build", "-o", bin, src).CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return bin
}

// compared runs a process b.N times, each time after the idle one, and reports
// both; ok looks at what it printed.
func compared(b *testing.B, env []string, ok func(out string) bool, path string, args ...string) {
	b.Helper()
	idle := idleProgram(b)
	var base time.Duration
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		start := time.Now()
		if err := exec.Command(idle).Run(); err != nil {
			b.Fatal(err)
		}
		base += time.Since(start)
		cmd := exec.Command(path, args...)
		cmd.Env = env
		b.StartTimer()
		out, err := cmd.Output()
		b.StopTimer()
		if err != nil || !ok(string(out)) {
			b.Fatalf("%v: %s", err, out)
		}
		b.StartTimer()
	}
	b.StopTimer()
	b.ReportMetric(float64(base)/float64(b.N)/1e6, "idle-ms/op")
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/1e6, "ms/op")
	b.ReportMetric(float64(b.Elapsed())/float64(base), "ratio")
}

func benchEnv(dir string) []string {
	return []string{"HOME=" + dir, "LOOPRIG_HOME=" + filepath.Join(dir, "home"), "PATH=" + os.Getenv("PATH"), "LOOPRIG_MODELS_PROBE=false"}
}

func BenchmarkVersion(b *testing.B) {
	compared(b, benchEnv(b.TempDir()), func(out string) bool { return strings.Contains(out, "looprig") }, fixture.BuildLooprig(b), "version")
}

func BenchmarkCallOneShot(b *testing.B) {
	env := benchEnv(b.TempDir())
	looprig := fixture.BuildLooprig(b)
	compared(b, env, func(out string) bool { return strings.Contains(out, "5") }, looprig, "call", "demo", "add", "--arg", "a=2", "--arg", "b=3")
}

// BenchmarkFirstFrame measures from the start of the process to a frame that
// shows the name and the state of ten servers that never answer, and then until
// a typed key is on the screen.
func BenchmarkFirstFrame(b *testing.B) {
	dir := b.TempDir()
	looprig, fake := fixture.BuildLooprig(b), fixture.Build(b)
	const servers = 10
	for i := range servers {
		cmd := exec.Command(looprig, append([]string{"mcp", "add", fmt.Sprintf("mute%d", i), "--", fake}, fixture.Args("mute", "", nil)...)...)
		cmd.Env = benchEnv(dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
	var frame, echo time.Duration
	for range b.N {
		ctx, cancel := context.WithCancel(context.Background())
		cmd := exec.CommandContext(ctx, looprig)
		cmd.Env = benchEnv(dir)
		b.StartTimer()
		start := time.Now()
		x := ptytest.Start(b, cmd, 120, 36)
		x.Until(patience, "every server", func(s string) bool {
			for i := range servers {
				if !strings.Contains(s, fmt.Sprintf("mute%d", i)) {
					return false
				}
			}
			states := 0
			for _, state := range []string{"configured", "starting", "discover", "connect"} {
				states += strings.Count(s, state)
			}
			return states >= servers
		})
		frame += time.Since(start)
		x.Type("key")
		x.WaitFor(patience, "> key")
		echo += time.Since(start)
		b.StopTimer()
		x.Type(ptytest.CtrlC, "/quit", ptytest.Enter)
		x.Wait(patience)
		cancel()
	}
	b.ReportMetric(float64(frame)/float64(b.N)/1e6, "frame-ms/op")
	b.ReportMetric(float64(echo)/float64(b.N)/1e6, "echo-ms/op")
}
