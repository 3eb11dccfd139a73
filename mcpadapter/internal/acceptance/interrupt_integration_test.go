//go:build integration && linux

package acceptance

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// started begins a run whose output the caller may read once it has ended.
func (w *world) started(args ...string) (cmd *exec.Cmd, finish func() *run) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), runWait)
	cmd = w.command(ctx, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		cancel()
		w.t.Fatal(err)
	}
	return cmd, func() *run {
		defer cancel()
		err := cmd.Wait()
		var ended *exec.ExitError
		if err != nil && !errors.As(err, &ended) {
			w.t.Fatal(err)
		}
		return &run{t: w.t, code: cmd.ProcessState.ExitCode(), stdout: stdout.Bytes(), stderr: stderr.Bytes()}
	}
}

// await polls until a condition holds.
func (w *world) await(what string, limit time.Duration, holds func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(limit); !holds(); time.Sleep(pollEvery) {
		if time.Now().After(deadline) {
			w.t.Fatalf("%s: not within %s", what, limit)
		}
	}
}

func TestInterruptWhileACallRuns(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			path := w.write("s.yaml", "version: 1\nservers: {"+w.server("fx", "stall", "")+"}\nsteps:\n  - call: {tool: mcp__fx__stall}\n")
			cmd, finish := w.started("--headless", "--tofu", "--output", "json", "--script", path)
			w.await("the call", 20*time.Second, func() bool { return len(w.log("fx").Calls("stall")) > 0 })
			if n := len(w.marked()); n < 3 { // looprig, its guardian, the server and its child
				t.Errorf("the sweep sees %d processes of a run", n)
			}
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			r := finish()
			r.parse()
			r.want(130)
			done := r.of("tool.completed")
			if len(done) != 1 || done[0].Outcome != "cancelled" && done[0].Outcome != "indeterminate" {
				t.Errorf("the call ended as %+v", done)
			}
			if journal := w.journal(r.events[0].Session); !bytes.Equal(journal, r.stdout) {
				t.Errorf("the journal differs from stdout:\n%s", journal)
			}
			if rep := w.verify(); rep.Intents != 1 || rep.Outcomes != 1 {
				t.Errorf("the ledger has %+v", rep)
			}
			w.gone("fx", killWait)
		})
	}
}

func TestTimeLimits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ step, server, flag string }{
		"of the step":    {step: ", timeout: 400ms"},
		"of the run":     {flag: "1500ms"},
		"of the request": {server: "requestTimeout: 400ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			step := "  - {call: {tool: mcp__fx__stall}" + c.step + "}\n"
			flags := []string{}
			if c.flag != "" {
				flags = append(flags, "--timeout", c.flag)
			}
			r := w.script("version: 1\nservers: {"+w.server("fx", "stall", c.server)+"}\nsteps:\n"+step, flags...).want(8)
			if len(r.of("tool.completed")) != 1 {
				t.Errorf("the call has no outcome:\n%s", r.outline())
			}
			w.gone("fx", killWait)
			w.verify()
		})
	}
}
