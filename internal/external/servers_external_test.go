//go:build external

// Package external holds the tests against published MCP servers, which make
// test-external installs.
package external_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var looprig string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "looprig-external")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	looprig = filepath.Join(dir, "looprig")
	build := exec.CommandContext(context.Background(), "go", "build", "-ldflags", "-s -w", "-o", looprig, "../../cmd/looprig")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	build.Stderr = os.Stderr
	code := 1
	if err := build.Run(); err == nil {
		code = m.Run()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// setUp writes an mcp.json with all servers; marker is in every server's
// environment, so that survivors can be found.
func setUp(t *testing.T) (home, config, files, marker string) {
	t.Helper()
	bin := os.Getenv("LOOPRIG_NPM_BIN")
	if bin == "" {
		t.Skip("LOOPRIG_NPM_BIN is not set: run make test-external")
	}
	home, files = t.TempDir(), t.TempDir()
	marker = "external-" + filepath.Base(home) + fmt.Sprint(os.Getpid())
	env := map[string]string{"LOOPRIG_TEST_MARKER": marker, "MEMORY_FILE_PATH": filepath.Join(files, "memory.json")}
	server := func(name string, args ...string) map[string]any {
		return map[string]any{"command": filepath.Join(bin, "mcp-server-"+name), "args": append([]string{}, args...), "env": env}
	}
	raw, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"everything": server("everything", "stdio"),
		"files":      server("filesystem", files),
		"memory":     server("memory"),
		"thinking":   server("sequential-thinking"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	config = filepath.Join(home, "servers.json")
	for path, data := range map[string][]byte{config: raw, filepath.Join(files, "note.txt"): []byte("a note\n")} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return home, config, files, marker
}

func run(t *testing.T, home string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return runWith(t, home, nil, args...)
}

// runWith is run with more environment.
func runWith(t *testing.T, home string, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, looprig, args...)
	cmd.Env = append(append(os.Environ(), "LOOPRIG_HOME="+home, "XDG_STATE_HOME="+home), env...)
	var out, errOut strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

// survivors lists processes that still carry the marker.
func survivors(t *testing.T, marker string) []string {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, p := range paths {
		if raw, err := os.ReadFile(p); err == nil && strings.Contains(string(raw), marker) {
			found = append(found, p)
		}
	}
	return found
}

func TestCallPublishedServers(t *testing.T) {
	home, config, files, marker := setUp(t)
	for _, c := range []struct {
		binding, tool, args, want string
	}{
		{"everything", "echo", `{"message":"hello"}`, "Echo: hello"},
		{"everything", "get-sum", `{"a":2,"b":3}`, "The sum of 2 and 3 is 5"},
		{"files", "read_text_file", fmt.Sprintf(`{"path":%q}`, filepath.Join(files, "note.txt")), "a note"},
		{"memory", "create_entities", `{"entities":[{"name":"rig","entityType":"thing","observations":["floats"]}]}`, "floats"},
		{"memory", "search_nodes", `{"query":"rig"}`, "floats"},
		{"thinking", "sequentialthinking", `{"thought":"x","nextThoughtNeeded":false,"thoughtNumber":1,"totalThoughts":1}`, "thoughtNumber"},
	} {
		name := c.binding + "/" + c.tool
		if out, errOut, code := run(t, home, "call", c.binding, c.tool, "--args", c.args, "--mcp-config", config, "--tofu"); code != 0 || !strings.Contains(out, c.want) {
			t.Errorf("%s: exit %d, stdout %q, stderr %q; want %q", name, code, out, errOut, c.want)
		}
		if left := survivors(t, marker); len(left) > 0 {
			t.Errorf("%s left processes: %v", name, left)
		}
	}
	out, errOut, code := run(t, home, "ledger", "verify", "--output", "json")
	if code != 0 || !strings.Contains(out, `"intents":6`) || !strings.Contains(out, `"open_total":0`) {
		t.Errorf("ledger verify: exit %d, %s %s", code, out, errOut)
	}
}

func TestUnpinnedServersAreNotStarted(t *testing.T) {
	home, config, _, _ := setUp(t)
	trap := filepath.Join(home, "started")
	// The same entry, but with a launcher that leaves a trace when it runs.
	launcher := filepath.Join(home, "launcher")
	if err := os.WriteFile(launcher, []byte("#!/bin/sh\n: > "+trap+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(os.Getenv("LOOPRIG_NPM_BIN"), "mcp-server-everything")
	if err := os.WriteFile(config, []byte(strings.ReplaceAll(string(raw), bin, launcher)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, errOut, code := run(t, home, "call", "everything", "echo", "--arg", "message=x", "--mcp-config", config)
	if code != 6 || !strings.Contains(errOut, "not trusted and was not started") {
		t.Errorf("exit %d, stderr %q", code, errOut)
	}
	if _, err := os.Stat(trap); err == nil {
		t.Error("the server was started")
	}
}

func TestInspectPublishedServers(t *testing.T) {
	home, config, _, marker := setUp(t)
	out, errOut, code := run(t, home, "inspect", "--mcp-config", config, "--tofu", "--output", "json")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errOut)
	}
	tools := map[string]int{}
	for line := range strings.Lines(out) {
		var v struct {
			Binding json.RawMessage `json:"binding"`
			Item    struct {
				Kind     string `json:"kind"`
				Withheld string `json:"withheld"`
			} `json:"item"`
		}
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if v.Item.Kind == "tool" {
			tools[string(v.Binding)]++
		}
		if v.Item.Withheld != "" {
			t.Errorf("withheld: %s", line)
		}
	}
	for _, name := range []string{`"everything"`, `"files"`, `"memory"`, `"thinking"`} {
		if tools[name] == 0 {
			t.Errorf("%s offers no tools; all: %v", name, tools)
		}
	}
	if left := survivors(t, marker); len(left) > 0 {
		t.Errorf("left processes: %v", left)
	}
}
