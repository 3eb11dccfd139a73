package protocol

import (
	"encoding/json"
	"sync"
	"time"
)

// ring is a bounded queue that drops its oldest element when full.
type ring[T any] struct {
	buf   []T
	head  int
	limit int
}

func (r *ring[T]) push(v T) (dropped bool) {
	if len(r.buf)-r.head >= r.limit {
		var zero T
		r.buf[r.head] = zero
		r.head++
		dropped = true
	}
	if r.head > r.limit {
		r.buf = append(r.buf[:0], r.buf[r.head:]...)
		r.head = 0
	}
	r.buf = append(r.buf, v)
	return dropped
}

func (r *ring[T]) empty() bool { return r.head == len(r.buf) }

func (r *ring[T]) pop() (v T, ok bool) {
	if r.head == len(r.buf) {
		return v, false
	}
	var zero T
	v, r.buf[r.head] = r.buf[r.head], zero
	r.head++
	if r.head == len(r.buf) {
		r.buf, r.head = r.buf[:0], 0
	}
	return v, true
}

// logEntry is a log message, or the frame of one that nobody has parsed yet.
type logEntry struct {
	frame         []byte
	level, logger string
	data          json.RawMessage
}

type refusal struct{ method, reason, detail string }

// mailbox holds what is to be told to the handlers. There is one bounded queue
// per class, so a flood of one class displaces nothing of another. One
// goroutine delivers.
type mailbox struct {
	mu        sync.Mutex
	wake      chan struct{}
	logs      ring[logEntry]
	updates   ring[string]
	completes ring[string]
	refused   ring[refusal]
	counts    map[string]int
	tolerated map[string]string
	told      map[string]bool
	rate      rate // of logs
}

// logsPerSecond is how many log messages of a server are told; as many may come
// at once. The newest wait in the queue: nobody reads more, and telling them
// would take the processor from those who wait for an answer.
const logsPerSecond = 1000

// rate lets a number of things pass, and some more each second.
type rate struct {
	left int
	at   time.Time
}

// take is false when none may pass now.
func (r *rate) take(now time.Time) bool {
	if r.at.IsZero() {
		r.left, r.at = logsPerSecond, now
	}
	if n := int(now.Sub(r.at) * logsPerSecond / time.Second); n > 0 {
		r.left, r.at = min(r.left+n, logsPerSecond), now
	}
	if r.left == 0 {
		return false
	}
	r.left--
	return true
}

// logPause is how long log messages wait that may not pass yet.
const logPause = 20 * time.Millisecond

// nextLog takes the oldest log message, if it may pass. The lock is held.
func (m *mailbox) nextLog() (logEntry, bool) {
	if m.logs.empty() || !m.rate.take(time.Now()) {
		return logEntry{}, false
	}
	return m.logs.pop()
}

// logsWait reports whether log messages wait for their turn.
func (m *mailbox) logsWait() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.logs.empty()
}

// maxRefusals bounds the refusals that wait to be told.
const maxRefusals = 64

func newMailbox(limit int) *mailbox {
	return &mailbox{
		wake:      make(chan struct{}, 1),
		logs:      ring[logEntry]{limit: limit},
		updates:   ring[string]{limit: limit},
		completes: ring[string]{limit: limit},
		refused:   ring[refusal]{limit: maxRefusals},
		counts:    map[string]int{},
		tolerated: map[string]string{},
		told:      map[string]bool{},
	}
}

// put changes the mailbox under its lock and wakes the deliverer.
func (m *mailbox) put(change func()) {
	m.mu.Lock()
	change()
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

func (m *mailbox) count(code string, n int) {
	m.put(func() { m.counts[code] += n })
}

// tolerate reports each code once in a session.
func (m *mailbox) tolerate(code, detail string) {
	m.mu.Lock()
	seen := m.told[code]
	m.mu.Unlock()
	if !seen {
		m.put(func() { m.told[code], m.tolerated[code] = true, detail })
	}
}

func (m *mailbox) log(e logEntry) {
	m.put(func() {
		if m.logs.push(e) {
			m.counts[droppedLog]++
		}
	})
}

func (m *mailbox) updated(uri string) {
	m.put(func() {
		if m.updates.push(uri) {
			m.counts[droppedUpdate]++
		}
	})
}

func (m *mailbox) completed(id string) {
	m.put(func() {
		if m.completes.push(id) {
			m.counts[droppedComplete]++
		}
	})
}

func (m *mailbox) refuse(r refusal) {
	m.put(func() { m.refused.push(r) })
}

// run delivers until the session ends, and then the counters once more.
func (m *mailbox) run(s *Session) {
	pause := time.NewTimer(logPause)
	defer pause.Stop()
	for {
		select {
		case <-m.wake:
		case <-pause.C:
		case <-s.done:
			m.deliverCounts(s)
			return
		}
		m.drain(s)
		if m.logsWait() {
			pause.Reset(logPause)
		}
	}
}

// drain delivers in rounds of at most one element per class.
func (m *mailbox) drain(s *Session) {
	for s.ended() == nil {
		m.deliverCounts(s)
		if !m.deliverRound(s) {
			return
		}
	}
}

func (m *mailbox) deliverRound(s *Session) bool {
	h := &s.handlers
	m.mu.Lock()
	id, hasID := m.completes.pop()
	uri, hasURI := m.updates.pop()
	entry, hasLog := m.nextLog()
	refused, hasRefused := m.refused.pop()
	m.mu.Unlock()
	if hasID && h.ElicitComplete != nil {
		s.guarded(func() { h.ElicitComplete(id) })
	}
	if hasURI && h.ResourceUpdated != nil {
		s.guarded(func() { h.ResourceUpdated(uri) })
	}
	if hasLog {
		s.deliverLog(entry)
	}
	if hasRefused && h.Refused != nil {
		s.guarded(func() { h.Refused(refused.method, refused.reason, refused.detail) })
	}
	return hasID || hasURI || hasLog || hasRefused
}

func (m *mailbox) deliverCounts(s *Session) {
	m.mu.Lock()
	counts, tolerated := takeAll(&m.counts), takeAll(&m.tolerated)
	m.mu.Unlock()
	for code, n := range counts {
		if s.handlers.Dropped != nil {
			s.guarded(func() { s.handlers.Dropped(code, n) })
		}
	}
	for code, detail := range tolerated {
		if s.handlers.Tolerated != nil {
			s.guarded(func() { s.handlers.Tolerated(code, detail) })
		}
	}
}

// takeAll empties a map and returns what it held, nil for nothing; the caller
// holds the lock and owns the result.
func takeAll[K comparable, V any](m *map[K]V) map[K]V {
	if len(*m) == 0 {
		return nil
	}
	taken := *m
	*m = make(map[K]V, len(taken))
	return taken
}

// guarded calls a handler under recover.
func (s *Session) guarded(f func()) {
	defer s.recovered(nil)
	f()
}
