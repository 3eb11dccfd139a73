package protocol

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/protocol/tap"
)

// errMoot ends an inquiry when the calls that may have caused it are over.
var errMoot = errors.New("the call is over")

// inquiry is one checked request of the server that a handler answers: an
// elicitation or a sampling request, whichever way it came.
type inquiry struct {
	method string
	// detail is raw text of the server that is shown with a refusal.
	detail string
	// tokens bounds how many of its kind are pending; full says so.
	tokens chan struct{}
	full   string
	// limit bounds the wait for the handler; 0 leaves it to the context.
	limit time.Duration
	// unanswered is the answer when the limit passes or the calls that may have
	// caused the inquiry are over; nil makes that an error.
	unanswered []byte
	// answer runs the handler and encodes what it returns.
	answer func(ctx context.Context) ([]byte, *Error)
}

// context bounds the inquiry.
func (q *inquiry) context(parent context.Context) (context.Context, context.CancelFunc) {
	if q.limit > 0 {
		return context.WithTimeout(parent, q.limit)
	}
	return context.WithCancel(parent)
}

// serve puts a request of the server to its handler, on a goroutine of its
// own, and sends the answer back to that request only.
func (s *Session) serve(m tap.Message, q *inquiry) {
	select {
	case q.tokens <- struct{}{}:
	default:
		s.refuseRequest(m.ID, m.Method, codeInternal, q.full, q.detail)
		return
	}
	id := bytes.Clone(m.ID)
	ctx, moot := context.WithCancelCause(s.ctx)
	ctx, cancel := q.context(ctx)
	if !s.inbound.add(id, cancel) {
		cancel()
		moot(nil)
		<-q.tokens
		s.mail.refuse(refusal{m.Method, "a request with an id that is in use", string(id)})
		s.malformedFrame()
		return
	}
	untie := s.table.caused(func() { moot(errMoot) })
	started := s.work(func() {
		defer moot(nil)
		defer cancel()
		defer untie()
		answer, err := s.ask(ctx, q)
		if !s.inbound.remove(id) || s.ctx.Err() != nil {
			return
		}
		s.answerServer(ctx, id, q, answer, err)
	})
	if !started { // the session has ended, and nobody waits for an answer
		moot(nil)
		cancel()
		untie()
		<-q.tokens
	}
}

func (s *Session) answerServer(ctx context.Context, id json.RawMessage, q *inquiry, answer []byte, err *Error) {
	over := errors.Is(context.Cause(ctx), errMoot)
	switch {
	case over && q.unanswered != nil:
		s.reply(id, q.unanswered)
	case over:
		s.replyError(id, codeInternal, errMoot.Error())
	case err != nil:
		s.replyError(id, err.replyCode(), err.Message)
	default:
		s.reply(id, answer)
	}
}

// ask runs the handler of one inquiry and returns the encoded answer. The
// caller has taken a token, which is given back when the handler returns,
// however long after ctx that is; ask itself ends with ctx.
func (s *Session) ask(ctx context.Context, q *inquiry) ([]byte, *Error) {
	type outcome struct {
		answer []byte
		err    *Error
	}
	out := make(chan outcome, 1)
	running := s.work(func() {
		defer func() { <-q.tokens }()
		defer s.recovered(func(e *Error) { out <- outcome{err: e} })
		answer, e := q.answer(ctx)
		out <- outcome{answer, e}
	})
	if !running {
		<-q.tokens
		return nil, s.endedError(q.method)
	}
	select {
	case o := <-out:
		return o.answer, o.err
	case <-ctx.Done():
		if q.unanswered != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return q.unanswered, nil
		}
		return nil, ctxError(ctx, q.method)
	}
}

// askQueued waits for its turn among the pending inquiries, then asks.
func (s *Session) askQueued(ctx context.Context, q *inquiry) ([]byte, *Error) {
	if q.tokens == nil { // answered from what is known
		return q.answer(ctx)
	}
	ctx, cancel := q.context(ctx)
	defer cancel()
	stop := context.AfterFunc(s.ctx, cancel)
	defer stop()
	select {
	case q.tokens <- struct{}{}:
	case <-ctx.Done():
		if s.ended() != nil {
			return nil, s.endedError(q.method)
		}
		return nil, ctxError(ctx, q.method)
	}
	answer, e := s.ask(ctx, q)
	if e != nil && e.Class == ClassCancelled && s.ended() != nil {
		return nil, s.endedError(q.method)
	}
	return answer, e
}

// replyCode is the JSON-RPC code under which the server is told of a failure
// of a handler.
func (e *Error) replyCode() int {
	switch {
	case e.Code != 0:
		return e.Code
	case e.Class == ClassRefused:
		return CodeRejected
	}
	return codeInternal
}
