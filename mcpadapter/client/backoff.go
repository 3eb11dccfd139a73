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
)

// backoff paces the attempts of one series of failures.
type backoff struct {
	n     int
	since time.Time
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
	case protocol.ClassIntegrity, protocol.ClassConfig, protocol.ClassUntrusted:
		return true
	default:
		return false
	}
}
