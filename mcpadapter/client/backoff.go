package client

import (
	"math/rand/v2"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/protocol"
)

// The pace of retries: full jitter, doubling, then a heartbeat.
const (
	backoffFirst     = 200 * time.Millisecond
	backoffMax       = 30 * time.Second
	backoffPatience  = 2 * time.Minute
	backoffHeartbeat = 5 * time.Minute
	// backoffStable is how long a connection must have lived for its loss to
	// begin a new series.
	backoffStable = 30 * time.Second
	// maxRetryAfter bounds the pause that a server can ask for.
	maxRetryAfter = 5 * time.Minute
)

// backoff paces the attempts of one series of failures.
type backoff struct {
	n       int
	since   time.Time
	hurried bool
}

// hurry is true once in a series: a session that has expired is begun anew
// without waiting, one that expires again and again is not.
func (b *backoff) hurry() bool {
	first := !b.hurried && b.n == 0
	b.hurried = true
	return first
}

// after is next, or the pause that the server asks for when that is longer, up
// to maxRetryAfter.
func (b *backoff) after(now time.Time, asked time.Duration) time.Duration {
	return max(b.next(now), min(asked, maxRetryAfter))
}

// next is how long to wait after a failure at now.
func (b *backoff) next(now time.Time) time.Duration {
	if b.since.IsZero() {
		b.since = now
	}
	if b.impatient(now) {
		return backoffHeartbeat
	}
	top := backoffMax
	if b.n < 8 {
		top = min(backoffMax, backoffFirst<<b.n)
	}
	b.n++
	return 1 + rand.N(top) //nolint:gosec // jitter needs no secrecy
}

func (b *backoff) impatient(now time.Time) bool {
	return !b.since.IsZero() && now.Sub(b.since) > backoffPatience
}

// hopeless reports failures that another try cannot mend: only a person can.
func hopeless(class Class) bool {
	switch class {
	case protocol.ClassIntegrity, protocol.ClassConfig, protocol.ClassUntrusted, protocol.ClassAuth:
		return true
	default:
		return false
	}
}
