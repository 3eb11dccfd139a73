package compose

import (
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/internal/safetext"
)

// maxCrashReport bounds the report of a crash, in bytes.
const maxCrashReport = 32 << 10

// crash is the one path of panics: the first one ends the run through whoever
// watches it, so that the terminal is restored, servers are ended and the
// journal is closed before the process exits with a report.
type crash struct {
	mu    sync.Mutex
	first error
	stop  func(error)
}

// watch names what ends the run. A panic that came before ends it at once.
func (c *crash) watch(stop func(error)) {
	c.mu.Lock()
	c.stop = stop
	first := c.first
	c.mu.Unlock()
	if first != nil {
		stop(first)
	}
}

// report takes a recovered panic with its stack.
func (c *crash) report(reason any, stack []byte) {
	err := exit.New(exit.Internal, "internal failure: %s\n%s",
		safetext.ToLine(fmt.Sprint(reason)), safetext.ToBlockN(string(stack), maxCrashReport))
	c.mu.Lock()
	if c.first != nil {
		c.mu.Unlock()
		return
	}
	c.first = err
	stop := c.stop
	c.mu.Unlock()
	if stop != nil {
		stop(err)
	}
}

// guard runs f and reports its panic.
func (c *crash) guard(f func()) {
	defer func() {
		if r := recover(); r != nil {
			c.report(r, debug.Stack())
		}
	}()
	f()
}

// OnCrash names what ends the run when something panics: the function is called
// at most once, with an *exit.Error that holds the report.
func (a *App) OnCrash(stop func(error)) { a.crash.watch(stop) }
