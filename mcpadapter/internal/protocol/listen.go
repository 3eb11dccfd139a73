package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

const methodListen = "subscriptions/listen"

// listener keeps the stream of 2026-07-28 open over which list_changed and
// resource updates arrive. It is opened after connect, watched, and reopened
// with a growing wait; nothing else depends on it.
type listener struct {
	s       *Session
	changed chan struct{}

	mu   sync.Mutex
	uris []string
	// edits numbers the states of the filter.
	edits uint64
	// open is the request of the present stream and opened the filter that it
	// was opened with; open is nil while there is no stream.
	open   *slot
	opened uint64
	// acked is the newest filter that the server acknowledged a stream for, and
	// honoured the resources that it agreed to report on it.
	acked    uint64
	honoured map[string]bool
	// failed is the newest filter that the server refused, and failure how.
	failed  uint64
	failure *Error
	// settled is closed, and replaced, when one of the above was found.
	settled chan struct{}
	// reopened says that the stream was open before, so that what happened in
	// between was missed.
	reopened bool
	// ackWait is how long a subscription waits; see subscribeWait.
	ackWait time.Duration
}

func newListener(s *Session) *listener {
	return &listener{s: s, changed: make(chan struct{}, 1), settled: make(chan struct{}), ackWait: subscribeWait}
}

// run is the listener's goroutine.
func (l *listener) run() {
	s := l.s
	if !s.modern {
		return
	}
	wait := s.limits.ListenBackoff
	for s.ended() == nil {
		filter, edits := l.filter()
		if filter == nil {
			if !l.idle(0) {
				return
			}
			continue
		}
		opened := time.Now()
		again, refused := l.stream(filter, edits)
		switch {
		case refused:
			s.mail.tolerate(toleratedNoListen, "")
			if !l.idle(0) {
				return
			}
		case again: // the filter changed
		default:
			if time.Since(opened) > listenSettled {
				wait = s.limits.ListenBackoff
			}
			if !l.idle(wait) {
				return
			}
			wait = min(2*wait, maxListenBackoff)
		}
	}
}

// idle waits for d, for ever if 0, or for a change of the filter; false says
// that the session has ended.
func (l *listener) idle(d time.Duration) bool {
	var after <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		after = timer.C
	}
	select {
	case <-after:
		return true
	case <-l.changed:
		return true
	case <-l.s.done:
		return false
	}
}

// stream opens the stream with a filter and stays until it ends. changed says
// that the filter did, refused that the server does not have the method.
func (l *listener) stream(filter json.RawMessage, edits uint64) (changed, refused bool) {
	s := l.s
	params, err := s.params(0, nil, member{"notifications", filter})
	if err != nil {
		return false, true
	}
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	var e *Error // set before over is closed
	over := make(chan struct{})
	sl := &slot{op: methodListen, method: methodListen, params: params, listen: true, aside: true}
	l.opening(sl, edits)
	if !s.work(func() {
		defer close(over)
		_, e = s.roundTrip(ctx, sl, true)
	}) {
		return false, false
	}
	select {
	case <-over:
		l.lost(e)
		return false, lacksListen(e)
	case <-l.changed:
		cancel()
		<-over
		l.lost(nil)
		return true, false
	case <-s.done:
		return false, false
	}
}

func (l *listener) opening(sl *slot, edits uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open, l.opened = sl, edits
}

// lacksListen says whether the server does not have the stream at all.
func lacksListen(e *Error) bool {
	var status *wire.StatusError
	if e == nil {
		return false
	}
	if errors.As(e, &status) {
		return status.Status == 404 || status.Status == 405
	}
	return e.Code == CodeMethodNotFound
}

// lost is called when the stream was open or was tried, and is not open. A
// server that answers with an error before it acknowledged the stream has
// refused what was asked of it; e is nil when we gave the stream up.
func (l *listener) lost(e *Error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e != nil && l.acked < l.opened && (e.Class == ClassRemote || lacksListen(e)) {
		l.failed, l.failure = l.opened, e
		l.settle()
	}
	l.open = nil
	l.reopened = true
	l.s.cache.forget("") // a change may have been missed
}

// settle wakes those who wait for what became of a filter. The lock is held.
func (l *listener) settle() {
	close(l.settled)
	l.settled = make(chan struct{})
}

// filter is what the stream asks for, nil for nothing, and its number. Changes
// that are in it are not told of again.
func (l *listener) filter() (json.RawMessage, uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.changed:
	default:
	}
	out := []byte{'{'}
	if l.s.handlers.ListChanged != nil {
		for _, f := range []struct {
			fam  Family
			name string
		}{{Tools, "toolsListChanged"}, {Prompts, "promptsListChanged"}, {Resources, "resourcesListChanged"}} {
			if l.s.declared[f.fam] {
				out, _ = appendMember(out, member{f.name, []byte("true")})
			}
		}
	}
	if len(l.uris) > 0 {
		list := []byte{'['}
		for i, uri := range l.uris {
			if i > 0 {
				list = append(list, ',')
			}
			list = append(list, quoted(uri)...)
		}
		out, _ = appendMember(out, member{"resourceSubscriptions", append(list, ']')})
	}
	if len(out) == 1 {
		return nil, l.edits
	}
	return append(out, '}'), l.edits
}
