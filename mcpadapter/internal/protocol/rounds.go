package protocol

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/protocol/tap"
)

// logicalCall is one request of a caller, which on 2026-07-28 may take several
// requests on the wire.
type logicalCall struct {
	op, method string
	name       string // for wire.Outgoing
	id         string // for Handlers.Elicit and Sample
	meta       []member
	members    []member
	bare       bool // send no params at all
	attempt    func(n int)
	progress   chan Progress
	// mirrored says that the call may repeat args in headers, relisted that
	// the annotations were fetched anew for it.
	mirrored, relisted bool
	args               json.RawMessage
	// asked says that the server wanted input or another try.
	asked bool
}

// mayNeedInput are the methods whose results may ask for input.
func mayNeedInput(method string) bool {
	return method == "tools/call" || method == "prompts/get" || method == "resources/read"
}

// rounds sends the call and answers what the server asks until a complete
// result arrives. Rounds, bytes and waits are bounded.
func (s *Session) rounds(ctx context.Context, c *logicalCall) (raw json.RawMessage, e *Error) {
	defer s.recovered(func(p *Error) {
		p.Op, p.Sent = c.op, true
		raw, e = nil, p
	})
	var tail []member
	wait, size := s.stateWait, 0
	for n := 1; ; n++ {
		raw, e := s.round(ctx, c, tail, n)
		if s.staleHeaders(c, e) {
			if again := s.relist(ctx, c); again != nil {
				return nil, e
			}
			continue
		}
		if e != nil {
			return nil, e
		}
		fields, needs, e := s.resultType(c, raw)
		if e != nil || !needs {
			return raw, e
		}
		c.asked = true
		size += len(raw)
		if e := s.roundBounds(c.op, n, size); e != nil {
			return nil, e
		}
		in, e := s.parseInput(c, fields)
		if e != nil {
			return nil, e
		}
		if len(in.requests) == 0 {
			if e := s.pause(ctx, c.op, wait); e != nil {
				return nil, e
			}
			wait = min(2*wait, maxStateRetryWait)
		}
		if tail, e = s.fulfil(ctx, c, in); e != nil {
			return nil, e
		}
	}
}

// round is one request of the logical call. From the second on the call counts
// as sent, whatever becomes of this request.
func (s *Session) round(ctx context.Context, c *logicalCall, tail []member, n int) (json.RawMessage, *Error) {
	sl := &slot{op: c.op, method: c.method, name: c.name, progress: c.progress}
	if c.mirrored && s.mirroring() {
		var e *Error
		if sl.headers, e = s.headerParams(c.op, c.name, c.args); e != nil {
			return nil, e
		}
	}
	if c.progress != nil {
		sl.token = s.tokens.Add(1)
	}
	if c.attempt != nil {
		sl.before = func() { c.attempt(n) }
	}
	if !c.bare {
		var err error
		members := append(append([]member(nil), c.members...), tail...)
		if sl.params, err = s.params(sl.token, c.meta, members...); err != nil {
			return nil, &Error{Class: ClassConfig, Op: c.op, Message: "the parameters are not valid text", Err: err}
		}
	}
	raw, e := s.roundTrip(ctx, sl, false)
	if e != nil && n > 1 {
		e.Sent = true
	}
	return raw, e
}

// resultType says whether the result asks for input. A type that is not known
// is a failure: an empty success would hide it.
func (s *Session) resultType(c *logicalCall, raw json.RawMessage) (f tap.Fields, needsInput bool, e *Error) {
	f, err := tap.Object(raw)
	if err != nil {
		return nil, false, protocolError(c.op, "the result is not an object")
	}
	kind, e := typeOf(c.op, f)
	if e != nil {
		return nil, false, e
	}
	if kind != "input_required" {
		return f, false, nil
	}
	if !s.modern || !mayNeedInput(c.method) {
		return nil, false, protocolError(c.op, "a result that asks for input where the revision has none")
	}
	return f, true, nil
}

// typeOf reads resultType; absent means complete.
func typeOf(op string, f tap.Fields) (string, *Error) {
	raw := f.Get("resultType")
	if raw == nil {
		return "complete", nil
	}
	kind, ok := tap.String(raw)
	if ok && (kind == "complete" || kind == "input_required") {
		return kind, nil
	}
	return "", &Error{Class: ClassUnsupported, Op: op, Message: "a result of an unknown type", Detail: bounded(string(raw), maxIDBytes), Sent: true}
}

// completeResult splits a result that cannot ask for input.
func completeResult(op string, raw json.RawMessage) (tap.Fields, *Error) {
	f, err := tap.Object(raw)
	if err != nil {
		return nil, protocolError(op, "the result is not an object")
	}
	kind, e := typeOf(op, f)
	if e == nil && kind != "complete" {
		e = protocolError(op, "a result that asks for input where the revision has none")
	}
	return f, e
}

func (s *Session) roundBounds(op string, n, size int) *Error {
	e := &Error{Class: ClassOverLimit, Op: op, Sent: true}
	switch {
	case n >= s.limits.RoundTrips:
		e.Message, e.Setting = "too many rounds of input", "limits.roundTrips"
		e.Size, e.Limit = int64(n+1), int64(s.limits.RoundTrips)
	case size > maxRoundBytes:
		e.Message, e.Setting = "the rounds of input are too large together", settingFixed
		e.Size, e.Limit = int64(size), maxRoundBytes
	default:
		return nil
	}
	return e
}

// pause waits before a result with nothing but a state is retried.
func (s *Session) pause(ctx context.Context, op string, d time.Duration) *Error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	var e *Error
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		e = ctxError(ctx, op)
	case <-s.done:
		e = s.endedError(op)
	}
	e.Sent = true
	return e
}

// input is what an input_required result asks for.
type input struct {
	requests []inputRequest
	state    json.RawMessage // the raw string, byte for byte; nil for none
}

type inputRequest struct {
	name string
	ask  *inquiry
}

// parseInput checks an input_required result before anything acts on it.
func (s *Session) parseInput(c *logicalCall, f tap.Fields) (in input, e *Error) {
	op := c.op
	if state := f.Get("requestState"); state != nil {
		switch {
		case len(state) == 0 || state[0] != '"':
			return in, protocolError(op, "a requestState that is not a string")
		case len(state) > s.limits.RequestStateBytes:
			return in, &Error{
				Class: ClassOverLimit, Op: op, Message: "the requestState is too large", Sent: true,
				Size: int64(len(state)), Limit: int64(s.limits.RequestStateBytes), Setting: "limits.requestStateBytes",
			}
		}
		in.state = bytes.Clone(state)
	}
	requests := f.Get("inputRequests")
	if requests == nil && in.state == nil {
		return in, protocolError(op, "a result that asks for input and names none")
	}
	if requests == nil {
		return in, nil
	}
	named, err := tap.Object(requests)
	if err != nil {
		return in, protocolError(op, "inputRequests that are not an object")
	}
	if len(named) > s.limits.InputRequests {
		return in, &Error{
			Class: ClassOverLimit, Op: op, Message: "too many input requests in one round", Sent: true,
			Size: int64(len(named)), Limit: int64(s.limits.InputRequests), Setting: "limits.elicitPending",
		}
	}
	for _, m := range named {
		r, e := s.parseInputRequest(c, m)
		if e != nil {
			return in, e
		}
		in.requests = append(in.requests, r)
	}
	return in, nil
}

func (s *Session) parseInputRequest(c *logicalCall, m tap.Member) (inputRequest, *Error) {
	f, err := tap.Object(m.Value)
	if err != nil {
		return inputRequest{}, protocolError(c.op, "an input request that is not an object")
	}
	method, ok := tap.String(f.Get("method"))
	if !ok {
		return inputRequest{}, protocolError(c.op, "an input request without a method")
	}
	q, e := s.inputInquiry(c, method, f.Get("params"))
	if e != nil {
		s.mail.refuse(refusal{bounded(method, maxIDBytes), e.Reason(), e.Detail})
		e.Op, e.Sent = c.op, true
		return inputRequest{}, e
	}
	return inputRequest{name: m.Name, ask: q}, nil
}

// inputInquiry checks one input request. What was not declared is refused.
func (s *Session) inputInquiry(c *logicalCall, method string, params json.RawMessage) (*inquiry, *Error) {
	switch {
	case method == methodElicit && s.handlers.Elicit != nil:
		req, e := s.parseElicit(params)
		if e != nil {
			return nil, e
		}
		req.CallID = c.id
		return s.elicitation(req), nil
	case method == methodSample && s.handlers.Sample != nil:
		req, e := s.parseSample(params)
		if e != nil {
			return nil, e
		}
		req.CallID = c.id
		return s.sampling(req), nil
	case method == methodRoots && s.roots.declared():
		return &inquiry{method: methodRoots, answer: func(context.Context) ([]byte, *Error) { return s.roots.list(), nil }}, nil
	}
	e := protocolError(c.op, "the server asked for input that was not declared")
	e.Detail = bounded(method, maxIDBytes)
	return nil, e
}

// fulfil asks the handler for every input and returns the members of the next
// round.
func (s *Session) fulfil(ctx context.Context, c *logicalCall, in input) ([]member, *Error) {
	var next []member
	if len(in.requests) > 0 {
		answers, e := s.askAll(ctx, c, in.requests)
		if e != nil {
			e.Op, e.Sent = c.op, true
			return nil, e
		}
		next = append(next, member{"inputResponses", answers})
	}
	if in.state != nil {
		next = append(next, member{"requestState", in.state})
	}
	return next, nil
}

// askAll asks for all inputs of a round at once; the first failure ends the
// others. It returns the encoded inputResponses.
func (s *Session) askAll(ctx context.Context, c *logicalCall, requests []inputRequest) ([]byte, *Error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make([][]byte, len(requests))
	var (
		wg    sync.WaitGroup
		once  sync.Once
		first *Error
	)
	for i, r := range requests {
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer s.recovered(func(e *Error) { once.Do(func() { first = e }) })
			answer, e := s.askQueued(ctx, r.ask)
			if e != nil {
				once.Do(func() {
					first = e
					cancel()
				})
				return
			}
			answers[i] = answer
		}()
	}
	wg.Wait()
	if first != nil {
		return nil, first
	}
	out := []byte{'{'}
	for i, r := range requests {
		var err error
		if out, err = appendMember(out, member{r.name, answers[i]}); err != nil {
			return nil, protocolError(c.op, "the name of an input request is not valid text")
		}
	}
	return append(out, '}'), nil
}
