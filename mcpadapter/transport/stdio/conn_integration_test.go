//go:build integration && linux

package stdio

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// patience bounds every wait of these tests.
const patience = 20 * time.Second

func self(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// dialServer starts the test server with further environment entries.
func dialServer(t testing.TB, opt wire.Options, env ...string) wire.Conn {
	t.Helper()
	c := Config{Command: self(t), Env: map[string]string{roleEnv: "server", "GORACE": "atexit_sleep_ms=0"}}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		c.Env[name] = value
	}
	return dialConfig(t, c, opt)
}

func dialConfig(t testing.TB, c Config, opt wire.Options) wire.Conn {
	t.Helper()
	tr, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := tr.Dial(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func send(t testing.TB, conn wire.Conn, o order) {
	t.Helper()
	raw, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Write(context.Background(), wire.Outgoing{Frame: raw}); err != nil {
		t.Fatal(err)
	}
}

func read(conn wire.Conn) (wire.Frame, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return conn.Read(ctx)
}

func mustRead(t testing.TB, conn wire.Conn) wire.Frame {
	t.Helper()
	frame, err := read(conn)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// running reports whether a process exists and is no zombie.
func running(pid int) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := bytes.Cut(raw, []byte(") "))
	return len(after) > 0 && after[0] != 'Z' && after[0] != 'X'
}

func eventually(t *testing.T, within time.Duration, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", within, what)
		}
	}
}

func TestEchoAndCleanClose(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var trace []string
	conn := dialServer(t, wire.Options{Trace: func(d wire.Direction, frame []byte) {
		mu.Lock()
		defer mu.Unlock()
		trace = append(trace, fmt.Sprint(d, " ", string(frame)))
	}})
	if err := conn.Write(context.Background(), wire.Outgoing{Frame: []byte("{\"do\":\"echo\",\r\n \"text\":\"a\\nb\"}")}); err != nil {
		t.Fatal(err)
	}
	want := `{"do":"echo",   "text":"a\nb"}`
	if got := string(mustRead(t, conn).Data); got != want {
		t.Fatalf("got %s", got)
	}
	began := time.Now()
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > wire.DefaultCloseGrace {
		t.Errorf("a well-behaved server took %s to close", took)
	}
	if _, err := conn.Read(context.Background()); !errors.Is(err, ErrClosed) {
		t.Errorf("Read after Close: %v", err)
	}
	if err := conn.Write(context.Background(), wire.Outgoing{Frame: []byte("{}")}); !errors.Is(err, ErrClosed) {
		t.Errorf("Write after Close: %v", err)
	}
	if d := conn.Diagnostics(); !d.Exited || d.ExitCode != 0 || running(d.PID) {
		t.Errorf("diagnostics %+v", d)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(trace) != 2 || trace[0] != "1 "+want || trace[1] != "0 "+want {
		t.Errorf("trace %q", trace)
	}
}

func TestNoiseIsSkippedAndCapped(t *testing.T) {
	t.Parallel()
	conn := dialServer(t, wire.Options{NoiseLines: 50})
	send(t, conn, order{Do: "noise", N: 20})
	send(t, conn, order{Do: "echo"})
	mustRead(t, conn)
	if n := conn.Diagnostics().NoiseLines; n != 20 {
		t.Errorf("%d noise lines counted", n)
	}
	send(t, conn, order{Do: "noise", N: 100_000})
	var noise *wire.NoiseError
	if _, err := read(conn); !errors.As(err, &noise) || noise.Limit != 50 {
		t.Fatalf("error %v", err)
	}
	eventually(t, patience, "a failed connection ends its server", func() bool { return !running(conn.Diagnostics().PID) })
}

func TestHugeFrameKeepsTheConnection(t *testing.T) {
	t.Parallel()
	conn := dialServer(t, wire.Options{FrameBytes: 1 << 20})
	send(t, conn, order{Do: "huge", N: 64 << 20})
	send(t, conn, order{Do: "echo"})
	frame := mustRead(t, conn)
	if o := frame.Oversize; o == nil || string(o.ID) != "9" || o.Size < 64<<20 || o.Limit != 1<<20 {
		t.Fatalf("frame %+v", frame.Oversize)
	}
	if string(mustRead(t, conn).Data) != `{"do":"echo"}` {
		t.Error("the next frame is damaged")
	}
}

func TestFrameThatStallsOverTheLimit(t *testing.T) {
	t.Parallel()
	conn := dialServer(t, wire.Options{FrameBytes: 1 << 10}).(*Conn)
	conn.frames.skipTime = 100 * time.Millisecond
	send(t, conn, order{Do: "stuck", N: 4 << 10})
	var end *wire.FrameEndError
	if _, err := read(conn); !errors.As(err, &end) {
		t.Fatalf("error %v", err)
	}
}

func TestCloseInterruptsEverything(t *testing.T) {
	t.Parallel()
	conn := dialServer(t, wire.Options{CloseGrace: 50 * time.Millisecond}, "NEVER_READ=1")
	results := make(chan error, 3)
	go func() { _, err := conn.Read(context.Background()); results <- err }()
	for range 2 {
		go func() {
			results <- conn.Write(context.Background(), wire.Outgoing{Frame: []byte(`"` + strings.Repeat("y", 1<<20) + `"`)})
		}()
	}
	var closers sync.WaitGroup
	for range 3 {
		closers.Go(func() { _ = conn.Close() })
	}
	closers.Wait()
	for range 3 {
		select {
		case err := <-results:
			if !errors.Is(err, ErrClosed) {
				t.Errorf("error %v", err)
			}
		case <-time.After(patience):
			t.Fatal("a call outlived Close")
		}
	}
}

func TestLossIsNoticedAtOnce(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		o      order
		code   int
		signal string
	}{
		{"exit 0", order{Do: "exit", N: 0}, 0, ""},
		{"exit 3", order{Do: "exit", N: 3}, 3, ""},
		{"killed", order{Do: "die"}, -1, "SIGKILL"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			conn := dialServer(t, wire.Options{})
			send(t, conn, order{Do: "say", Text: "last words"})
			send(t, conn, c.o)
			began := time.Now()
			_, err := read(conn)
			var lost *wire.LossError
			if !errors.As(err, &lost) || lost.ExitCode != c.code || lost.Signal != c.signal || lost.Reason != "process exited" {
				t.Fatalf("error %#v", err)
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("took %s", took)
			}
			if d := conn.Diagnostics(); !slices.Contains(d.StderrTail, "last words") || d.ExitCode != c.code || d.ExitSignal != c.signal {
				t.Errorf("diagnostics %+v", d)
			}
			if err := conn.Write(context.Background(), wire.Outgoing{Frame: []byte("{}")}); !errors.As(err, &lost) {
				t.Errorf("Write after the loss: %v", err)
			}
			eventually(t, patience, "Done", func() bool {
				select {
				case <-conn.Done():
					return true
				default:
					return false
				}
			})
		})
	}
}

func TestReplyBeforeTheEndIsDelivered(t *testing.T) {
	t.Parallel()
	conn := dialServer(t, wire.Options{})
	send(t, conn, order{Do: "fork", Text: "holding stdout"}) // so that no EOF comes
	mustRead(t, conn)
	send(t, conn, order{Do: "last", N: 4})
	eventually(t, patience, "exit", func() bool { return conn.Diagnostics().Exited })
	if got := string(mustRead(t, conn).Data); got != `{"last":true}` {
		t.Fatalf("got %s", got)
	}
	var lost *wire.LossError
	if _, err := read(conn); !errors.As(err, &lost) || lost.ExitCode != 4 {
		t.Fatalf("error %v", err)
	}
}

func TestStubbornFamiliesAreEnded(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"holding stdout", "new session", "twice", "no environment", "no environment, our pipe"} {
		for _, end := range []string{"close", "exit"} {
			t.Run(how+", "+end, func(t *testing.T) {
				t.Parallel()
				conn := dialServer(t, wire.Options{CloseGrace: 100 * time.Millisecond}, "IGNORE_TERM=1", "IGNORE_EOF=1")
				pid := mustFork(conn, how)
				if !running(pid) {
					t.Fatal("the grandchild never ran")
				}
				if end == "exit" {
					if how == "no environment" {
						t.Skip("nothing ties such a process to a server that is gone")
					}
					send(t, conn, order{Do: "exit"})
					if _, err := read(conn); err == nil {
						t.Fatal("no loss")
					}
				}
				began := time.Now()
				if err := conn.Close(); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("Close took %s", took)
				}
				if running(pid) || running(conn.Diagnostics().PID) {
					t.Error("a process survived")
					_ = syscall.Kill(pid, syscall.SIGKILL)
				}
			})
		}
	}
}

func TestServerThatNeverReads(t *testing.T) {
	t.Parallel()
	conn := dialConfig(t, Config{Command: self(t), WriteTimeout: 200 * time.Millisecond,
		Env: map[string]string{roleEnv: "server", "NEVER_READ": "1"}}, wire.Options{CloseGrace: 50 * time.Millisecond})
	frame := []byte(`{"x":"` + strings.Repeat("y", 1<<20) + `"}`)
	var lost *wire.LossError
	if err := conn.Write(context.Background(), wire.Outgoing{Frame: frame}); !errors.As(err, &lost) || lost.Reason != "write timed out" {
		t.Fatalf("error %v", err)
	}
	if _, err := read(conn); !errors.As(err, &lost) {
		t.Fatalf("Read: %v", err)
	}
}

func TestCancelledWriteAndRead(t *testing.T) {
	t.Parallel()
	conn := dialServer(t, wire.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := conn.Read(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("Read: %v", err)
	}
	if err := conn.Write(ctx, wire.Outgoing{Frame: []byte("{}")}); !errors.Is(err, context.Canceled) {
		t.Fatalf("Write: %v", err)
	}
	send(t, conn, order{Do: "echo"})
	mustRead(t, conn)
}

func TestStderrIsBounded(t *testing.T) {
	t.Parallel()
	longest := 0
	conn := dialServer(t, wire.Options{Stderr: func(line []byte) { longest = max(longest, len(line)) }})
	send(t, conn, order{Do: "flood", N: 256})
	mustRead(t, conn)
	_ = conn.Close()
	d := conn.Diagnostics()
	total := 0
	for _, line := range d.StderrTail {
		total += len(line)
	}
	if longest > wire.MaxStderrLine || len(d.StderrTail) > stderrLines || total > stderrBytes || d.StderrDropped == 0 {
		t.Errorf("longest %d, lines %d, bytes %d, dropped %d", longest, len(d.StderrTail), total, d.StderrDropped)
	}
}

func TestEnvironmentAndDescriptors(t *testing.T) {
	t.Parallel()
	inherited, err := os.CreateTemp(t.TempDir(), "inherited")
	if err != nil {
		t.Fatal(err)
	}
	defer inherited.Close()
	// As if looprig itself had been started with this descriptor open.
	if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, inherited.Fd(), syscall.F_SETFD, 0); errno != 0 {
		t.Fatal(errno)
	}
	conn := dialConfig(t, Config{
		Command: self(t), Env: map[string]string{roleEnv: "server", "EXPLICIT": "yes", "HOME": "/explicit"}, InheritEnv: []string{"PASSED"},
		HostEnv: []string{"PATH=/usr/bin:.::/bin", "HOME=/host", "SECRET_TOKEN=canary", "PASSED=1", "HTTP_PROXY=x", "LD_PRELOAD=evil"},
	}, wire.Options{})
	send(t, conn, order{Do: "env"})
	var env []string
	if err := json.Unmarshal(mustRead(t, conn).Data, &env); err != nil {
		t.Fatal(err)
	}
	for i, entry := range env {
		if strings.HasPrefix(entry, "LOOPRIG_CHILD=") {
			env[i] = "LOOPRIG_CHILD"
		}
	}
	slices.Sort(env)
	want := []string{"EXPLICIT=yes", "HOME=/explicit", "LOOPRIG_CHILD", "PASSED=1", "PATH=/usr/bin:/bin", roleEnv + "=server"}
	if !slices.Equal(env, want) {
		t.Errorf("environment %q, want %q", env, want)
	}
	send(t, conn, order{Do: "fds"})
	frame := string(mustRead(t, conn).Data)
	if strings.Contains(frame, "inherited") || strings.Count(frame, `",`) != 2 {
		t.Errorf("descriptors %s", frame)
	}
	d := conn.Diagnostics()
	if !slices.Equal(d.WithheldEnv, []string{"HTTP_PROXY", "LD_PRELOAD"}) || len(d.Warnings) != 2 {
		t.Errorf("withheld %q, warnings %q", d.WithheldEnv, d.Warnings)
	}
}

// TestKilledHostLeavesNothing is the guardian's promise.
func TestKilledHostLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, orderly := range []bool{false, true} {
		t.Run(fmt.Sprintf("orderly=%v", orderly), func(t *testing.T) {
			t.Parallel()
			host := exec.Command(self(t))
			host.Env = []string{roleEnv + "=host"}
			if orderly {
				host.Env = append(host.Env, "HOST_EXITS=1")
			}
			out, err := host.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := host.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadBytes('\n')
			if err != nil {
				t.Fatal(err)
			}
			var report struct {
				Guardian int
				PIDs     []int
			}
			if err := json.Unmarshal(line, &report); err != nil {
				t.Fatal(err)
			}
			if !orderly {
				for _, pid := range append(report.PIDs, report.Guardian) {
					if !running(pid) {
						t.Fatalf("process %d of %v does not run", pid, report)
					}
				}
				_ = syscall.Kill(report.Guardian, syscall.SIGTERM) // it must not care
				if err := host.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			_ = host.Wait()
			began := time.Now()
			eventually(t, 5*time.Second, "all processes of the host gone", func() bool {
				return !slices.ContainsFunc(append(report.PIDs, report.Guardian), running)
			})
			t.Logf("nothing left after %s", time.Since(began))
		})
	}
}

func BenchmarkRoundTrip(b *testing.B) {
	conn := dialServer(b, wire.Options{})
	frame := []byte(`{"do":"echo","text":"` + strings.Repeat("x", 100) + `"}`)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.ReportAllocs()
	for b.Loop() {
		if err := conn.Write(ctx, wire.Outgoing{Frame: frame}); err != nil {
			b.Fatal(err)
		}
		if _, err := conn.Read(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDialClose(b *testing.B) {
	tr, err := New(Config{Command: "cat"})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		conn, err := tr.Dial(context.Background(), wire.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if err := conn.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBareProcess is what the operating system and os/exec take for the
// same: the floor for BenchmarkDialClose.
func BenchmarkBareProcess(b *testing.B) {
	for b.Loop() {
		cmd := exec.Command("cat")
		in, err := cmd.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		if _, err := cmd.StdoutPipe(); err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		_ = in.Close()
		_ = cmd.Wait()
	}
}
