//go:build integration && linux

package stdio

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/guardian"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// order is one line that the test server obeys.
type order struct {
	Do   string `json:"do"`
	N    int    `json:"n,omitempty"`
	Text string `json:"text,omitempty"`
}

// lifetime bounds every role, so that a failing test leaves nothing for long.
const lifetime = 60 * time.Second

func init() {
	playRole = func(role string) {
		time.AfterFunc(lifetime, func() { os.Exit(99) })
		switch role {
		case "server":
			serve()
		case "sleeper":
			signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGPIPE)
			time.Sleep(lifetime)
		case "middle": // forks the sleeper and leaves
			fmt.Println(spawn("sleeper", os.Environ(), true, os.Stdout, os.Stderr))
		case "host":
			host()
		}
	}
}

func serve() {
	if os.Getenv("IGNORE_TERM") != "" {
		signal.Ignore(syscall.SIGTERM)
	}
	if os.Getenv("NEVER_READ") != "" {
		time.Sleep(lifetime)
	}
	out := bufio.NewWriter(os.Stdout)
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		var o order
		if json.Unmarshal(in.Bytes(), &o) != nil {
			continue
		}
		obey(o, in.Text(), out)
		_ = out.Flush()
	}
	if os.Getenv("IGNORE_EOF") != "" {
		time.Sleep(lifetime)
	}
}

func obey(o order, line string, out *bufio.Writer) {
	switch o.Do {
	case "echo":
		fmt.Fprintln(out, line)
	case "noise":
		for i := range o.N {
			fmt.Fprintln(out, "noise", i)
		}
	case "huge":
		fmt.Fprintf(out, "{\"result\":%q,\"jsonrpc\":\"2.0\",\"id\":9}\n", strings.Repeat("x", o.N)) // the id last, as many servers write it
	case "stuck": // a frame that never ends
		fmt.Fprintf(out, "{\"id\":1,\"x\":\"%s", strings.Repeat("x", o.N))
	case "flood": // stderr without a newline
		chunk := []byte(strings.Repeat("e", 1<<20))
		for range o.N {
			_, _ = os.Stderr.Write(chunk)
		}
		fmt.Fprintln(out, "{}")
	case "say":
		fmt.Fprintln(os.Stderr, o.Text)
	case "exit":
		_ = out.Flush()
		os.Exit(o.N)
	case "last": // a reply, then the end
		fmt.Fprintln(out, "{\"last\":true}")
		_ = out.Flush()
		os.Exit(o.N)
	case "die":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "env":
		raw, _ := json.Marshal(os.Environ())
		fmt.Fprintf(out, "%s\n", raw)
	case "fds":
		entries, _ := os.ReadDir("/proc/self/fd")
		var open []string
		for _, e := range entries {
			if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && !strings.HasPrefix(target, "anon_inode") && !strings.HasPrefix(target, "/proc/") && !strings.HasPrefix(target, "/sys/fs/cgroup/") {
				open = append(open, e.Name()+" "+target)
			}
		}
		raw, _ := json.Marshal(open)
		fmt.Fprintf(out, "%s\n", raw)
	case "fork":
		fmt.Fprintf(out, "{\"pid\":%d}\n", fork(o.Text))
	}
}

// fork starts a grandchild that ignores everything but SIGKILL.
func fork(how string) int {
	switch how {
	case "holding stdout": // in the group, with the server's streams
		return spawn("sleeper", os.Environ(), false, os.Stdout, os.Stderr)
	case "new session":
		return spawn("sleeper", os.Environ(), true, nil, nil)
	case "twice": // its parent is gone
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), roleEnv+"=middle")
		raw, _ := cmd.Output()
		pid, _ := strconv.Atoi(strings.TrimSpace(string(raw)))
		return pid
	case "no environment": // a new session, a cleared environment, a living parent
		return spawn("sleeper", nil, true, nil, nil)
	case "no environment, our pipe":
		return spawn("sleeper", nil, true, nil, os.Stderr)
	}
	return 0
}

func spawn(role string, env []string, session bool, stdout, stderr *os.File) int {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(append([]string{}, env...), roleEnv+"="+role)
	if role == "sleeper" && stdout == os.Stdout && session {
		stdout, stderr = nil, nil // a daemon keeps no streams
	}
	if stdout != nil {
		cmd.Stdout = stdout
	}
	if stderr != nil {
		cmd.Stderr = stderr
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: session}
	if cmd.Start() != nil {
		return 0
	}
	return cmd.Process.Pid
}

// host is a looprig in small: it runs a server with stubborn grandchildren,
// reports every process number and waits to be killed.
func host() {
	t, err := New(Config{Command: "/proc/self/exe", Env: map[string]string{roleEnv: "server", "IGNORE_TERM": "1", "IGNORE_EOF": "1"}})
	if err != nil {
		panic(err)
	}
	conn, err := t.Dial(context.Background(), wire.Options{})
	if err != nil {
		panic(err)
	}
	keeper, err := guardian.Start()
	if err != nil {
		panic(err)
	}
	pids := []int{conn.Diagnostics().PID}
	for _, how := range []string{"holding stdout", "new session", "twice", "no environment", "no environment, our pipe"} {
		pids = append(pids, mustFork(conn, how))
	}
	raw, _ := json.Marshal(map[string]any{"guardian": keeper.PID(), "pids": pids})
	fmt.Println(string(raw))
	if os.Getenv("HOST_EXITS") != "" {
		_ = conn.Close()
		return
	}
	time.Sleep(lifetime)
}

func mustFork(conn wire.Conn, how string) int {
	raw, _ := json.Marshal(order{Do: "fork", Text: how})
	if err := conn.Write(context.Background(), wire.Outgoing{Frame: raw}); err != nil {
		panic(err)
	}
	frame, err := conn.Read(context.Background())
	if err != nil {
		panic(err)
	}
	var reply struct{ PID int }
	if json.Unmarshal(frame.Data, &reply) != nil || reply.PID == 0 {
		panic("no grandchild: " + how)
	}
	return reply.PID
}
