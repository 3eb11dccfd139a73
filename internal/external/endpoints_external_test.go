//go:build external

package external_test

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// listenWait bounds the start of a server, pollEvery is between two looks.
const (
	listenWait = time.Minute
	pollEvery  = 20 * time.Millisecond
)

// listening starts the server everything over HTTP and returns its address once
// it listens.
func listening(t *testing.T, mode string) (addr string) {
	t.Helper()
	return served(t, "localhost", func(bin, port string) *exec.Cmd {
		cmd := exec.CommandContext(context.Background(), filepath.Join(bin, "mcp-server-everything"), mode)
		cmd.Env = append(os.Environ(), "PORT="+port)
		return cmd
	})
}

// served starts a published program on a free port of a host and returns its
// address once it listens. Its group is killed at the end.
func served(t *testing.T, host string, program func(bin, port string) *exec.Cmd) (addr string) {
	t.Helper()
	bin := os.Getenv("LOOPRIG_NPM_BIN")
	if bin == "" {
		t.Skip("LOOPRIG_NPM_BIN is not set: run make test-external")
	}
	l, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	addr = l.Addr().String()
	_ = l.Close()
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	cmd := program(bin, port)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(listenWait); ; time.Sleep(pollEvery) {
		conn, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			_ = conn.Close()
			return addr
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func TestCallPublishedEndpoints(t *testing.T) {
	for kind, c := range map[string]struct{ mode, path string }{
		"http": {"streamableHttp", "/mcp"},
		"sse":  {"sse", "/sse"},
	} {
		t.Run(kind, func(t *testing.T) {
			addr, home := listening(t, c.mode), t.TempDir()
			raw, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
				"remote": map[string]any{"type": kind, "url": "http://" + addr + c.path},
			}})
			if err != nil {
				t.Fatal(err)
			}
			config := filepath.Join(home, "servers.json")
			if err := os.WriteFile(config, raw, 0o600); err != nil {
				t.Fatal(err)
			}
			call := []string{"call", "remote", "echo", "--arg", "message=hello", "--mcp-config", config}
			if _, errOut, code := run(t, home, call...); code != 6 || !strings.Contains(errOut, "not trusted") {
				t.Errorf("without trust: exit %d, stderr %q", code, errOut)
			}
			if out, errOut, code := run(t, home, append(call, "--tofu")...); code != 0 || !strings.Contains(out, "Echo: hello") {
				t.Errorf("exit %d, stdout %q, stderr %q", code, out, errOut)
			}
			if out, errOut, code := run(t, home, call...); code != 0 || !strings.Contains(out, "Echo: hello") {
				t.Errorf("pinned: exit %d, stdout %q, stderr %q", code, out, errOut)
			}
		})
	}
}
