//go:build integration && linux

package acceptance

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/looprig/looprig/internal/ptytest"
)

// coloured finds a sequence that sets a colour.
var coloured = regexp.MustCompile(`\x1b\[(?:[0-9;:]*[;:])?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])[0-9;:]*m`)

func TestTerminalColours(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env     []string
		args    []string
		colours bool
	}{
		"as it is":   {nil, nil, true},
		"NO_COLOR":   {[]string{"NO_COLOR=1"}, nil, false},
		"--no-color": {nil, []string{"--no-color"}, false},
		"mono":       {nil, []string{"--theme", "mono"}, false},
		"LANG=C":     {[]string{"LANG=C", "LC_ALL=C"}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			x := w.terminalEnv(80, 24, append([]string{"COLORTERM="}, c.env...), c.args...)
			x.see("●1", "gen 1")
			x.line("/call demo fail {}")
			x.see("tool error")
			x.Type(ptytest.F2)
			x.see("Bindings", "ready")
			x.quit()
			if found := coloured.Find(x.Bytes()); (found != nil) != c.colours {
				t.Errorf("a colour: %q", found)
			}
		})
	}
}

// TestTerminalDumb starts it where nothing can be drawn: no frame, and a line
// that says how to go on.
func TestTerminalDumb(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminalEnv(80, 24, []string{"TERM=dumb"})
	code := x.Wait(patience)
	if out := x.Bytes(); code != 2 || bytes.ContainsRune(out, 0x1b) || !bytes.Contains(out, []byte("--headless")) {
		t.Errorf("exit code %d: %q", code, out)
	}
}

// TestNoTerminal starts it in a pipe: it says how to go on, and draws nothing.
func TestNoTerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.run().want(2)
	if len(r.stdout) > 0 || !bytes.Contains(r.stderr, []byte("--headless")) || bytes.ContainsRune(r.stderr, 0x1b) {
		t.Errorf("stdout %q, stderr %q", r.stdout, r.stderr)
	}
	if len(w.sessions()) > 0 {
		t.Error("it has begun a session")
	}
}

// TestTerminalIdles watches the output of an interface that nobody uses: it may
// not redraw what has not changed.
func TestTerminalIdles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal(120, 36)
	awaitQuiet(x)
	wrote := len(x.Bytes())
	<-time.After(time.Second) // what is watched
	if n := len(x.Bytes()) - wrote; n > 2<<10 {
		t.Errorf("an idle interface wrote %d bytes in a second", n)
	}
	x.quit()
}

// BenchmarkIdle reports the processor time of an interface that nobody uses.
func BenchmarkIdle(b *testing.B) {
	const watched = 3 * time.Second
	w := newWorld(b)
	x := w.terminal(120, 36)
	awaitQuiet(x)
	for b.Loop() {
		before := processorTime(b, x.Pid())
		<-time.After(watched) // what is measured
		b.ReportMetric(100*float64(processorTime(b, x.Pid())-before)/float64(watched), "%cpu")
	}
	x.quit()
}

// awaitQuiet waits until an interface has said all that it has to say by itself.
func awaitQuiet(x *terminal) {
	x.see("● demo      ready")
	last, since := -1, time.Now()
	x.Until(patience, "quiet", func(string) bool {
		if n := len(x.Bytes()); n != last {
			last, since = n, time.Now()
		}
		return time.Since(since) > time.Second
	})
}

// processorTime is what a process has used, in the kernel's ticks of 10 ms.
func processorTime(t testing.TB, pid int) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	f := strings.Fields(rest)
	var sum time.Duration
	for _, i := range []int{11, 12} { // utime and stime, counted from the state
		n, err := strconv.Atoi(f[i])
		if err != nil {
			t.Fatal(err)
		}
		sum += time.Duration(n) * 10 * time.Millisecond
	}
	return sum
}
