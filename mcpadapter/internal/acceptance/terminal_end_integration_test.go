//go:build integration && linux

package acceptance

import (
	"context"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/looprig/looprig/internal/ptytest"
)

func TestTerminalEndsByKeyboard(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string][]string{"ctrl+d": {ptytest.CtrlD, ptytest.CtrlD}, "ctrl+c": {ptytest.CtrlC, ptytest.CtrlC}, "/quit": {"/quit", ptytest.Enter}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			x := w.terminal(80, 24)
			x.see("●1", "gen 1")
			x.seen()
			x.Type(keys[0])
			if strings.HasPrefix(name, "ctrl") {
				x.see("again to quit")
			} else {
				x.see("> /quit")
			}
			x.Type(keys[1])
			x.end(0, "quit")
			if s := x.Screen(); !strings.Contains(s, "session ") {
				t.Errorf("it does not say how to come back to the session:\n%s", s)
			}
		})
	}
}

// TestTerminalEndsBySignal ends it while a server stalls inside a call, has
// double-forked and hears no signal.
func TestTerminalEndsBySignal(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.install("fx", "stall")
			x := w.terminal(80, 24)
			x.see("●1", "gen 1")
			x.line("/call fx stall {}")
			w.await("the call", patience, func() bool { return len(w.log("fx").Calls("stall")) > 0 })
			x.see("running")
			x.seen()
			x.Signal(sig)
			x.end(130, "interrupted")
			w.gone("fx", killWait)
			if rep := w.verify(); rep.Intents != 1 || rep.OpenTotal != 0 {
				t.Errorf("the ledger has %+v", rep)
			}
		})
	}
}

// TestTerminalEndsWithAnOpenGate leaves a question unanswered.
func TestTerminalEndsWithAnOpenGate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.install("fx", "forms")
	x := w.terminal(80, 24)
	x.see("●1", "gen 1")
	x.line("/call fx ask {}")
	x.gate("form · fx")
	x.Type("0.5")
	x.seen()
	x.Signal(syscall.SIGTERM)
	x.end(130, "interrupted")
	w.gone("fx", killWait)
	for _, a := range w.log("fx").Answers() {
		if strings.Contains(string(a), "accept") {
			t.Errorf("an unsent form was sent: %s", a)
		}
	}
	w.verify()
}

// TestTerminalServerKilled kills a server inside a call and between calls.
func TestTerminalServerKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.install("fx", "stall")
	x := w.terminal(80, 24)
	x.see("●1", "gen 1")
	x.line("/call fx stall {}")
	w.await("the call", patience, func() bool { return len(w.log("fx").Calls("stall")) > 0 })
	for _, pid := range w.log("fx").PIDs() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	x.see("outcome unknown")
	w.await("the second start", patience, func() bool { return len(w.log("fx").Received("tools/list")) > 1 })
	x.see("●1", "gen") // it comes back by itself
	x.line("/call fx quick {}")
	x.see("quick", "✔ ok")
	x.quit()
	w.gone("fx", killWait)
	if n := len(w.log("fx").Calls("stall")); n != 1 {
		t.Errorf("a call of unknown outcome was sent %d times", n)
	}
	w.verify()
}

// TestTerminalSuspend suspends and resumes it below a shell with job control.
func TestTerminalSuspend(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("job control needs bash")
	}
	w := newWorld(t)
	cmd := w.command(context.Background())
	cmd.Path = bash
	cmd.Args = []string{"bash", "--norc", "-c", `set -m; "$0"; echo "stopped $?"; read -r line; echo "line $line"; fg; echo "ended $?"`, w.looprig}
	x := &terminal{Term: ptytest.Start(t, cmd, 80, 24), w: w, t: t}
	x.see("●1", "gen 1")
	x.Type("half a line")
	x.see("> half a line")
	x.Type(ctrlZ)
	x.see("stopped 148")
	for _, left := range ptytest.Residue(x.Bytes()) {
		if left != "the window title is set" { // of a job that may come back
			t.Errorf("while it is suspended %s", left)
		}
	}
	x.Type("cooked", ptytest.Enter)
	x.see("> half a line", "●1")
	x.Type(" and more")
	x.see("> half a line and more")
	x.seen()
	x.Type(ptytest.CtrlC)
	x.see("> ")
	x.unsee("half a line")
	x.Type("/quit", ptytest.Enter)
	x.see("ended 0", "line cooked")
	x.end(0, "quit")
}
