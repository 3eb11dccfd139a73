package session

import (
	"fmt"

	"github.com/looprig/looprig/harness/event"
)

// deliver hands durable records to every subscription.
func (h *hub) deliver(recs []event.Record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, rec := range recs {
		h.delivered = rec.Event.Head().Seq
		h.remember(rec.Event)
		for s := range h.subs {
			s.push(rec)
		}
	}
}

// wanted reports that somebody takes ephemeral events.
func (h *hub) wanted() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subs {
		if s.filter.Ephemeral {
			return !h.closing
		}
	}
	return false
}

// ephemeral delivers an event that is not journaled. It is encoded without the
// lock, so that a flood of such events does not keep the journal waiting.
func (h *hub) ephemeral(e event.Event) error {
	if !h.wanted() {
		return nil
	}
	head := e.Head()
	head.Seq, head.Time, head.Session = 0, h.clock.Now(), h.session
	line, err := event.Encode(e)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subs {
		if s.filter.Ephemeral && !h.closing {
			s.push(event.Record{Event: e, Line: line})
		}
	}
	return nil
}

// end tells subscriptions that nothing more comes.
func (h *hub) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closing = true
	if h.flush != nil {
		h.flush.Stop()
		h.flush = nil
	}
	for s := range h.subs {
		s.finish()
	}
	answer(h.queue, ErrClosed)
	h.queue = nil
	h.space.Broadcast()
	close(h.done)
}

// droppedEvents counts the ephemeral events that subscribers did not get.
func (h *hub) droppedEvents() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := h.dropped
	for s := range h.subs {
		n += s.Dropped()
	}
	return n
}

func (h *hub) subscribe(f Filter) (*Subscription, error) {
	if f.Buffer <= 0 {
		f.Buffer = DefaultBuffer
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &Subscription{hub: h, filter: f, next: f.FromSeq, seen: h.delivered, wake: make(chan struct{}, 1)}
	if f.FromSeq == 0 {
		s.next = h.delivered + 1
	}
	s.behind = s.next <= s.seen
	if h.closing {
		select {
		case <-h.done:
			return nil, fmt.Errorf("subscribe: %w", ErrClosed)
		default:
		}
	}
	if h.err != nil {
		s.lose(h.delivered+1, h.err)
	}
	h.subs[s] = struct{}{}
	return s, nil
}

func (h *hub) unsubscribe(s *Subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.subs[s]; ok {
		h.dropped += s.Dropped()
		delete(h.subs, s)
	}
}
