package client

import "runtime/debug"

// Crash is told of a panic on one of the adapter's own goroutines, so that the
// host can restore the terminal and flush its journal. Nil lets the panic end
// the process.
type Crash func(reason any, stack []byte)

// Guard runs f and hands a panic to the crash path.
func (c Crash) Guard(f func()) {
	if c != nil {
		defer func() {
			if p := recover(); p != nil {
				c(p, debug.Stack())
			}
		}()
	}
	f()
}
