package mcpadapter

import (
	"fmt"
	"sync"

	"github.com/looprig/looprig/mcpadapter/client"
)

// meter counts what one binding's requests for the model use in this session. It
// belongs to the name: a server that is disabled, replaced or added again does
// not get a new budget.
type meter struct {
	mu       sync.Mutex
	spent    int
	reserved int // what requests in progress may still use
	running  int
}

// meter of a binding, the same for as long as the Manager lives.
func (m *Manager) meter(binding string) *meter {
	m.mu.Lock()
	defer m.mu.Unlock()
	mt := m.meters[binding]
	if mt == nil {
		mt = &meter{}
		m.meters[binding] = mt
	}
	return mt
}

// used are the tokens that were spent.
func (mt *meter) used() int {
	mt.mu.Lock()
	defer mt.mu.Unlock()
	return mt.spent
}

// enter admits a request that may use as many tokens as cost. settle ends it and
// books what it really used. Over a bound it fails with a *limitError, and
// nothing waits.
func (mt *meter) enter(p client.SamplingPolicy, cost int) (settle func(used int) (spent int), err error) {
	mt.mu.Lock()
	defer mt.mu.Unlock()
	if n := mt.running + 1; n > p.Concurrency {
		return nil, &limitError{"requests for the model at the same time", n, p.Concurrency, "sampling.concurrency"}
	}
	if n := mt.spent + mt.reserved + cost; n > p.TokenBudget {
		what := fmt.Sprintf("tokens of this session (%d used, this request could use %d)", mt.spent+mt.reserved, cost)
		return nil, &limitError{what, n, p.TokenBudget, "sampling.tokenBudget"}
	}
	mt.running++
	mt.reserved += cost
	var once sync.Once
	return func(used int) int {
		mt.mu.Lock()
		defer mt.mu.Unlock()
		once.Do(func() {
			mt.running--
			mt.reserved -= cost
			mt.spent += used
		})
		return mt.spent
	}, nil
}
