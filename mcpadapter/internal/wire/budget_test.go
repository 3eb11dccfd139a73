package wire

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100, time.Second)
		one, two, three := Share{Of: b}, Share{Of: b}, Share{Of: b}
		if !one.Grow(freeBytes) || b.Used() != 0 {
			t.Error("small frames are counted")
		}
		if !one.Grow(freeBytes+60) || !two.Grow(freeBytes+40) || b.Used() != 100 {
			t.Errorf("%d are used", b.Used())
		}
		if !one.Grow(freeBytes + 10) {
			t.Error("what is held already is asked for again")
		}
		begin := time.Now()
		if three.Grow(freeBytes+1) || time.Since(begin) != time.Second || b.Used() != 100 {
			t.Errorf("one over the limit, after %s; %d are used", time.Since(begin), b.Used())
		}
		time.AfterFunc(time.Second/2, two.Release)
		begin = time.Now()
		if !three.Grow(freeBytes+40) || time.Since(begin) != time.Second/2 {
			t.Errorf("what was given back was not taken, after %s", time.Since(begin))
		}
		one.Release()
		one.Release()
		three.Release()
		if b.Used() != 0 {
			t.Errorf("%d are left", b.Used())
		}
		if !one.Grow(freeBytes+1000) || !one.Grow(freeBytes+2000) {
			t.Error("one alone is refused")
		}
		four := Share{Of: b}
		if four.Grow(freeBytes + 1) {
			t.Error("a second one beside it is not")
		}
		over := make(chan struct{})
		five := Share{Of: b, Done: over}
		close(over)
		begin = time.Now()
		if five.Grow(freeBytes+1) || time.Since(begin) != 0 {
			t.Error("whoever is closed waits")
		}
		one.Release()
	})
}

// Readers that each hold a part and want more do not wait for ever.
func TestBudgetDoesNotDeadlock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100, time.Second)
		var wg sync.WaitGroup
		var top, refused atomic.Int64
		for range 8 {
			wg.Go(func() {
				s := Share{Of: b}
				defer s.Release()
				for size := 10; size <= 60; size += 10 {
					if !s.Grow(freeBytes + size) {
						refused.Add(1)
						return
					}
					top.Store(max(top.Load(), b.Used()))
					time.Sleep(time.Millisecond)
				}
			})
		}
		begin := time.Now()
		wg.Wait()
		if time.Since(begin) >= time.Second || top.Load() > 100 || refused.Load() > 7 || b.Used() != 0 {
			t.Errorf("after %s, at most %d used, %d refused, %d left", time.Since(begin), top.Load(), refused.Load(), b.Used())
		}
	})
}
