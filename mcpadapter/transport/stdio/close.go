package stdio

import (
	"os"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/guardian/kin"
)

// killBound is how long SIGKILL is repeated: once for the child, once for its
// family. With two graces of a second a close takes at most 5 s, and that only
// when a process cannot be killed.
const killBound = 1500 * time.Millisecond

// Close ends the server: end of stdin, grace, SIGTERM to its group, grace,
// SIGKILL, then everybody who carries the connection's marker. It returns when
// nothing is left, at most two graces and two killBounds later, and at once
// when the server leaves by itself. It is idempotent; every caller waits.
func (c *Conn) Close() error {
	c.byCaller.Store(true)
	c.requestClose()
	<-c.done
	c.closed.Do(func() {
		_ = c.stdout.file.Close()
		<-c.lastWords
		c.readMu.Lock()
		defer c.readMu.Unlock()
		c.frames.share.Release()
	})
	return nil
}

// requestClose makes Read and Write fail and the supervisor go to work.
func (c *Conn) requestClose() {
	c.closeOnce.Do(func() {
		c.closing.Store(true)
		c.stdout.closing.Store(true)
		close(c.closeReq)
		c.stdout.interrupt()
		_ = c.stdin.SetWriteDeadline(time.Unix(1, 0))
	})
}

// await learns of the child's end, reaps it, and only it, and wakes whoever
// waits for its streams: a grandchild may hold them open for ever.
func (c *Conn) await() {
	c.reap()
	close(c.exited)
	c.stderr.childGone()
	c.stdout.childGone()
}

// reap collects the child's state. Where the platform can wait without
// reaping, the reaping itself excludes signals to the group.
func (c *Conn) reap() {
	var state *os.ProcessState
	if awaitExit(c.process.Pid) {
		c.procMu.Lock()
		defer c.procMu.Unlock()
		state, _ = c.process.Wait()
	} else {
		state, _ = c.process.Wait()
		c.procMu.Lock()
		defer c.procMu.Unlock()
	}
	c.reaped = true
	c.exitCode, c.signal = exitOf(state)
}

// supervise ends the server when it is asked to or when the child is gone.
func (c *Conn) supervise() {
	defer close(c.done)
	grace := c.grace
	select {
	case <-c.exited:
		_ = c.stdin.Close()
	case <-c.closeReq:
		grace = c.endChild()
	}
	c.family.End(kin.Bounds{Grace: grace, Kill: killBound})
	if !kin.Supported {
		c.signalGroup(killGroup)
	}
	if c.keeper != nil {
		c.keeper.Remove(c.process.Pid)
	}
	c.stderr.childGone()
}

// endChild asks the child to leave, more and more firmly. Its stdout is
// emptied meanwhile, so that a last flush does not hold it back. It returns
// the grace that the rest of the family has left after SIGTERM.
func (c *Conn) endChild() (grace time.Duration) {
	c.family.Known = append(c.family.Known, kin.Children(c.process.Pid)...)
	_ = c.stdin.Close()
	emptied := make(chan struct{})
	go func() {
		defer close(emptied)
		c.empty()
	}()
	grace = c.grace
	if !c.exitsWithin(c.grace) {
		began := time.Now()
		c.signalGroup(terminateGroup)
		c.family.Terminate()
		if !c.exitsWithin(c.grace) {
			c.signalGroup(killGroup)
			_ = c.process.Kill()
			c.exitsWithin(killBound)
		}
		grace = max(0, c.grace-time.Since(began))
	}
	c.stdout.childGone() // also when it cannot be killed
	<-emptied
	return grace
}

// empty discards stdout until the child is gone.
func (c *Conn) empty() {
	c.readMu.Lock()
	defer c.readMu.Unlock()
	c.stdout.discard.Store(true)
	c.stdout.ctx = nil
	c.stdout.limit(time.Time{})
	scratch := make([]byte, 32<<10)
	for {
		if _, err := c.stdout.Read(scratch); err != nil {
			return
		}
	}
}

func (c *Conn) exitsWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.exited:
		return true
	case <-timer.C:
		return false
	}
}

// signalGroup signals the child's group as long as its number cannot have
// passed to anybody else. The rest of the group is found by the sweep.
func (c *Conn) signalGroup(send func(pid int)) {
	c.procMu.Lock()
	defer c.procMu.Unlock()
	if !c.reaped || !kin.Supported {
		send(c.process.Pid)
	}
}
