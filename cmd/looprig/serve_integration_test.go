//go:build integration && linux

package main

import (
	"bufio"
	"net"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// serve NAME runs the demo over HTTP until the script ends and puts its address
// into the variable NAME.
func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: serve name")
	}
	cmd := exec.Command("looprig", "demo-server", "--http", "127.0.0.1:0")
	cmd.Path = lookPath(ts, "looprig")
	cmd.Env, cmd.Dir, cmd.Err = []string{"HOME=/nonexistent"}, "/", nil // not one of the script's own processes
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	ts.Check(err)
	ts.Setenv(args[0], strings.TrimSpace(line))
}

func lookPath(ts *testscript.TestScript, name string) string {
	dir, _, _ := strings.Cut(ts.Getenv("PATH"), ":")
	return dir + "/" + name
}

// canary is a listener that nobody is to reach.
type canary struct{ reached atomic.Int64 }

// canaries by the script's folder and their name.
var canaries sync.Map

// listen NAME puts the address of a canary into the variable NAME.
func listen(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: listen name")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	c := &canary{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.reached.Add(1)
			_ = conn.Close()
		}
	}()
	ts.Defer(func() {
		_ = l.Close()
		<-done
	})
	ts.Setenv(args[0], "http://"+l.Addr().String()+"/mcp")
	canaries.Store(ts.Getenv("WORK")+args[0], c)
}

// untouched NAME holds that nobody has reached the canary.
func untouched(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: [!] untouched name")
	}
	v, ok := canaries.Load(ts.Getenv("WORK") + args[0])
	if !ok {
		ts.Fatalf("nobody listens as %s", args[0])
	}
	c, _ := v.(*canary)
	if n := c.reached.Load(); (n == 0) == neg {
		ts.Fatalf("%s was reached %d times", args[0], n)
	}
}
