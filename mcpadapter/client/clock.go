package client

import (
	"sync"
	"time"
)

// clocks are the clocks of the requests that are in flight on one connection.
// They stand still while somebody answers a question of that server, altogether
// at most for still: a server cannot keep a request open for ever by asking.
type clocks struct {
	still   time.Duration
	mu      sync.Mutex
	paused  int // open questions that stop all clocks
	running map[*clock]struct{}
}

// clock bounds one request by the time that the server, and nobody else, lets
// us wait: idle since the last sign of life, hard altogether.
type clock struct {
	set     *clocks
	id      string
	idleMax time.Duration
	idle    time.Duration // what is left
	hard    time.Duration // what is left
	ran     time.Duration
	stood   time.Duration // how long it stood still
	paused  int           // questions that stop this clock alone
	since   time.Time
	timer   *time.Timer
	fire    func()
	done    bool
}

func newClocks(still time.Duration) *clocks {
	return &clocks{still: still, running: map[*clock]struct{}{}}
}

// start begins a clock that calls fire once when it has run out.
func (s *clocks) start(id string, idle, hard time.Duration, fire func()) *clock {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &clock{set: s, id: id, idleMax: idle, idle: idle, hard: hard, since: time.Now(), fire: fire}
	s.running[c] = struct{}{}
	c.timer = time.AfterFunc(min(idle, hard), c.ring)
	c.arm()
	return c
}

// stopped reports whether the clock stands still. The set's lock is held.
func (c *clock) stopped() bool { return c.paused > 0 || c.set.paused > 0 }

// account books the time since the last booking. The set's lock is held.
func (c *clock) account() {
	now := time.Now()
	d := now.Sub(c.since)
	if c.stopped() {
		c.stood += d
	} else {
		c.idle, c.hard, c.ran = c.idle-d, c.hard-d, c.ran+d
	}
	c.since = now
}

func (c *clock) arm() {
	if c.done {
		c.timer.Stop()
		return
	}
	c.timer.Reset(max(0, c.left()))
}

// left is how long the clock has until it runs out, as things stand. The set's
// lock is held.
func (c *clock) left() time.Duration {
	if c.stopped() {
		return c.set.still - c.stood
	}
	return min(c.idle, c.hard)
}

func (c *clock) ring() {
	c.set.mu.Lock()
	c.account()
	out := !c.done && c.left() <= 0
	if out {
		c.done = true
	} else {
		c.arm() // it rang while it was being stopped or renewed
	}
	c.set.mu.Unlock()
	if out {
		c.fire()
	}
}

// renew gives the clock its whole idle time again, never more than what is left
// of its hard one.
func (c *clock) renew() {
	c.set.mu.Lock()
	defer c.set.mu.Unlock()
	c.account()
	c.idle = c.idleMax
	c.arm()
}

// worn reports whether the clock ran out by standing still.
func (c *clock) worn() bool {
	c.set.mu.Lock()
	defer c.set.mu.Unlock()
	return c.done && c.stood >= c.set.still
}

// stop ends the clock and tells how long it ran.
func (c *clock) stop() time.Duration {
	c.set.mu.Lock()
	defer c.set.mu.Unlock()
	c.account()
	c.done = true
	c.timer.Stop()
	delete(c.set.running, c)
	return c.ran
}

// pause stops the clock of the request with that id, or, when there is none or
// id is "", all of them and those that are started meanwhile. resume undoes it.
func (s *clocks) pause(id string) (resume func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	counter := &s.paused
	if id != "" {
		for c := range s.running {
			if c.id == id {
				counter = &c.paused
			}
		}
	}
	s.shift(counter, 1)
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.shift(counter, -1)
	})
}

// shift changes a counter of pauses under all clocks. The lock is held.
func (s *clocks) shift(counter *int, by int) {
	for c := range s.running {
		c.account()
	}
	*counter += by
	for c := range s.running {
		c.arm()
	}
}
