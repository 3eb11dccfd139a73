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

// maxSubscriptions bounds the resources that one session subscribes to.
const maxSubscriptions = 1024

// listener keeps the stream of 2026-07-28 open over which list_changed and
// resource updates arrive. It is opened after connect, watched, and reopened
// with a growing wait; nothing else depends on it.
type listener struct {
	s       *Session
	changed chan struct{}

	mu   sync.Mutex
	uris []string
	// reopened says that the stream was open before, so that what happened in
	// between was missed.
	reopened bool
}

func newListener(s *Session) *listener {
	return &listener{s: s, changed: make(chan struct{}, 1)}
}

// run is the listener's goroutine.
func (l *listener) run() {
	s := l.s
	if !s.modern {
		return
	}
	wait := s.limits.ListenBackoff
	for s.ended() == nil {
		filter := l.filter()
		if filter == nil {
			if !l.idle(0) {
				return
			}
			continue
		}
		opened := time.Now()
		again, refused := l.stream(filter)
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

// stream opens the stream and stays until it ends. changed says that the
// filter did, refused that the server does not have the method.
func (l *listener) stream(filter json.RawMessage) (changed, refused bool) {
	s := l.s
	params, err := s.params(0, nil, member{"notifications", filter})
	if err != nil {
		return false, true
	}
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	var e *Error // set before over is closed
	over := make(chan struct{})
	if !s.work(func() {
		defer close(over)
		_, e = s.roundTrip(ctx, &slot{op: methodListen, method: methodListen, params: params, listen: true, aside: true}, true)
	}) {
		return false, false
	}
	select {
	case <-over:
		l.lost()
		return false, lacksListen(e)
	case <-l.changed:
		cancel()
		<-over
		l.lost()
		return true, false
	case <-s.done:
		return false, false
	}
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

// lost is called when the stream was open or was tried, and is not open.
func (l *listener) lost() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reopened = true
	l.s.cache.forget("") // a change may have been missed
}

// filter is what the stream asks for, nil for nothing.
func (l *listener) filter() json.RawMessage {
	l.mu.Lock()
	defer l.mu.Unlock()
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
		return nil
	}
	return append(out, '}')
}

// acknowledged is called by the pump when the server has opened the stream.
// After a gap every listing that the stream covers counts as stale.
func (l *listener) acknowledged() {
	l.mu.Lock()
	missed := l.reopened
	l.reopened = false
	l.mu.Unlock()
	if !missed {
		return
	}
	for _, fam := range []Family{Tools, Prompts, Resources, Templates} {
		if l.s.declared[fam] {
			l.s.changed(fam, true)
		}
	}
}

// Subscribe asks for updates of one resource; they arrive at
// Handlers.ResourceUpdated. On 2026-07-28 the listen stream is reopened with
// it, in the background.
func (s *Session) Subscribe(ctx context.Context, uri string) error {
	if len(uri) > maxURLBytes {
		return &Error{Class: ClassOverLimit, Op: "resources/subscribe", Message: "the URI is too long", Size: int64(len(uri)), Limit: maxURLBytes, Setting: settingFixed}
	}
	if !s.modern {
		_, err := s.logical(ctx, "resources/subscribe", member{"uri", quoted(uri)})
		return err
	}
	return s.listen.edit(func(uris []string) ([]string, *Error) {
		for _, u := range uris {
			if u == uri {
				return uris, nil
			}
		}
		if len(uris) >= maxSubscriptions {
			return uris, &Error{Class: ClassOverLimit, Op: "resources/subscribe", Message: "too many subscriptions", Size: int64(len(uris)) + 1, Limit: maxSubscriptions, Setting: settingFixed}
		}
		return append(uris, uri), nil
	})
}

// Unsubscribe ends a subscription.
func (s *Session) Unsubscribe(ctx context.Context, uri string) error {
	if !s.modern {
		_, err := s.logical(ctx, "resources/unsubscribe", member{"uri", quoted(uri)})
		return err
	}
	return s.listen.edit(func(uris []string) ([]string, *Error) {
		kept := make([]string, 0, len(uris))
		for _, u := range uris {
			if u != uri {
				kept = append(kept, u)
			}
		}
		return kept, nil
	})
}

// edit changes the subscribed resources and has the stream reopened.
func (l *listener) edit(change func([]string) ([]string, *Error)) error {
	if l.s.ended() != nil {
		return l.s.endedError(methodListen)
	}
	l.mu.Lock()
	before := len(l.uris)
	uris, e := change(l.uris)
	l.uris = uris
	l.mu.Unlock()
	if e != nil {
		return e
	}
	if len(uris) != before {
		select {
		case l.changed <- struct{}{}:
		default:
		}
	}
	return nil
}
