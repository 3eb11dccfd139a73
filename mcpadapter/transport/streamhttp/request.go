package streamhttp

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/httpguard"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// flight is one request on its way: the POST, the answer, and where the stream
// breaks off before it, its resumption.
type flight struct {
	c       *Conn
	ctx     context.Context // ends when the request is forgotten
	out     wire.Outgoing
	session string // that the request carries

	lastEvent string // the last event id of the stream, "" for none
	retry     time.Duration
}

// request starts a flight.
func (c *Conn) request(out wire.Outgoing) error {
	ctx, cancel := context.WithCancel(c.ctx)
	f := &flight{c: c, ctx: ctx, out: out}
	c.mu.Lock()
	c.flights[out.ID] = cancel
	if out.Method != methodInitialize {
		f.session = c.session
	}
	c.mu.Unlock()
	if !c.spawn(func() {
		defer c.Forget(out.ID)
		f.fly()
	}) {
		c.Forget(out.ID)
		return c.reason()
	}
	return nil
}

func (f *flight) fly() {
	f.c.awaitStanding(f.ctx)
	header, err := postHeader(f.out, f.session)
	if err != nil {
		f.fail(false, err)
		return
	}
	resp, err := f.c.client.Do(f.ctx, httpguard.Request{
		Method: http.MethodPost, Header: header, Body: f.out.Frame, HeaderTimeout: f.headerTimeout(),
	})
	if err != nil {
		f.unanswered(err)
		return
	}
	defer resp.Body.Close()
	if resp.Status >= 200 && resp.Status < 300 {
		f.success(resp)
		return
	}
	f.refusal(resp)
}

// headerTimeout bounds the handshake and the opening of streams. Any other
// answer may come, headers and all, when the work is done: how long that may
// take is for the caller to say, who forgets the request then.
func (f *flight) headerTimeout() time.Duration {
	if f.out.Stream || f.out.Method == methodInitialize || f.out.Method == methodDiscover {
		return 0
	}
	return httpguard.NoTimeout
}

// fail ends the request without an answer.
func (f *flight) fail(sent bool, err error) {
	if f.ctx.Err() == nil {
		f.c.deliver(wire.Frame{Failure: &wire.Failure{ID: f.out.ID, Sent: sent, Err: err}})
	}
}

// unanswered ends the request, and the connection where the server is gone.
func (f *flight) unanswered(err error) {
	if f.ctx.Err() != nil {
		return
	}
	e := asExchange(err)
	if e == nil { // a refusal of ours, or of the authorizer
		f.fail(true, err)
		return
	}
	switch e.Kind {
	case httpguard.Unreachable, httpguard.Broken:
		f.fail(e.Sent, lossOf(e))
		f.c.fail(lossOf(e))
	case httpguard.Malformed:
		f.fail(e.Sent, &wire.NotEndpointError{Reason: e.Reason})
	default:
		f.fail(e.Sent, lossOf(e))
	}
}

// success takes an answer with a status of 2xx.
func (f *flight) success(resp *httpguard.Response) {
	if f.out.Method == methodInitialize && !modern(f.out.Revision) && !f.takeSession(resp) {
		return
	}
	switch {
	case resp.MediaType == mediaEvents:
		f.stream(resp)
	case resp.Status == http.StatusAccepted, resp.Status == http.StatusNoContent:
		f.notEndpoint(resp, "it accepted a request without answering it")
	case resp.MediaType == mediaJSON:
		f.single(resp)
	default:
		f.notEndpoint(resp, "the answer is neither JSON nor an event stream")
	}
}

// takeSession keeps the session id that the server hands out.
func (f *flight) takeSession(resp *httpguard.Response) bool {
	id := resp.Header.Get(headerSession)
	if id == "" {
		return true
	}
	if !validSession(id) {
		f.notEndpoint(resp, "its session id cannot be sent back")
		return false
	}
	f.c.mu.Lock()
	f.c.session = id
	f.c.mu.Unlock()
	return true
}

// maxMediaType bounds the media type that is repeated in an error.
const maxMediaType = 128

func (f *flight) notEndpoint(resp *httpguard.Response, reason string) {
	f.fail(true, &wire.NotEndpointError{
		Status: resp.Status, MediaType: resp.MediaType[:min(len(resp.MediaType), maxMediaType)], Reason: reason,
	})
}

// single takes an answer that is one JSON body.
func (f *flight) single(resp *httpguard.Response) {
	share := wire.Share{Done: f.ctx.Done()}
	defer share.Release()
	data, over, err := readBody(resp, f.c.limit, &share)
	switch {
	case err != nil:
		f.broken(err)
	case over > 0:
		f.c.deliver(wire.Frame{Oversize: &wire.Oversize{
			ID: idText(f.out.ID), Size: over, Limit: f.c.limit, Crowded: over <= int64(f.c.limit),
		}})
	case len(data) == 0:
		f.notEndpoint(resp, "the answer is empty")
	case !wire.IsFrame(data):
		f.notEndpoint(resp, "the answer is not JSON")
	default:
		f.c.deliver(wire.Frame{Data: data})
		if id, method := httpguard.Peek(data); method != "" || !sameID(id, f.out.ID) {
			// Whoever else it was for: nothing more will come for this request. If
			// the protocol layer took it for the answer all the same, this is moot.
			f.notEndpoint(resp, "the answer is not one to the request")
		}
	}
}

// broken ends the request because its body broke off or did not end in time;
// the connection lives.
func (f *flight) broken(err error) {
	var end *wire.FrameEndError
	e := asExchange(err)
	switch {
	case e != nil:
		f.fail(true, &wire.LossError{Reason: "the answer broke off: " + e.Reason, ExitCode: -1, Err: e.Err})
	case errors.As(err, &end):
		f.fail(true, end)
	default:
		f.fail(true, err)
	}
}

// stream takes an answer that is an event stream, to the frame that answers the
// request. It is resumed where it breaks off, as far as the server allows.
func (f *flight) stream(resp *httpguard.Response) {
	tries := 0
	for {
		seen := f.lastEvent
		answered, err := f.events(resp)
		_ = resp.Body.Close()
		var end *wire.FrameEndError
		switch {
		case answered || f.ctx.Err() != nil:
			return
		case errors.As(err, &end):
			f.fail(true, end)
			return
		case f.lastEvent == "" || modern(f.out.Revision) || f.out.Revision < revisionStreams:
			f.ended()
			return
		}
		if f.lastEvent != seen {
			tries = 0
		}
		if resp = f.resume(&tries); resp == nil {
			return
		}
	}
}

func (f *flight) ended() {
	f.fail(true, &wire.LossError{Reason: "the stream ended before the answer", ExitCode: -1})
}

// events delivers the frames of a stream up to the answer.
func (f *flight) events(resp *httpguard.Response) (answered bool, err error) {
	events := httpguard.NewEvents(resp.Body, f.c.limit)
	defer events.Release()
	var pace wire.Pace // a flood on one stream is no reason for others to wait
	for {
		pace.Step()
		ev, err := events.Next()
		if err != nil {
			return false, err
		}
		if ev.HasID {
			f.lastEvent = ev.ID
		}
		if ev.HasRetry {
			f.retry = f.c.timing.asked(ev.Retry)
		}
		switch f.c.take(ev, f.out.ID) {
		case tookAnswer, tookNone:
			return true, nil
		case tookGarbage:
			f.notEndpoint(resp, "its event stream holds too much that is not JSON")
			return true, nil
		case tookFrame:
		}
	}
}

// resume opens a stream that broke off again, behind the last event that came.
// nil says that the request is over.
func (f *flight) resume(tries *int) *httpguard.Response {
	for *tries < maxResumes {
		wait := jittered(f.c.timing.backoff << *tries)
		if f.retry > 0 {
			wait = f.retry
		}
		*tries++
		if !sleep(f.ctx, wait) {
			return nil
		}
		resp, err := f.c.client.Do(f.ctx, httpguard.Request{
			Method: http.MethodGet, Header: streamHeader(f.out.Revision, f.session, f.lastEvent), HeaderTimeout: httpguard.NoTimeout,
		})
		switch {
		case err != nil && asExchange(err) == nil:
			f.fail(true, err)
			return nil
		case err != nil:
			continue
		case resp.Status == http.StatusOK && resp.MediaType == mediaEvents:
			return resp
		}
		resp.Body.Discard()
		if resp.Status == http.StatusNotFound && f.session != "" {
			f.expire()
			return nil
		}
		if !transient(resp.Status) {
			break
		}
	}
	if f.ctx.Err() == nil {
		f.ended()
	}
	return nil
}

// expire ends the request and the connection: the session is gone.
func (f *flight) expire() {
	f.fail(true, &wire.LossError{Reason: wire.ReasonSessionExpired, ExitCode: -1})
	f.c.expired()
}

// transient says whether another try may fare better.
func transient(status int) bool {
	return status >= 500 && status != http.StatusNotImplemented || status == http.StatusTooManyRequests ||
		status == http.StatusRequestTimeout || status == http.StatusTooEarly
}

// sleep waits; false says that the context ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
