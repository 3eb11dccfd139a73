//go:build unix

package ptytest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"
	"github.com/charmbracelet/x/vt"
	"github.com/charmbracelet/x/xpty"
)

const (
	// poll is how often the screen is looked at while something is waited for.
	poll = 5 * time.Millisecond
	// maxRecord bounds the recorded bytes; a program that writes more fails the
	// test.
	maxRecord = 256 << 20
	// drainTime is how long output is awaited after a program has ended.
	drainTime = 5 * time.Second
	// endMark is written after a program has ended, so that the reader knows when
	// it has seen everything: closing the terminal may lose what is still in it.
	endMark = "\x00end of output\x00"
	// markTime is how often the mark is written until it arrives.
	markTime = 250 * time.Millisecond
	// stopReply ends the goroutine that answers the program's queries.
	stopReply = 0xff
)

// Term is a program in a pseudo-terminal. Its methods may be called from one
// goroutine.
type Term struct {
	t      testing.TB
	cmd    *exec.Cmd
	pty    *xpty.UnixPty
	screen *vt.SafeEmulator
	before *term.State
	mute   bool // the program's queries stay unanswered

	mu   sync.Mutex
	rec  bytes.Buffer
	over bool
	done bool // the end mark was read

	readers sync.WaitGroup
	reply   sync.WaitGroup
	ended   bool
	after   *term.State
}

// Start runs a command in a terminal of w by h cells, as the leader of a session
// that the terminal controls. The terminal is closed and the program killed when
// the test ends.
func Start(t testing.TB, cmd *exec.Cmd, w, h int) *Term {
	t.Helper()
	return start(t, cmd, w, h, false)
}

// StartMute is Start in a terminal that answers none of the program's queries,
// as a bare pseudo-terminal does.
func StartMute(t testing.TB, cmd *exec.Cmd, w, h int) *Term {
	t.Helper()
	return start(t, cmd, w, h, true)
}

func start(t testing.TB, cmd *exec.Cmd, w, h int, mute bool) *Term {
	t.Helper()
	p, err := xpty.NewUnixPty(w, h)
	if err != nil {
		t.Fatalf("open a terminal: %v", err)
	}
	x := &Term{t: t, cmd: cmd, pty: p, screen: vt.NewSafeEmulator(w, h), mute: mute}
	if x.before, err = term.GetState(p.Slave().Fd()); err != nil {
		t.Fatalf("state of the terminal: %v", err)
	}
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, "TERM=xterm-256color", fmt.Sprintf("COLUMNS=%d", w), fmt.Sprintf("LINES=%d", h))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := p.Start(cmd); err != nil {
		t.Fatalf("start %s: %v", cmd.Path, err)
	}
	x.readers.Go(x.read)
	x.reply.Go(x.answer)
	t.Cleanup(x.close)
	return x
}

// read feeds the screen and the record until the terminal is closed.
func (x *Term) read() {
	buf := make([]byte, 32<<10)
	for {
		n, err := x.pty.Read(buf)
		if n > 0 {
			x.mu.Lock()
			if x.rec.Len()+n <= maxRecord {
				x.rec.Write(buf[:n])
			} else {
				x.over = true
			}
			ended := bytes.HasSuffix(x.rec.Bytes(), []byte(endMark))
			if ended {
				x.rec.Truncate(bytes.Index(x.rec.Bytes(), []byte(endMark)))
				x.done = true
			}
			x.mu.Unlock()
			_, _ = x.screen.Write(buf[:n])
			if ended {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// answer carries the terminal's answers back to the program.
func (x *Term) answer() {
	buf := make([]byte, 4<<10)
	for {
		n, err := x.screen.Read(buf)
		if i := bytes.IndexByte(buf[:n], stopReply); i >= 0 || err != nil {
			return
		}
		if !x.mute {
			_, _ = x.pty.Write(buf[:n])
		}
	}
}

// Type sends text or keys as bytes, as a keyboard would.
func (x *Term) Type(keys ...string) {
	x.t.Helper()
	for _, k := range keys {
		if _, err := x.pty.Write([]byte(k)); err != nil {
			x.t.Fatalf("type %q: %v", k, err)
		}
	}
}

// The bytes of keys.
const (
	Enter    = "\r"
	Tab      = "\t"
	ShiftTab = "\x1b[Z"
	Escape   = "\x1b"
	Up       = "\x1b[A"
	Down     = "\x1b[B"
	F1       = "\x1bOP"
	F2       = "\x1bOQ"
	F3       = "\x1bOR"
	F6       = "\x1b[17~"
	F7       = "\x1b[18~"
	CtrlC    = "\x03"
	CtrlD    = "\x04"
	CtrlP    = "\x10"
	CtrlS    = "\x13"
)

// Paste sends text as a bracketed paste.
func (x *Term) Paste(text string) {
	x.t.Helper()
	x.Type("\x1b[200~" + text + "\x1b[201~")
}

// Screen is what the terminal shows, without styles.
func (x *Term) Screen() string {
	lines := strings.Split(ansi.Strip(x.screen.Render()), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " \r")
	}
	return strings.Join(lines, "\n")
}

// Bytes is everything that the program wrote so far.
func (x *Term) Bytes() []byte {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over {
		x.t.Errorf("the program wrote more than %d bytes", maxRecord)
	}
	return bytes.Clone(x.rec.Bytes())
}

// WaitFor waits until the screen holds every text, and fails the test when it
// does not within the time.
func (x *Term) WaitFor(within time.Duration, texts ...string) string {
	x.t.Helper()
	return x.Until(within, strings.Join(texts, ", "), func(screen string) bool {
		for _, s := range texts {
			if !strings.Contains(screen, s) {
				return false
			}
		}
		return true
	})
}

// Until waits until the screen satisfies ok.
func (x *Term) Until(within time.Duration, what string, ok func(screen string) bool) string {
	x.t.Helper()
	deadline := time.Now().Add(within)
	for {
		s := x.Screen()
		if ok(s) {
			return s
		}
		if time.Now().After(deadline) {
			x.t.Fatalf("after %v still no %s; the screen is:\n%s", within, what, s)
		}
		time.Sleep(poll)
	}
}

// Resize changes the size of the terminal.
func (x *Term) Resize(w, h int) {
	x.t.Helper()
	x.screen.Resize(w, h)
	if err := x.pty.Resize(w, h); err != nil {
		x.t.Fatalf("resize: %v", err)
	}
}

// Signal sends a signal to the program.
func (x *Term) Signal(s os.Signal) {
	x.t.Helper()
	if err := x.cmd.Process.Signal(s); err != nil {
		x.t.Fatalf("signal %v: %v", s, err)
	}
}

// Pid is the program's process id.
func (x *Term) Pid() int { return x.cmd.Process.Pid }

// Wait waits for the program to end and returns its exit code, -1 when a signal
// ended it. Afterwards all that it wrote has been read.
func (x *Term) Wait(within time.Duration) int {
	x.t.Helper()
	done := make(chan error, 1)
	x.readers.Go(func() { done <- x.cmd.Wait() })
	select {
	case err := <-done:
		x.drain()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			x.t.Fatalf("wait: %v", err)
		}
		return x.cmd.ProcessState.ExitCode()
	case <-time.After(within):
		_ = x.cmd.Process.Kill()
		x.drain()
		x.t.Fatalf("the program did not end within %v; the screen is:\n%s", within, x.Screen())
		return -1
	}
}

// drain reads what is left and then closes the program's side.
func (x *Term) drain() {
	slave := x.pty.Slave()
	x.after, _ = term.GetState(slave.Fd())
	x.ended = true
	var marked time.Time
	for deadline := time.Now().Add(drainTime); ; time.Sleep(poll) {
		if time.Since(marked) > markTime { // a key that sends a signal throws output away
			_, _ = slave.Write([]byte(endMark))
			marked = time.Now()
		}
		x.mu.Lock()
		done := x.done
		x.mu.Unlock()
		if done {
			break
		}
		if time.Now().After(deadline) { // something that outlived the program writes on
			x.t.Errorf("output did not end within %v of the program's end", drainTime)
			break
		}
	}
	_ = slave.Close()
	x.readers.Wait()
}

// Restored reports, after Wait, how the terminal differs from what it was before
// the program started.
func (x *Term) Restored() []string {
	out := Residue(x.Bytes())
	if x.after == nil || !reflect.DeepEqual(x.before, x.after) {
		out = append(out, "the line discipline was not restored")
	}
	return out
}

func (x *Term) close() {
	if !x.ended {
		_ = x.cmd.Process.Kill()
		x.readers.Go(func() { _ = x.cmd.Wait() })
		x.drain()
	}
	_, _ = x.screen.InputPipe().Write([]byte{stopReply})
	x.reply.Wait()
	_ = x.screen.Close()
	_ = x.pty.Master().Close()
}
