package protocol

import (
	"bytes"
	"encoding/json"
	"sync"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// slot is one outgoing request: what is sent for it and what came back. The
// SDK allots the id and tracks the request; the slot travels to the bridge in
// the context and holds the bytes that count.
type slot struct {
	op     string
	method string
	params json.RawMessage
	// name, headers and offer are told to the transport; see wire.Outgoing.
	// offer is the revision of a request of the handshake.
	name    string
	headers []wire.Param
	offer   string
	// before runs after the request was admitted and before it is written.
	before func()
	// accept, set for the handshake, examines a result and returns what the
	// SDK is given in its place.
	accept func(result json.RawMessage) (stub json.RawMessage, err *Error)
	// token is the progress token, 0 for none.
	token    int64
	progress chan Progress
	// quiet suppresses notifications/cancelled.
	quiet bool
	// listen marks the long-lived stream request, to which an answer without
	// an id is never attributed.
	listen bool
	// aside marks requests that never cause an elicitation: the listen stream
	// and pings.
	aside bool

	// Guarded by the table's mutex.
	id       int64
	sent     bool
	answered bool
	result   json.RawMessage
	err      *Error
	last     float64
}

// table maps ids to the requests that wait for them.
type table struct {
	mu      sync.Mutex
	waiting map[int64]*slot
	tokens  map[int64]*slot
	highest int64
	// gone remembers requests that were given up, so that their late replies
	// are told from double ones.
	// The value says that one is of no note: the end of a stream that was closed
	// to open another.
	gone map[int64]bool
	// questions are the elicitations of a server that wait for the calls in
	// flight when they arrived: when the last of these is over, so are they.
	questions map[*question]struct{}
}

// question is an elicitation and the requests that may have caused it.
type question struct {
	causes map[int64]struct{}
	moot   func()
}

// maxGone bounds the memory of given-up requests.
const maxGone = 1024

func newTable() *table {
	return &table{waiting: map[int64]*slot{}, tokens: map[int64]*slot{}, gone: map[int64]bool{}, questions: map[*question]struct{}{}}
}

// register makes the slot findable under the id; the request counts as sent
// from now on, because the write that follows may get through in part.
func (t *table) register(id int64, sl *slot) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sl.id, sl.sent = id, true
	t.waiting[id] = sl
	if sl.token != 0 {
		t.tokens[sl.token] = sl
	}
	t.highest = max(t.highest, id)
}

// finish removes the slot and returns what it got.
func (t *table) finish(sl *slot) (result json.RawMessage, err *Error, answered, sent bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if sl.sent && !sl.answered {
		if len(t.gone) >= maxGone {
			clear(t.gone)
		}
		t.gone[sl.id] = sl.listen
	}
	if t.waiting[sl.id] == sl {
		delete(t.waiting, sl.id)
	}
	delete(t.tokens, sl.token)
	if sl.sent {
		t.over(sl.id)
	}
	return sl.result, sl.err, sl.answered, sl.sent
}

// sentAs is the id of a request that was sent.
func (t *table) sentAs(sl *slot) (id int64, sent bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return sl.id, sl.sent
}

// failure is how the request failed, nil when it did not or is not over.
func (t *table) failure(sl *slot) *Error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return sl.err
}

// lookup finds the waiting request with an id.
func (t *table) lookup(id int64) *slot {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waiting[id]
}

// sole returns the only request that waits, not counting listen streams.
func (t *table) sole() *slot {
	t.mu.Lock()
	defer t.mu.Unlock()
	var found *slot
	for _, sl := range t.waiting {
		switch {
		case sl.listen:
		case found != nil:
			return nil
		default:
			found = sl
		}
	}
	return found
}

// answer records the outcome of a request once; false says that it had one.
func (t *table) answer(sl *slot, result json.RawMessage, err *Error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if sl.answered || t.waiting[sl.id] != sl {
		return false
	}
	sl.answered = true
	sl.result = bytes.Clone(result)
	sl.err = err
	delete(t.waiting, sl.id)
	return true
}

// stray names what an answer to an id is for which nothing waits; "" is nothing
// of note.
func (t *table) stray(id int64) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if quiet, ok := t.gone[id]; ok {
		delete(t.gone, id)
		if quiet {
			return ""
		}
		return droppedLate
	}
	if id >= 1 && id <= t.highest {
		return droppedDouble
	}
	return droppedUnknownID
}

// report queues one progress notification for the call with the token. It
// returns the code under which the notification is to be counted when it was
// not queued or displaced another one.
func (t *table) report(token int64, p Progress) (dropped string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	sl := t.tokens[token]
	switch {
	case sl == nil || sl.answered:
		return droppedProgressToken
	case p.Progress < sl.last:
		return droppedProgressValue
	}
	sl.last = p.Progress
	select {
	case sl.progress <- p:
		return ""
	default:
	}
	select {
	case <-sl.progress:
	default:
	}
	select {
	case sl.progress <- p:
	default:
	}
	return droppedProgressFull
}

// wantsCancel says whether the server is to be told that the request was given
// up: it was sent, is not part of the handshake and was not answered.
func (t *table) wantsCancel(sl *slot) (id int64, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return sl.id, sl.sent && !sl.answered && !sl.quiet
}

// caused ties an elicitation to the requests in flight; moot runs once when
// they are all over, and not at all when there are none now. The returned
// function unties it.
func (t *table) caused(moot func()) (untie func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	q := &question{causes: map[int64]struct{}{}, moot: moot}
	for id, sl := range t.waiting {
		if !sl.aside {
			q.causes[id] = struct{}{}
		}
	}
	if len(q.causes) == 0 {
		return func() {}
	}
	t.questions[q] = struct{}{}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.questions, q)
	}
}

// over is called under the lock when a request is finished.
func (t *table) over(id int64) {
	for q := range t.questions {
		if _, ok := q.causes[id]; !ok {
			continue
		}
		if delete(q.causes, id); len(q.causes) == 0 {
			delete(t.questions, q)
			q.moot()
		}
	}
}
