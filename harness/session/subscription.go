package session

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/looprig/looprig/harness/event"
)

// Subscription delivers records to one consumer. Durable events come in order
// and without gaps: those that found no room in the buffer are read again from
// the journal.
type Subscription struct {
	hub    *hub
	filter Filter
	wake   chan struct{} // capacity 1

	mu        sync.Mutex
	durable   []arrived
	ephemeral []arrived
	arrivals  uint64
	next      uint64 // the next durable event to take into the buffer
	seen      uint64 // the newest durable event that there is
	behind    bool   // next is in the journal, not on its way
	dropped   uint64
	finished  bool // nothing more comes
	closed    bool
	lossFrom  uint64 // with lossErr: everything before it can still be had
	lossErr   error
}

// arrived is a record with its place among both classes.
type arrived struct {
	at  uint64
	rec event.Record
}

var errGap = errors.New("the journal has a gap")

// push takes a record without ever blocking. The hub calls it in order.
func (s *Subscription) push(rec event.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rec.Durable {
		s.pushDurable(rec)
	} else {
		if len(s.ephemeral) >= s.filter.Buffer {
			s.ephemeral = s.ephemeral[1:]
			s.dropped++
		}
		s.ephemeral = append(s.ephemeral, s.stamp(rec))
	}
	s.signal()
}

func (s *Subscription) pushDurable(rec event.Record) {
	seq := rec.Event.Head().Seq
	s.seen = seq
	switch {
	case seq < s.next || s.behind:
	case seq > s.next || len(s.durable) >= s.filter.Buffer:
		s.behind = true
	default:
		s.durable = append(s.durable, s.stamp(rec))
		s.next++
	}
}

func (s *Subscription) stamp(rec event.Record) arrived {
	s.arrivals++
	return arrived{at: s.arrivals, rec: rec}
}

func (s *Subscription) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// lose says that durable events from a sequence number on will not come.
func (s *Subscription) lose(from uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lossErr == nil {
		s.lossFrom, s.lossErr = from, err
	}
	s.signal()
}

func (s *Subscription) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finished = true
	s.signal()
}

// Next waits for the next record. It returns io.EOF after the session's last
// one and a *LossError when durable events cannot be delivered. One goroutine
// calls it.
func (s *Subscription) Next(ctx context.Context) (event.Record, error) {
	for {
		rec, state := s.poll()
		switch state {
		case pollRecord:
			return rec, nil
		case pollEnd:
			return event.Record{}, io.EOF
		case pollBehind:
			if err := s.catchUp(ctx); err != nil {
				return event.Record{}, err
			}
			continue
		case pollLost:
			return event.Record{}, s.loss()
		case pollEmpty:
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return event.Record{}, ctx.Err()
		}
	}
}

type pollState int

const (
	pollEmpty pollState = iota
	pollRecord
	pollBehind
	pollLost
	pollEnd
)

func (s *Subscription) poll() (event.Record, pollState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return event.Record{}, pollEnd
	case len(s.durable) == 0 && s.behind:
		return event.Record{}, pollBehind
	case len(s.durable) > 0 && (len(s.ephemeral) == 0 || s.durable[0].at < s.ephemeral[0].at):
		rec := s.durable[0].rec
		s.durable = s.durable[1:]
		return rec, pollRecord
	case len(s.ephemeral) > 0:
		rec := s.ephemeral[0].rec
		s.ephemeral = s.ephemeral[1:]
		return rec, pollRecord
	case s.lossErr != nil:
		return event.Record{}, pollLost
	case s.finished:
		return event.Record{}, pollEnd
	}
	return event.Record{}, pollEmpty
}

func (s *Subscription) loss() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &LossError{From: s.lossFrom, Err: s.lossErr}
}

// catchUp reads what the buffer had no room for, a buffer's worth at a time.
func (s *Subscription) catchUp(ctx context.Context) error {
	s.mu.Lock()
	from := s.next
	s.mu.Unlock()
	recs, err := s.read(ctx, from)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rec := range recs {
		s.durable = append(s.durable, s.stamp(rec))
		s.next++
	}
	s.behind = s.next <= s.seen
	if err == nil && s.behind && len(recs) == 0 {
		err = errGap
	}
	if err != nil {
		s.behind = false
		s.lossFrom, s.lossErr = s.next, err
	}
	return nil
}

// read returns records of the journal, and an error after the last good one.
func (s *Subscription) read(ctx context.Context, from uint64) ([]event.Record, error) {
	var recs []event.Record
	for rec, err := range s.hub.store.Read(ctx, s.hub.session, from) {
		if err != nil {
			return recs, err
		}
		if rec.Seq != from+uint64(len(recs)) {
			return recs, errGap
		}
		e, err := event.Decode(rec.Line)
		if err != nil {
			return recs, err
		}
		recs = append(recs, event.Record{Event: e, Line: rec.Line, Durable: true})
		if len(recs) >= s.filter.Buffer {
			break
		}
	}
	return recs, nil
}

// Dropped counts the ephemeral events that this subscription lost.
func (s *Subscription) Dropped() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropped
}

// Close ends the subscription: Next returns io.EOF.
func (s *Subscription) Close() {
	s.hub.unsubscribe(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.durable, s.ephemeral = nil, nil
	s.signal()
}
