package wire

import (
	"runtime"
	"time"
)

// Bounds of a Pace.
const (
	// paceSlice is how long a goroutine that never blocks keeps its processor.
	// The scheduler's own slice is 10 ms, which whoever waits for an answer would
	// wait as well; a much shorter one would leave the goroutine with nothing
	// beside others that do not yield.
	paceSlice = 500 * time.Microsecond
	// paceEvery is after how many steps the time is looked at.
	paceEvery = 8
)

// Pace has a goroutine that a flood keeps busy let others run now and then: there
// may be few processors. It is used by one goroutine; the zero Pace is ready.
type Pace struct {
	steps int
	since time.Time
}

// Step is called for each thing that was done.
func (p *Pace) Step() {
	if p.steps++; p.steps%paceEvery != 0 {
		return
	}
	if now := time.Now(); now.Sub(p.since) >= paceSlice {
		runtime.Gosched()
		p.since = time.Now()
	}
}
