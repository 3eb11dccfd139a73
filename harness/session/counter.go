package session

import (
	"sync"

	"github.com/looprig/looprig/harness/event"
)

// counter keeps a session's coverage.
type counter struct {
	mu sync.Mutex
	c  event.Coverage
}

func (k *counter) add(f func(*event.Coverage)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f(&k.c)
}

func (k *counter) snapshot() event.Coverage {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.c
}
