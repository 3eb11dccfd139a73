package session

import (
	"slices"
	"sync"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/model"
)

// usageBook keeps what a session has used, by model. It is safe for concurrent
// use: the loops of a session, delegates too, write into one.
type usageBook struct {
	mu sync.Mutex
	by []event.ModelUsage
}

func (b *usageBook) add(name, purpose string, u event.Usage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.by = addModelUsage(b.by, name, purpose, u)
}

func (b *usageBook) snapshot() []event.ModelUsage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.by)
}

// Usage is what the models of the session's loops have reported since it began,
// in the order of their first messages: one entry for each model and currency,
// and others for what servers had a model write.
// It goes on over a restart; a fork begins anew.
func (s *Session) Usage() []event.ModelUsage { return s.used.snapshot() }

// Usage is as Session.Usage.
func (p *Past) Usage() []event.ModelUsage { return slices.Clone(p.p.Usage) }

// addModelUsage adds what one message used. A message without any is no message
// of a model that counts.
func addModelUsage(by []event.ModelUsage, name, purpose string, u event.Usage) []event.ModelUsage {
	if u == (event.Usage{}) {
		return by
	}
	i := slices.IndexFunc(by, func(m event.ModelUsage) bool {
		return m.Model == name && m.Purpose == purpose && m.Currency == u.Currency
	})
	if i < 0 {
		by = append(by, event.ModelUsage{Model: name, Purpose: purpose})
		i = len(by) - 1
	}
	by[i].Messages++
	by[i].Usage = sumOf(by[i].Usage, u)
	return by
}

// priced adds to a usage what it costs by the configured price.
func (t *turn) priced(u event.Usage) event.Usage { return Priced(t.model.Info(), u) }

// Priced is a usage with what it costs by the price of a model, if it has one.
func Priced(info model.Info, u event.Usage) event.Usage {
	p := info.Price
	if p == nil || u == (event.Usage{}) {
		return u
	}
	u.CostMicro, u.Currency = int64(p.Cost(u.Input, u.CacheRead, u.CacheWrite, u.Output)), p.Currency
	return u
}

func addUsage(u *event.Usage, c model.Chunk) {
	u.Input += c.InputTokens
	u.Output += c.OutputTokens
	u.CacheRead += c.CacheReadTokens
	u.CacheWrite += c.CacheWriteTokens
	u.Reasoning += c.ReasoningTokens
}
