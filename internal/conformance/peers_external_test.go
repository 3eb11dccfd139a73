//go:build external

package conformance_test

import (
	"bufio"
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

	"github.com/looprig/looprig/mcpadapter/client"
	"github.com/looprig/looprig/mcpadapter/transport"
	"github.com/looprig/looprig/mcpadapter/transport/sse"
	"github.com/looprig/looprig/mcpadapter/transport/stdio"
	"github.com/looprig/looprig/mcpadapter/transport/streamhttp"
)

// demoRole is the argument with which this test binary serves the demo.
const demoRole = "demo-server"

// The two servers on which every request is tried: the fixture writes its own
// frames, the demo is built on the official SDK.
var (
	fixturePeer = peer{
		call: use{"echo", `{"text":"hello"}`, "hello"}, progress: use{"progress", "{}", "done"},
		form: use{"confirm", "{}", "accept"}, url: use{"url", "{}", "accept"}, sample: use{"sample", "{}", "yes"},
		roots: use{"roots", "{}", "file://"}, log: use{"log", "{}", "logged"}, grow: use{"grow", "{}", "grown"},
		slow: use{"slow", "{}", ""}, prompt: "hello", promptArgs: `{"who":"Ada"}`,
		resource: "fixture://two", fromTemplate: "fixture://item/12", watched: "fixture://one", touch: use{"touch", "{}", "touched"},
		completes: client.CompleteRequest{Prompt: "hello", Argument: "who", Value: "A"},
	}
	demoPeer = peer{
		call: use{"add", `{"a":2,"b":3}`, "5"}, progress: use{"slow", `{"seconds":0.2,"steps":2}`, ""},
		form: use{"ask-confirm", "{}", "accept"}, url: use{"ask-url", "{}", "accept"}, sample: use{"think", `{"question":"why?"}`, "yes"},
		log: use{"echo", `{"text":"x"}`, "x"}, grow: use{"evolve", "{}", "edition"},
		slow: use{"slow", `{"seconds":30}`, ""}, prompt: "greet", promptArgs: `{"who":"Ada"}`,
		resource: "demo://readme", fromTemplate: "demo://note/gates", watched: "demo://log", touch: use{"echo", `{"text":"x"}`, "x"},
		completes: client.CompleteRequest{Prompt: "greet", Argument: "who", Value: "A"},
	}
)

// program is a server that this test starts.
type program struct {
	path string
	args []string
	env  map[string]string
}

func (p program) over(t *testing.T) transport.Transport {
	t.Helper()
	tr, err := stdio.New(stdio.Config{Command: p.path, Args: p.args, Env: p.env, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// serve starts a program that serves over HTTP; it is killed with its group.
func (p program) serve(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), p.path, p.args...)
	cmd.Dir, cmd.Env = t.TempDir(), os.Environ()
	for k, v := range p.env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

func begin(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
}

// onPort starts a program that takes its port from args or env, and waits until
// it listens.
func (p program) onPort(t *testing.T, port string) {
	t.Helper()
	cmd := p.serve(t)
	begin(t, cmd)
	deadline := time.Now().Add(startWait)
	for {
		conn, err := net.DialTimeout("tcp", net.JoinHostPort("localhost", port), time.Second)
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not listen: %v", filepath.Base(p.path), err)
		}
		time.Sleep(lookEvery)
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// announced starts a program that prints {"url":…} when it serves.
func (p program) announced(t *testing.T) string {
	t.Helper()
	cmd := p.serve(t)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	begin(t, cmd)
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var said struct {
		URL string `json:"url"`
	}
	if err := json.Unmarshal(line, &said); err != nil {
		t.Fatal(err)
	}
	return said.URL
}

// endpoint is a transport to a URL.
func endpoint(t *testing.T, kind, url string) transport.Transport {
	t.Helper()
	var tr transport.Transport
	var err error
	if kind == kindSSE {
		tr, err = sse.New(sse.Config{URL: url})
	} else {
		tr, err = streamhttp.New(streamhttp.Config{URL: url})
	}
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// The names of the transports.
const (
	kindStdio = "stdio"
	kindHTTP  = "HTTP"
	kindSSE   = "SSE"
)

// buildFixture builds the raw server.
func buildFixture(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "hostile")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "../../mcpadapter/internal/fixture/cmd/hostile")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return bin
}

// fixture is the raw server at a revision over a transport; anew, it agrees to
// nothing newer, so that the revision can be found.
func fixture(t *testing.T, bin, kind, revision string) transport.Transport {
	t.Helper()
	args := []string{"--scenario", "everything"}
	if revision == rev2026 {
		args = append(args, "--set", "era=modern")
	} else {
		args = append(args, "--set", "era=legacy", "--set", "revision="+revision)
	}
	switch kind {
	case kindStdio:
		return program{path: bin, args: args}.over(t)
	case kindSSE:
		args = append(args, "--sse")
	}
	return endpoint(t, kind, program{path: bin, args: append(args, "--http", "127.0.0.1:0")}.announced(t))
}

// npm is a published server, under the Node that was installed with it. A proxy
// that nobody serves keeps it from the network.
func npm(t *testing.T, name string, env map[string]string, args ...string) program {
	t.Helper()
	bin := os.Getenv("LOOPRIG_NPM_BIN")
	if bin == "" {
		t.Skip("LOOPRIG_NPM_BIN is not set: run make test-external")
	}
	nobody := "http://127.0.0.1:9"
	all := map[string]string{
		"PATH":        bin + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HTTPS_PROXY": nobody, "https_proxy": nobody, "NODE_USE_ENV_PROXY": "1", "DO_NOT_TRACK": "1",
	}
	for k, v := range env {
		all[k] = v
	}
	return program{path: filepath.Join(bin, name), args: args, env: all}
}

// pinned reads the version of a published package that is installed.
func pinned(t *testing.T, pkg string) string {
	t.Helper()
	raw, err := os.ReadFile("../external/package.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	v := doc.Dependencies[pkg]
	if v == "" || strings.ContainsAny(v, "^~*") {
		t.Fatalf("%s is not pinned", pkg)
	}
	return v
}
