//go:build integration && linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// buildWait bounds the build of the binary, a cold one included.
const buildWait = 10 * time.Minute

// The scripts run the real binary, which starts itself again as the demo server
// and as the guardian, so that the test binary cannot stand in for it.
func TestScripts(t *testing.T) {
	t.Parallel()
	bin := build(t)
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			env.Setenv("LOOPRIG_HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			env.Setenv("EXAMPLES", examples)
			env.Setenv("LOOPRIG_MODELS_PROBE", "false") // what runs on this machine is no part of a test
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": code, "ndjson": ndjson, "lasterror": lastError, "durable": durable, "tamper": tamper, "replace": replace,
			"noescape": noEscape, "noprocess": noProcess, "serve": serve, "listen": listen, "untouched": untouched,
			"field": field,
		},
	})
}

func build(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), buildWait)
	defer cancel()
	dir := t.TempDir()
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags", "-s -w", "-o", filepath.Join(dir, "looprig"), ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return dir
}

// code N PROGRAM ARGS… runs a program that must exit with N.
func code(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N program [args…]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit, ok := err.(interface{ ExitCode() int }); ok {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, not %d", got, want)
	}
}

// raw finds a byte that a terminal may act on.
func raw(line []byte) (rune, bool) {
	for _, c := range string(line) {
		if c < 0x20 || c >= 0x7f && c < 0xa0 {
			return c, true
		}
	}
	return 0, false
}

// ndjson FILE [N] holds every line of a file to be a JSON object without a
// control character; with N it is an event stream that ends with that exit code.
func ndjson(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: ndjson file [exit code]")
	}
	var last map[string]any
	for i, line := range strings.Split(strings.TrimSuffix(ts.ReadFile(args[0]), "\n"), "\n") {
		if c, bad := raw([]byte(line)); bad {
			ts.Fatalf("line %d has %#x", i+1, c)
		}
		last = nil
		if err := json.Unmarshal([]byte(line), &last); err != nil {
			ts.Fatalf("line %d: %v: %s", i+1, err, line)
		}
	}
	if len(args) == 1 {
		return
	}
	if last["type"] != "session.closed" || fmt.Sprint(last["exit_code"]) != args[1] || last["coverage"] == nil || last["reason"] == nil {
		ts.Fatalf("the last line is %v", last)
	}
}

// lasterror N PATTERN… holds the last line of stderr to be the JSON of an error
// with that exit code, which has each of the texts.
func lastError(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: lasterror code text…")
	}
	lines := strings.Split(strings.TrimSpace(ts.ReadFile("stderr")), "\n")
	line := lines[len(lines)-1]
	var v struct {
		Error *struct {
			Code     string `json:"code"`
			ExitCode int    `json:"exit_code"`
			Message  string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(line), &v); err != nil || v.Error == nil {
		ts.Fatalf("the last line is no error: %v: %s", err, line)
	}
	if strconv.Itoa(v.Error.ExitCode) != args[0] || v.Error.Code == "" {
		ts.Fatalf("the error is %s", line)
	}
	for _, text := range args[1:] {
		if !strings.Contains(v.Error.Message, text) {
			ts.Fatalf("the message lacks %q: %s", text, v.Error.Message)
		}
	}
}

// durable FILE compares an event stream without its ephemeral lines, byte for
// byte, with the journal of its session.
func durable(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: durable file")
	}
	var kept bytes.Buffer
	session := ""
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var e struct {
			Seq     *uint64 `json:"seq"`
			Session string  `json:"session"`
		}
		ts.Check(json.Unmarshal([]byte(line), &e))
		if session = e.Session; e.Seq != nil {
			kept.WriteString(line)
		}
	}
	ts.Check(ts.Exec("looprig", "sessions", "show", session, "--output", "json"))
	if journal := ts.ReadFile("stdout"); journal != kept.String() {
		ts.Fatalf("the journal differs from %s:\n%s", args[0], journal)
	}
}

// tamper OLD NEW changes the bytes of the home's database where OLD first
// stands in a ledger entry of an outcome; both have the same length.
func tamper(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || len(args[0]) != len(args[1]) {
		ts.Fatalf("usage: tamper old new")
	}
	done := 0
	for _, name := range []string{"looprig.db", "looprig.db-wal"} {
		path := ts.MkAbs(filepath.Join("home", name))
		data, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue
		}
		ts.Check(err)
		if n := bytes.Count(data, []byte(args[0])); n > 0 {
			done += n
			ts.Check(os.WriteFile(path, bytes.ReplaceAll(data, []byte(args[0]), []byte(args[1])), 0o600))
		}
	}
	if done == 0 {
		ts.Fatalf("the database does not hold %q", args[0])
	}
}

// replace FROM TO OLD NEW writes file FROM to TO with every OLD replaced.
func replace(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: replace from to old new")
	}
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, args[2]) {
		ts.Fatalf("%s does not hold %q", args[0], args[2])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(strings.ReplaceAll(text, args[2], args[3])), 0o600))
}

// field FILE NAME VARIABLE sets a variable to a member of the JSON object that a file
// holds.
func field(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: field file name variable")
	}
	var v map[string]any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &v))
	text, ok := v[args[1]].(string)
	if !ok {
		ts.Fatalf("%s has no text %s", args[0], args[1])
	}
	ts.Setenv(args[2], text)
}

// noescape FILE… holds files to have no escape byte.
func noEscape(ts *testscript.TestScript, _ bool, args []string) {
	for _, f := range args {
		if strings.ContainsRune(ts.ReadFile(f), '\x1b') {
			ts.Fatalf("%s has an escape byte", f)
		}
	}
}

// leaveWait is how long the processes of a run may live after it.
const leaveWait = 5 * time.Second

// noprocess holds that no process of the script's working directory is left: no
// looprig, no guardian, no server.
func noProcess(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: noprocess")
	}
	var left []string
	for deadline := time.Now().Add(leaveWait); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if left = processes(ts); len(left) == 0 {
			return
		}
	}
	ts.Fatalf("left: %s", strings.Join(left, ", "))
}

func processes(ts *testscript.TestScript) []string {
	entries, err := os.ReadDir("/proc")
	ts.Check(err)
	work := ts.Getenv("WORK")
	var out []string
	for _, e := range entries {
		dir := filepath.Join("/proc", e.Name())
		cwd, err := os.Readlink(filepath.Join(dir, "cwd"))
		environ, _ := os.ReadFile(filepath.Join(dir, "environ"))
		if err != nil || cwd != work && !bytes.Contains(environ, []byte(work)) {
			continue
		}
		if exe, err := os.Readlink(filepath.Join(dir, "exe")); err == nil {
			out = append(out, e.Name()+" "+exe)
		}
	}
	return out
}
