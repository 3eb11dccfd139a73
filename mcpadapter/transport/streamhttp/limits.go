package streamhttp

import (
	"math/rand/v2"
	"time"
)

// Bounds that are not settings, because nobody has a reason to change them.
const (
	// maxSessionID bounds the session id that a server hands out.
	maxSessionID = 4 << 10
	// maxParamBytes bounds an argument that is repeated in a header; servers
	// refuse larger headers.
	maxParamBytes = 8 << 10
	// maxErrorBody bounds the JSON-RPC error behind a status of 400 and more.
	maxErrorBody = 512 << 10
	// inboundFrames is how many frames wait for Read. Each may be as large as the
	// limit, so they are few.
	inboundFrames = 2
	// maxAside bounds the notifications and answers that are being sent at once.
	maxAside = 8
	// maxRemarks bounds the warnings that are kept.
	maxRemarks = 16
	// maxGarbage bounds the events of one connection that are not JSON before a
	// stream that brings one is given up.
	maxGarbage = 100
	// maxResumes bounds the attempts to resume a stream that bring nothing new.
	maxResumes = 5
	// maxRetryAfter bounds what a status may ask to wait.
	maxRetryAfter = time.Hour
)

// timing holds the waits, so that tests need not sit through them.
type timing struct {
	// backoff is the first wait before a stream is opened again; it doubles up
	// to maxBackoff, and starts anew after a stream that lived for settled.
	backoff, maxBackoff, settled time.Duration
	// minRetry is the least wait that a server's retry is taken for.
	minRetry time.Duration
	// aside bounds the sending of a notification or an answer.
	aside time.Duration
	// goodbye bounds the DELETE that ends a session.
	goodbye time.Duration
	// standing is how long requests are held back for the standing stream to be
	// open: what the server asks meanwhile would be lost.
	standing time.Duration
}

var standardTiming = timing{
	backoff: 200 * time.Millisecond, maxBackoff: 30 * time.Second, settled: 10 * time.Second,
	minRetry: 100 * time.Millisecond, aside: 10 * time.Second, goodbye: time.Second, standing: 300 * time.Millisecond,
}

// jittered spreads a wait over its upper half.
func jittered(d time.Duration) time.Duration {
	return d/2 + rand.N(d/2+1) //nolint:gosec // spreads load, is no secret
}

// asked keeps a server's wish for a wait within bounds.
func (t timing) asked(d time.Duration) time.Duration {
	return min(max(d, t.minRetry), t.maxBackoff)
}
