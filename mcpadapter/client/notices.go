package client

import (
	"sync"
	"time"
)

// The bounds of a server's influence on notices.
const (
	noticesPerCode = 20
	noticeWindow   = time.Minute
)

type verdict uint8

const (
	noticeHeld verdict = iota
	noticeShown
	noticeLast // shown, and the last of its kind in this window
)

// noticeLimit keeps a server from flooding the durable record with notices.
type noticeLimit struct {
	mu    sync.Mutex
	since map[string]time.Time
	count map[string]int
}

func (l *noticeLimit) allow(code string, now time.Time) verdict {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.since == nil {
		l.since, l.count = map[string]time.Time{}, map[string]int{}
	}
	if began, ok := l.since[code]; !ok || now.Sub(began) >= noticeWindow {
		l.since[code], l.count[code] = now, 0
	}
	l.count[code]++
	switch n := l.count[code]; {
	case n < noticesPerCode:
		return noticeShown
	case n == noticesPerCode:
		return noticeLast
	}
	return noticeHeld
}
