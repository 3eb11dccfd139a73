//go:build integration && linux

package acceptance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/fixture"
)

const (
	// runWait bounds one run of looprig.
	runWait = 60 * time.Second
	// killWait is how long the processes of a killed run may live.
	killWait  = 5 * time.Second
	pollEvery = 5 * time.Millisecond
)

// world is a home of its own and a directory for scripts and logs.
type world struct {
	t             testing.TB
	dir, home     string
	looprig, fake string
}

func newWorld(t testing.TB) *world {
	t.Helper()
	dir := t.TempDir()
	return &world{
		t: t, dir: dir, home: filepath.Join(dir, "home"),
		looprig: fixture.BuildLooprig(t), fake: fixture.Build(t),
	}
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

// write puts a file into the world and returns its path.
func (w *world) write(name, text string) string {
	w.t.Helper()
	path := w.path(name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// server is the entry of a script's servers that plays a scenario; its log is
// NAME.log. extra are further keys, as they stand in a flow mapping.
func (w *world) server(name, scenario, extra string, settings ...string) string {
	w.t.Helper()
	set := map[string]string{}
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		set[key] = value
	}
	args, err := json.Marshal(fixture.Args(scenario, w.path(name+".log"), set))
	if err != nil {
		w.t.Fatal(err)
	}
	if extra != "" {
		extra = ", " + extra
	}
	return fmt.Sprintf("%s: {command: %q, args: %s%s}", name, w.fake, args, extra)
}

func (w *world) log(name string) fixture.Entries {
	w.t.Helper()
	es, err := fixture.ReadLog(w.path(name + ".log"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Fatal(err)
	}
	return es
}

// run is one run of looprig that has ended.
type run struct {
	t              testing.TB
	code           int
	stdout, stderr []byte
	events         []event
}

// event is a line of stdout: what tests look at, and all of it.
type event struct {
	Seq        uint64 `json:"seq"`
	Session    string `json:"session"`
	Type       string `json:"type"`
	Binding    string `json:"binding"`
	Tool       string `json:"tool"`
	Call       string `json:"call"`
	ArgsDigest string `json:"args_digest"`
	Outcome    string `json:"outcome"`
	Class      string `json:"class"`
	Code       string `json:"code"`
	Reason     string `json:"reason"`
	State      string `json:"state"`
	Sent       bool   `json:"sent"`
	ExitCode   *int   `json:"exit_code"`
	Coverage   *struct {
		Calls, Outcomes, Indeterminate int
	} `json:"coverage"`
	line string
}

func (w *world) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, w.looprig, args...)
	cmd.Dir = w.dir
	cmd.Env = []string{"HOME=" + w.dir, "LOOPRIG_HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + w.dir, "LOOPRIG_MODELS_PROBE=false"}
	return cmd
}

// run runs the binary to its end.
func (w *world) run(args ...string) *run {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), runWait)
	defer cancel()
	cmd := w.command(ctx, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		w.t.Fatalf("looprig %q did not end within %s\n%s", args, runWait, stderr.Bytes())
	}
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		w.t.Fatal(err)
	}
	return &run{t: w.t, code: cmd.ProcessState.ExitCode(), stdout: stdout.Bytes(), stderr: stderr.Bytes()}
}

// script runs a script with NDJSON on stdout, which must be sound whatever
// came of the run. Launches are accepted.
func (w *world) script(text string, flags ...string) *run {
	w.t.Helper()
	path := w.write("script.yaml", text)
	r := w.run(append([]string{"--headless", "--tofu", "--output", "json", "--script", path}, flags...)...)
	r.parse()
	return r
}

// parse holds stdout to what it promises.
func (r *run) parse() {
	r.t.Helper()
	for i, line := range bytes.Split(bytes.TrimSuffix(r.stdout, []byte("\n")), []byte("\n")) {
		if b, ok := rawControl(line); ok {
			r.t.Errorf("line %d of stdout has the byte %#x", i+1, b)
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			r.t.Fatalf("line %d of stdout: %v\n%s\nstderr: %s", i+1, err, line, r.stderr)
		}
		e.line = string(line)
		r.events = append(r.events, e)
	}
	last := r.events[len(r.events)-1]
	if last.Type != "session.closed" || last.ExitCode == nil || *last.ExitCode != r.code || last.Coverage == nil {
		r.t.Errorf("exit code %d, and the last line is %s", r.code, last.line)
	}
}

// rawControl finds a byte or character that a terminal may act on.
func rawControl(line []byte) (rune, bool) {
	for _, c := range string(line) {
		switch {
		case c < 0x20, c >= 0x7f && c < 0xa0, c >= 0x200b && c <= 0x200f, c >= 0x2028 && c <= 0x202e,
			c >= 0x2066 && c <= 0x2069, c == 0xfeff, c == 0xfffd, c >= 0xe0000 && c <= 0xe007f:
			return c, true
		}
	}
	return 0, false
}

func (r *run) want(code int) *run {
	r.t.Helper()
	if r.code != code {
		r.t.Fatalf("exit code %d, not %d\nstderr: %s\n%s", r.code, code, r.stderr, r.outline())
	}
	return r
}

// outline is the events in short.
func (r *run) outline() string {
	var b strings.Builder
	for _, e := range r.events {
		fmt.Fprintf(&b, "%d %s %s %s %s %s %s\n", e.Seq, e.Type, e.Binding, e.Tool, e.State, e.Outcome, e.Reason)
	}
	return b.String()
}

func (r *run) of(typ string) []event {
	var out []event
	for _, e := range r.events {
		if e.Type == typ {
			out = append(out, e)
		}
	}
	return out
}

// verify holds the home to its integrity.
func (w *world) verify() ledgerReport {
	w.t.Helper()
	r := w.run("ledger", "verify", "--output", "json").want(0)
	var rep ledgerReport
	if err := json.Unmarshal(r.stdout, &rep); err != nil {
		w.t.Fatal(err)
	}
	return rep
}

type ledgerReport struct {
	Entries, Intents, Outcomes int
	OpenTotal                  int `json:"open_total"`
}

// ledgerEntry is what tests look at of an entry.
type ledgerEntry struct {
	Kind       string `json:"kind"`
	Session    string `json:"session"`
	Call       string `json:"call"`
	Tool       string `json:"tool"`
	ArgsDigest string `json:"args_digest"`
	Outcome    string `json:"outcome"`
}

func (w *world) ledger() []ledgerEntry {
	w.t.Helper()
	r := w.run("ledger", "tail", "-n", "100000", "--output", "json").want(0)
	var out []ledgerEntry
	for _, line := range bytes.Split(bytes.TrimSpace(r.stdout), []byte("\n")) {
		var e ledgerEntry
		if err := json.Unmarshal(line, &e); err != nil {
			w.t.Fatalf("%v: %s", err, line)
		}
		out = append(out, e)
	}
	return out
}

// journal is a session as its journal has it.
func (w *world) journal(session string) []byte {
	w.t.Helper()
	return w.run("sessions", "show", session, "--output", "json").want(0).stdout
}

// alive lists which processes still run; a zombie does not.
func alive(pids []int) []int {
	var out []int
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		if !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X") {
			out = append(out, pid)
		}
	}
	return out
}

// marked lists the processes whose command line, environment or working
// directory names this world: looprig itself, its guardian and its servers.
func (w *world) marked() []int {
	w.t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		w.t.Fatal(err)
	}
	var out []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		cmdline, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
		environ, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		cwd, _ := os.Readlink(filepath.Join("/proc", e.Name(), "cwd"))
		if bytes.Contains(cmdline, []byte(w.dir+"/")) || bytes.Contains(environ, []byte(w.dir)) || cwd == w.dir {
			out = append(out, pid)
		}
	}
	return out
}

// gone waits until none of the processes that wrote a server's log runs, nor
// any other of this world. Those that do at the end are killed, so that a
// failing test leaves none behind.
func (w *world) gone(name string, limit time.Duration) {
	w.t.Helper()
	pids := w.log(name).PIDs()
	deadline := time.Now().Add(limit)
	for {
		left := alive(append(w.marked(), pids...))
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			for _, pid := range left {
				cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
				w.t.Errorf("process %d still runs after %s: %q", pid, limit, cmdline)
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			return
		}
		time.Sleep(10 * pollEvery)
	}
}
