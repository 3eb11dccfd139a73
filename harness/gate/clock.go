package gate

import "time"

// Clock tells the time and runs timers. It is injected so that deadlines can be
// tested. Implementations are safe for concurrent use.
type Clock interface {
	Now() time.Time
	// AfterFunc runs f on its own goroutine once d has passed. The returned
	// function stops the timer and reports whether it did so before f ran.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

// SystemClock is the clock of the machine.
type SystemClock struct{}

var _ Clock = SystemClock{}

// Now is the current time.
func (SystemClock) Now() time.Time { return time.Now() }

// AfterFunc is time.AfterFunc.
func (SystemClock) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(d, f).Stop
}
