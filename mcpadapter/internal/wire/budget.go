package wire

import (
	"sync"
	"time"
)

// Bounds of what the frames of all connections may hold while they are read.
const (
	// freeBytes of a frame are not counted: ordinary frames wait for nobody.
	freeBytes = 256 << 10
	// budgetBytes are for everything beyond, in the whole process.
	budgetBytes = 24 << 20
	// budgetWait is how long a frame waits for others to be done.
	budgetWait = 2 * time.Second
)

// Frames is the budget of the process. Each frame is bounded by its connection's
// limit already; this bounds many large ones at once.
var Frames = NewBudget(budgetBytes, budgetWait)

// Budget is memory that several readers share. It is safe for concurrent use.
type Budget struct {
	limit int64
	wait  time.Duration

	mu      sync.Mutex
	used    int64
	holders int           // shares that hold something
	waiting int           // those of them that want more
	freed   chan struct{} // closed, and made anew, when something is given back
}

// NewBudget makes a budget of limit bytes. Whoever finds too few of them left
// waits, for at most wait.
func NewBudget(limit int64, wait time.Duration) *Budget {
	return &Budget{limit: limit, wait: wait, freed: make(chan struct{})}
}

// Limit is how many bytes there are.
func (b *Budget) Limit() int64 { return b.limit }

// Used is how many bytes are held now.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// take adds n bytes to a share that has some. One alone gets whatever it asks
// for: a frame limit above the budget is the configuration's own choice. Where
// the share has to wait, freed is closed when something is given back; it is nil
// when nothing would be, because everybody who holds something waits.
func (b *Budget) take(n, has int64, waits bool) (ok bool, freed <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if waits && has > 0 {
		b.waiting--
	}
	switch {
	case b.used+n <= b.limit, b.used <= has:
		b.used += n
		if has == 0 {
			b.holders++
		}
		return true, nil
	case has > 0 && b.waiting+1 >= b.holders:
		return false, nil
	case has > 0:
		b.waiting++
	}
	return false, b.freed
}

// leave ends a wait that was given up.
func (b *Budget) leave(has int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if has > 0 {
		b.waiting--
	}
}

func (b *Budget) give(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	b.holders--
	close(b.freed)
	b.freed = make(chan struct{})
}

// Share is what one frame holds of a budget. It is used by one goroutine; the
// zero Share holds nothing of Frames.
type Share struct {
	Of *Budget // nil means Frames
	// Done, when set, ends the waiting early.
	Done <-chan struct{}
	has  int64
}

func (s *Share) budget() *Budget {
	if s.Of == nil {
		return Frames
	}
	return s.Of
}

// Grow makes room for a frame of size bytes in all. It waits for others, and
// gives up with false when none ended in time, or when everybody waits for
// everybody: then the frame has to be given up. What it holds stays held.
func (s *Share) Grow(size int) bool {
	need := int64(size) - freeBytes - s.has
	if need <= 0 {
		return true
	}
	b := s.budget()
	ok, freed := b.take(need, s.has, false)
	if !ok && freed != nil {
		timer := time.NewTimer(b.wait)
		defer timer.Stop()
		for !ok && freed != nil {
			select {
			case <-freed:
				ok, freed = b.take(need, s.has, true)
			case <-s.Done:
				b.leave(s.has)
				return false
			case <-timer.C:
				b.leave(s.has)
				return false
			}
		}
	}
	if ok {
		s.has += need
	}
	return ok
}

// Release gives everything back. It is idempotent.
func (s *Share) Release() {
	if s.has > 0 {
		s.budget().give(s.has)
		s.has = 0
	}
}
