package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/charmbracelet/x/xpty"
)

const (
	waitLimit    = 20 * time.Second       // for a text to appear
	settleTime   = 300 * time.Millisecond // without a change
	pollInterval = 20 * time.Millisecond
	quitLimit    = 5 * time.Second // for the program to end when asked
)

// terminal is a program in a pseudo-terminal, and the screen that it has drawn.
type terminal struct {
	pty  xpty.Pty
	cmd  *exec.Cmd
	stop context.CancelFunc

	mu      sync.Mutex // guards emu's screen and version
	emu     *vt.Emulator
	version int // counts what was written to the screen

	pumps sync.WaitGroup
	ended chan struct{} // closed when the program is gone
}

// start runs the program. The caller closes the terminal.
func start(ctx context.Context, binary, home string, s scene) (*terminal, error) {
	pty, err := xpty.NewPty(s.width, s.height)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, binary, s.args...) //nolint:gosec // the program to be drawn
	cmd.Env = environment(home)
	t := &terminal{pty: pty, cmd: cmd, stop: cancel, emu: vt.NewEmulator(s.width, s.height), ended: make(chan struct{})}
	if err := pty.Start(cmd); err != nil {
		cancel()
		return nil, errors.Join(err, pty.Close())
	}
	t.pumps.Go(t.pumpOutput)
	t.pumps.Go(t.pumpReplies)
	go func() { // awaited by close
		defer close(t.ended)
		_ = xpty.WaitProcess(ctx, cmd) // a program that is interrupted reports so
	}()
	return t, nil
}

// environment is all that the program sees: a picture shows nothing of the machine
// that it was drawn on.
func environment(home string) []string {
	env := []string{
		"LOOPRIG_HOME=" + home, "HOME=" + home, "LANG=C.UTF-8", "TERM=xterm-256color", "COLORTERM=truecolor",
	}
	for _, name := range []string{"PATH", "SYSTEMROOT"} { // Windows starts nothing without the latter
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// pumpOutput feeds the screen until the program's side is closed.
func (t *terminal) pumpOutput() {
	buf := make([]byte, 32<<10)
	for {
		n, err := t.pty.Read(buf)
		t.mu.Lock()
		_, _ = t.emu.Write(buf[:n]) // the emulator does not fail
		t.version++
		t.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// pumpReplies sends what the emulator answers to the program's queries.
func (t *terminal) pumpReplies() { _, _ = io.Copy(t.pty, t.emu) }

// close ends the program, by force if it does not listen, and waits for everything
// that start began.
func (t *terminal) close() error {
	_ = t.cmd.Process.Signal(os.Interrupt) // it may be gone; Windows cannot
	select {
	case <-t.ended:
	case <-time.After(quitLimit):
		killGroup(t.cmd.Process)
		<-t.ended
	}
	t.stop()
	killGroup(t.cmd.Process)
	err := errors.Join(t.pty.Close(), t.endReplies())
	t.pumps.Wait()
	return err
}

// endReplies ends the reading of replies by the end of their pipe: the
// emulator's own Close sets a flag that its Read reads unguarded.
func (t *terminal) endReplies() error {
	if pipe, ok := t.emu.InputPipe().(io.Closer); ok {
		return pipe.Close()
	}
	return t.emu.Close()
}

func (t *terminal) send(text string) error {
	_, err := io.WriteString(t.pty, text)
	return err
}

// wait polls until the screen shows the text.
func (t *terminal) wait(ctx context.Context, text string) error {
	err := t.poll(ctx, func() bool { return strings.Contains(t.text(), text) })
	if err != nil {
		return fmt.Errorf("%q did not appear: %w; the screen was:\n%s", text, err, t.text())
	}
	return nil
}

// settle polls until nothing was drawn for a while.
func (t *terminal) settle(ctx context.Context) error {
	last, since := -1, time.Now()
	return t.poll(ctx, func() bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.version != last {
			last, since = t.version, time.Now()
		}
		return time.Since(since) >= settleTime
	})
}

func (t *terminal) poll(ctx context.Context, done func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (t *terminal) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.emu.String()
}

// snapshot copies the screen.
func (t *terminal) snapshot() screen {
	t.mu.Lock()
	defer t.mu.Unlock()
	return copyScreen(t.emu)
}
