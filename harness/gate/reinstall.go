package gate

import (
	"strconv"
	"time"
)

// Resume lets a host go on where an earlier one ended: the next gate gets the
// number after last.
func (h *Host) Resume(last uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next = max(h.next, last)
}

// Reinstall puts a gate back that was open when its process ended, under its own
// id. Opened is not told: the gate's opening is on record. Its wait counts from
// now on, and so does its deadline.
func (h *Host) Reinstall(env Envelope) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return ErrHostClosed
	case h.kept[env.ID] != nil:
		return ErrGateClosed
	}
	if n, err := strconv.ParseUint(env.ID[min(1, len(env.ID)):], 10, 64); err == nil {
		h.next = max(h.next, n)
	}
	env.OpenedAt = h.o.Clock.Now().UTC()
	e := &entry{env: env, done: make(chan struct{})}
	h.open = append(h.open, e)
	h.kept[env.ID] = e
	if d := time.Duration(env.DeadlineMS) * time.Millisecond; d > 0 {
		e.stop = h.o.Clock.AfterFunc(d, func() { _ = h.Close(env.ID, ReasonTimedOut, "") })
	}
	if h.o.Answer != nil {
		h.ask(e)
	}
	return nil
}
