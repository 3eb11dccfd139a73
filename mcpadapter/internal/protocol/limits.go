package protocol

import (
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/protocol/tap"
)

// DefaultLimits are the limits that zero fields of Limits stand for.
func DefaultLimits() Limits {
	return Limits{
		JSONDepth:           64,
		JSONMembers:         200_000,
		CursorBytes:         4 << 10,
		PageBytes:           4 << 20,
		LogBytes:            8 << 10,
		ElicitMessageBytes:  4 << 10,
		ElicitSchemaBytes:   16 << 10,
		RequestStateBytes:   64 << 10,
		RoundTrips:          10,
		InputRequests:       8,
		QueuedNotifications: 1024,
		ConcurrentRequests:  8,
		MalformedFrames:     100,
		ElicitTimeout:       5 * time.Minute,
		ListenBackoff:       200 * time.Millisecond,
	}
}

// Bounds that are not settings, because nobody has a reason to change them.
const (
	defaultProbeTimeout = 3 * time.Second
	maxListenBackoff    = 30 * time.Second
	// listenSettled is how long a listen stream must have lived for its next
	// reopening to start from the shortest wait again.
	listenSettled = 10 * time.Second
	// maxSubscriptions bounds the resources that one session subscribes to.
	maxSubscriptions = 1024
	// subscribeWait is how long a subscription waits for the server to
	// acknowledge the listen stream that covers it.
	subscribeWait = 5 * time.Second
	// stateRetryWait is the first wait before a result that carries only a
	// requestState is retried; it doubles up to maxStateRetryWait.
	stateRetryWait    = 200 * time.Millisecond
	maxStateRetryWait = 5 * time.Second
	// maxRoundBytes bounds the input_required results of one logical call.
	maxRoundBytes = 1 << 20
	// maxURLBytes bounds a resource URI and the URL of an elicitation.
	maxURLBytes = 8 << 10
	// maxIDBytes bounds the id of a server's request, an elicitation id and a
	// method name.
	maxIDBytes = 1 << 10
	// maxBatch bounds the messages of one batch of 2025-03-26.
	maxBatch = 256
	// maxCapabilities bounds what a server declares of itself.
	maxCapabilities = 64 << 10
	// maxErrorDetail and maxErrorData bound what is kept of a remote error.
	maxErrorDetail = 8 << 10
	maxErrorData   = 256 << 10
	// progressQueue is how many progress notifications of one call wait.
	progressQueue = 64
	// replyQueue is how many answers to a server's requests wait to be sent.
	replyQueue = 256
	// closeBound is the longest Close waits for everything to end.
	closeBound = 8 * time.Second
	// stderrLines is how many lines of stderr a failed Connect quotes.
	stderrLines = 8
)

// withDefaults replaces zero and negative fields.
func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	for _, f := range []struct{ v, def *int }{
		{&l.JSONDepth, &d.JSONDepth}, {&l.JSONMembers, &d.JSONMembers},
		{&l.CursorBytes, &d.CursorBytes}, {&l.PageBytes, &d.PageBytes},
		{&l.LogBytes, &d.LogBytes}, {&l.ElicitMessageBytes, &d.ElicitMessageBytes},
		{&l.ElicitSchemaBytes, &d.ElicitSchemaBytes}, {&l.RequestStateBytes, &d.RequestStateBytes},
		{&l.RoundTrips, &d.RoundTrips}, {&l.InputRequests, &d.InputRequests},
		{&l.QueuedNotifications, &d.QueuedNotifications},
		{&l.ConcurrentRequests, &d.ConcurrentRequests}, {&l.MalformedFrames, &d.MalformedFrames},
	} {
		if *f.v <= 0 {
			*f.v = *f.def
		}
	}
	if l.ElicitTimeout <= 0 {
		l.ElicitTimeout = d.ElicitTimeout
	}
	if l.ListenBackoff <= 0 {
		l.ListenBackoff = d.ListenBackoff
	}
	return l
}

func (l Limits) bounds() tap.Bounds {
	return tap.Bounds{Depth: l.JSONDepth, Members: l.JSONMembers}
}
