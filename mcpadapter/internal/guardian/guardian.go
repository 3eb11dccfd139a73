// Package guardian ends the servers that looprig leaves behind when looprig
// itself is killed. It is the own binary, executed again as a tiny helper
// before the first server starts. The helper holds the read end of a pipe; the
// pipe's end, however it comes about, tells it that looprig is gone, and it
// ends every process that carries looprig's marker or belongs to a registered
// server, within KillBound.
//
// Death signals of the kernel are not used: they fire when the thread that
// forked ends, which kills healthy servers, and they do not reach
// grandchildren.
//
// Invariants: a binary that never calls Main is never executed again, so a
// program without the hook cannot multiply itself; the helper is in a session
// of its own, ignores the signals of a terminal, keeps no descriptor but the
// pipe, and ends at once when there is nothing to do. Programs that looprig
// starts for the user (editors, browsers) carry no marker and are left alone.
// It imports neither the transports nor the MCP SDK.
package guardian

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/guardian/kin"
)

// Arg is the argument by which the binary becomes the helper.
const Arg = "__guardian"

// KillBound is the time within which the helper has ended everything, counted
// from looprig's death. A process that no signal ends (it waits in the kernel)
// is given up after it.
const KillBound = 5 * time.Second

const (
	leaveGrace   = 200 * time.Millisecond // for servers that leave when their input ends
	termGrace    = 300 * time.Millisecond // between SIGTERM and SIGKILL
	killPhase    = 4 * time.Second        // SIGKILL repeated; with the graces below KillBound
	writeTimeout = 200 * time.Millisecond // one message to the helper
	exitTimeout  = 2 * time.Second        // the helper's orderly end
)

// ErrNoHook says that this binary does not call Main and so cannot be its own
// helper.
var ErrNoHook = errors.New("this program has no guardian entry point")

// hooked records that Main was called in this process.
var hooked atomic.Bool

// Main must be the first thing a program does. Where the arguments (os.Args)
// ask for the helper it plays that role until looprig is gone and reports
// handled with the exit code; otherwise it returns at once.
func Main(args []string) (handled bool, exitCode int) {
	hooked.Store(true)
	if len(args) != 2 || args[1] != Arg {
		return false, 0
	}
	return true, watch(os.Stdin)
}

// Token is the random name of this process in markers, the same for its whole
// life.
var Token = sync.OnceValue(func() string { return NewToken() })

// NewToken returns 128 random bits in hexadecimal.
func NewToken() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: the runtime aborts instead
	return hex.EncodeToString(b[:])
}

// Ward is one server that the helper looks after.
type Ward struct {
	kin.Member
	// Pipes are the inode numbers of the server's standard streams.
	Pipes []uint64
}

// Guardian is the handle on the process-wide helper. It is safe for concurrent
// use.
type Guardian struct {
	mu    sync.Mutex
	wards map[int]Ward
	live  *helper
}

// helper is one started helper process.
type helper struct {
	process *os.Process
	pipe    *os.File
}

var shared = &Guardian{wards: map[int]Ward{}}

// Start returns the process-wide guardian and starts its helper when none is
// running. It does not wait for the helper to be ready: the pipe tells it
// everything whenever it gets there. Errors: ErrNoHook, errors.ErrUnsupported
// (on platforms without process groups), or what starting a process can fail
// with.
func Start() (*Guardian, error) {
	if !hooked.Load() {
		return nil, ErrNoHook
	}
	shared.mu.Lock()
	defer shared.mu.Unlock()
	return shared, shared.ensure()
}

// Running returns the process-wide guardian when its helper has been started,
// else nil.
func Running() *Guardian {
	if shared.PID() == 0 {
		return nil
	}
	return shared
}

// Add registers a server. Losing the helper is noticed here and mended.
func (g *Guardian) Add(w Ward) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wards[w.PID] = w
	if g.live != nil && g.live.send(w.message()) == nil {
		return nil
	}
	g.drop()
	return g.ensure() // tells a new helper about every ward
}

// Remove forgets a server that has ended.
func (g *Guardian) Remove(pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.wards, pid)
	if g.live != nil {
		_ = g.live.send(fmt.Sprintf("remove %d\n", pid)) // noticed at the next Add
	}
}

// Close ends the helper in an orderly way and waits for it, bounded. With
// wards left it does not tell the helper to leave them alone. A later Start
// starts a new helper.
func (g *Guardian) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.live != nil && len(g.wards) == 0 {
		_ = g.live.send("bye\n")
	}
	g.drop()
}

// PID is the helper's process number, 0 when none is running.
func (g *Guardian) PID() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.live == nil {
		return 0
	}
	return g.live.process.Pid
}

// ensure starts a helper when none is live and tells it everything.
func (g *Guardian) ensure() error {
	if g.live != nil {
		return nil
	}
	live, err := launch()
	if err != nil {
		return err
	}
	hello := fmt.Sprintf("hello %s %d\n", Token(), kin.StartOf(os.Getpid()))
	for _, w := range g.wards {
		hello += w.message()
	}
	if err := live.send(hello); err != nil {
		live.end()
		return err
	}
	g.live = live
	return nil
}

// drop lets go of the helper: the end of the pipe is its signal.
func (g *Guardian) drop() {
	if g.live != nil {
		g.live.end()
		g.live = nil
	}
}

func (h *helper) send(text string) error {
	_ = h.pipe.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := h.pipe.WriteString(text)
	return err
}

// end closes the pipe and reaps the helper; one that does not leave in time is
// left to finish by itself.
func (h *helper) end() {
	_ = h.pipe.Close()
	reaped := make(chan struct{})
	go func() {
		defer close(reaped)
		_, _ = h.process.Wait()
	}()
	timer := time.NewTimer(exitTimeout)
	defer timer.Stop()
	select {
	case <-reaped:
	case <-timer.C:
	}
}

func (w Ward) message() string {
	pipes := make([]string, len(w.Pipes))
	for i, inode := range w.Pipes {
		pipes[i] = strconv.FormatUint(inode, 10)
	}
	return fmt.Sprintf("add %d %d %s\n", w.PID, w.Start, strings.Join(pipes, ","))
}
