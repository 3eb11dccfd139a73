package protocol

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// legacyPlan negotiates an older revision by initialize.
func legacyPlan(offer string) plan { return plan{offer: offer, accept: legacy} }

// probe tries server/discover, then initialize.
func (c *connector) probe(ctx context.Context) (*Session, *Error) {
	s, h, e := c.attempt(ctx, plan{
		offer: Revision20260728, accept: legacy, reuse: c.kind == kindStdio, probe: c.probeTime(ctx),
	})
	if e == nil {
		if refused, _, _ := h.refusal(); refused != nil {
			s.info.ProbeFailed = refused.Reason()
		}
		return s, nil
	}
	if !c.worthRetry(ctx, e, h) {
		return nil, e
	}
	offer := h.fallback()
	if offer == "" {
		return nil, e
	}
	s, _, again := c.attempt(ctx, legacyPlan(offer))
	if again != nil {
		return nil, noEndpoint(e, again)
	}
	s.info.ProbeFailed, s.info.ProbeSilent = e.Reason(), silent(e)
	return s, nil
}

// silent says whether a probe failed without an answer of the server, which may
// be slow to start or have died of something else.
func silent(e *Error) bool {
	return e.Class == ClassTimeout || e.Class == ClassLost || e.Class == ClassNoise
}

// probeTime leaves at least half of the caller's time to initialize. A server
// that is known to speak the newest revision is given all of the other half:
// it may be slow to start, and starting it again would not help.
func (c *connector) probeTime(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return c.opt.ProbeTimeout
	}
	half := time.Until(deadline) / 2
	if c.opt.KnownRevision != Revision20260728 {
		half = min(half, c.opt.ProbeTimeout)
	}
	return max(half, time.Millisecond)
}

// worthRetry says whether a fresh connection may fare better.
func (c *connector) worthRetry(ctx context.Context, e *Error, h *handshake) bool {
	if h == nil || ctx.Err() != nil {
		return false
	}
	if _, _, none := h.refusal(); none {
		return false
	}
	switch e.Class {
	case ClassCancelled, ClassClosed, ClassPanic, ClassLaunch, ClassIntegrity, ClassUntrusted, ClassConfig, ClassAuth, ClassRefused:
		return false
	case ClassLost:
		// A process may have died of the question. Over the network nobody was
		// there, and asking otherwise does not help.
		return c.kind == kindStdio
	case ClassHTTP:
		return olderEra(e)
	default:
		return true
	}
}

// olderEra says whether a status is how a server that knows only older
// revisions, or a fault of it, may answer a request that it does not know.
func olderEra(e *Error) bool {
	var status *wire.StatusError
	if !errors.As(e, &status) {
		return false
	}
	switch status.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotAcceptable,
		http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity,
		http.StatusInternalServerError, http.StatusNotImplemented:
		return true
	}
	return false
}

// noEndpoint tells an endpoint that answered both handshakes with statuses or
// pages from a server that fails.
func noEndpoint(first, again *Error) *Error {
	var status *wire.StatusError
	foreign := first.Class == ClassHTTP || first.Class == ClassEndpoint
	if foreign && again.Class == ClassHTTP && olderEra(again) && errors.As(again, &status) && status.Status < 500 {
		again.Class = ClassEndpoint
		again.Message = "what answered does not speak MCP: " + again.Message
	}
	return again
}
