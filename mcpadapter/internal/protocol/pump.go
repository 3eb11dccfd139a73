package protocol

import (
	"encoding/json"

	"github.com/looprig/looprig/mcpadapter/internal/protocol/tap"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// pump reads the connection to its end. It never waits for a handler, so that
// replies overtake notifications. A flood keeps it busy for as long as it lasts,
// and with it a processor, of which there may be few: it yields, or whoever waits
// for an answer would wait for the scheduler's next time slice as well.
func (s *Session) pump() {
	defer s.end(&Error{Class: ClassPanic, Op: "session", Message: "reading ended unexpectedly"})
	var pace wire.Pace
	for {
		pace.Step()
		f, err := s.conn.Read(s.ctx)
		if err != nil {
			s.endless(err)
			s.end(lost(err))
			return
		}
		s.frame(f)
		if s.ended() != nil {
			return
		}
	}
}

// frame handles one frame; whatever goes wrong concerns this frame alone.
func (s *Session) frame(f wire.Frame) {
	defer s.recovered(func(e *Error) {
		s.refuse(e, f.Data, nil)
	})
	switch {
	case f.Oversize != nil:
		s.oversize(f.Oversize)
		return
	case f.Failure != nil:
		s.failed(f.Failure)
		return
	}
	items := s.unbatched(f.Data)
	for _, item := range items {
		s.message(item)
	}
	if items == nil {
		s.message(f.Data)
	}
}

// unbatched are the messages of a batch, which 2025-03-26 obliges to receive.
// It is nil for everything else: what is no message is left to the tap to
// refuse.
func (s *Session) unbatched(data []byte) []json.RawMessage {
	if len(data) == 0 || data[0] != '[' || s.revision(nil) != Revision20250326 || tap.Check(data, s.limits.bounds()) != nil {
		return nil
	}
	if items, err := tap.Array(data); err == nil && len(items) > 0 && len(items) <= maxBatch {
		return items
	}
	return nil
}

// message handles one message.
func (s *Session) message(data json.RawMessage) {
	if len(data) <= s.limits.LogBytes+logFrameRoom && tap.IsNotification(data, methodLog) {
		// Whoever delivers it parses it, if it is delivered at all: a flood must not
		// keep the pump from the answers behind it.
		s.mail.log(logEntry{frame: data})
		return
	}
	m, fault := tap.Parse(data, s.limits.bounds())
	if fault != nil {
		s.faulty(fault, data)
		return
	}
	switch m.Kind {
	case tap.Response:
		s.response(m)
	case tap.Request:
		s.serverRequest(m)
	case tap.Notification:
		s.notification(m)
	}
}

// response routes an answer to the request that it names.
func (s *Session) response(m tap.Message) {
	if m.NullMember {
		s.mail.tolerate(toleratedNullMember, "")
	}
	n, kind := tap.ParseID(m.ID)
	sl := s.addressee(n, kind)
	if kind != tap.IDInteger {
		s.misaddressed(m, sl, kind)
		return
	}
	if sl == nil {
		s.strayAnswer(n)
		return
	}
	if m.Error != nil {
		e := remoteError(sl.op, m.Error)
		s.answer(sl, nil, e)
		s.revisionRefused(e)
		return
	}
	s.answer(sl, m.Result, nil)
}

// addressee finds the request that an id means, however the id is written.
func (s *Session) addressee(n int64, kind tap.IDKind) *slot {
	if kind == tap.IDNull {
		return s.table.sole()
	}
	return s.table.lookup(n)
}

// misaddressed fails the request that an answer with an id of the wrong type
// was meant for, where that can be told.
func (s *Session) misaddressed(m tap.Message, sl *slot, kind tap.IDKind) {
	s.mail.count(droppedWrongID, 1)
	if sl == nil {
		s.malformedFrame()
		return
	}
	e := &Error{Class: ClassProtocol, Op: sl.op, Sent: true, Message: "answered with an id that is not the number that was sent", Detail: string(m.ID)}
	if kind == tap.IDNull {
		e.Message = "answered without an id"
		if m.Error != nil {
			e.Detail = remoteError(sl.op, m.Error).Detail
		}
	}
	s.answer(sl, nil, e)
}

func (s *Session) strayAnswer(n int64) {
	code := s.table.stray(n)
	if code == "" {
		return
	}
	s.mail.count(code, 1)
	if code == droppedUnknownID {
		s.malformedFrame()
	}
}

// answer ends a request, once, and tells the SDK.
func (s *Session) answer(sl *slot, result json.RawMessage, err *Error) {
	stub := json.RawMessage(`{}`)
	if err == nil && sl.accept != nil {
		stub, err = sl.accept(result)
	}
	if err != nil {
		stub, result = nil, nil
	}
	if !s.table.answer(sl, result, err) {
		s.strayAnswer(sl.id)
		return
	}
	s.tellSDK(sl.id, stub)
}

// faulty handles a frame that the tap refused.
func (s *Session) faulty(f *tap.Fault, data []byte) {
	e := &Error{Class: ClassMalformed, Message: faultText[f.Reason], Detail: string(f.Reason), Err: f, Sent: true}
	switch f.Reason {
	case tap.TooDeep:
		e.Class, e.Setting = ClassOverLimit, "limits.jsonDepth"
	case tap.TooMany:
		e.Class, e.Setting = ClassOverLimit, "limits.jsonMembers"
	case tap.Both, tap.Neither, tap.BadError, tap.BadResult, tap.Version:
		e.Class = ClassProtocol
	default: // malformed
	}
	e.Limit, e.Size = int64(f.Limit), int64(f.Size)
	if f.Reason == tap.Batch {
		s.batch(e, data)
		return
	}
	if f.Reason == tap.MixedFrame {
		if n, kind := tap.ParseID(f.ID); kind == tap.IDInteger {
			s.failAddressee(e, n, kind)
		}
	}
	if f.HasMethod {
		s.refuseRequest(f.ID, "", codeInvalidRequest, e.Message, "")
		s.malformedFrame()
		return
	}
	s.refuse(e, nil, f.ID)
}

// batch refuses an array of messages, and with it the requests that it answers.
func (s *Session) batch(e *Error, data []byte) {
	if tap.Check(data, s.limits.bounds()) == nil {
		items, _ := tap.Array(data)
		for _, item := range items[:min(len(items), s.limits.ConcurrentRequests)] {
			id, hasMethod := tap.Attribute(item)
			if n, kind := tap.ParseID(id); !hasMethod && kind == tap.IDInteger {
				s.failAddressee(e, n, kind)
			}
		}
	}
	s.malformedFrame()
}

// failAddressee fails the request that an id means, if there is one.
func (s *Session) failAddressee(e *Error, n int64, kind tap.IDKind) {
	if sl := s.addressee(n, kind); sl != nil {
		own := *e
		own.Op, own.Sent = sl.op, true
		s.answer(sl, nil, &own)
	}
}

// refuse fails the request that a refused answer belongs to.
func (s *Session) refuse(e *Error, data []byte, id json.RawMessage) {
	if id == nil && data != nil {
		id, _ = tap.Attribute(data)
	}
	if n, kind := tap.ParseID(id); kind != tap.IDOther {
		s.failAddressee(e, n, kind)
	}
	s.malformedFrame()
}

var faultText = map[tap.Reason]string{
	tap.Batch:        "a batch array, which the revision does not have",
	tap.NotObject:    "a frame that is not a JSON object",
	tap.Syntax:       "a frame that is not valid JSON",
	tap.Encoding:     "a frame that is not UTF-8",
	tap.DuplicateKey: "a frame with a duplicate key",
	tap.TooDeep:      "a frame that is nested too deeply",
	tap.TooMany:      "a frame with too many object members",
	tap.Version:      "a frame that is not JSON-RPC 2.0",
	tap.BadMethod:    "a method that is not a string",
	tap.BadID:        "an id of the wrong type",
	tap.Both:         "an answer with both a result and an error",
	tap.Neither:      "an answer with neither a result nor an error",
	tap.BadError:     "an answer whose error is not an error object",
	tap.BadResult:    "an answer whose result is not an object",
	tap.MixedFrame:   "a frame that is both a request and an answer",
	tap.BadParams:    "params of the wrong type",
}

// malformedFrame counts one frame that broke the rules, and ends the session
// when there were too many.
func (s *Session) malformedFrame() {
	s.mail.count(droppedMalformed, 1)
	if n := s.malformed.Add(1); n > int64(s.limits.MalformedFrames) {
		s.end(&Error{
			Class: ClassMalformed, Op: "session", Message: "too many malformed frames",
			Limit: int64(s.limits.MalformedFrames), Size: n, Setting: "limits.malformedFrames",
		})
	}
}

// oversize handles a frame that the transport skipped for its size.
func (s *Session) oversize(o *wire.Oversize) {
	s.mail.count(droppedOversize, 1)
	if o.Method != "" {
		s.refuseRequest(o.ID, o.Method, codeInvalidRequest, "the request is over the frame limit", "")
		return
	}
	n, kind := tap.ParseID(o.ID)
	sl := s.addressee(n, kind)
	if sl == nil {
		s.malformedFrame()
		return
	}
	e := &Error{
		Class: ClassOverLimit, Op: sl.op, Message: "the answer is too large", Sent: true,
		Limit: int64(o.Limit), Size: o.Size, Setting: settingFrameBytes,
	}
	if o.Crowded {
		e.Message = "the large answers that are read at the same time are too large together"
		e.Limit, e.Setting = wire.Frames.Limit(), settingFixed
		e.Size = max(e.Size+wire.Frames.Used(), e.Limit+1)
	}
	s.answer(sl, nil, e)
}

// failed ends one request that the transport could not get an answer for.
func (s *Session) failed(f *wire.Failure) {
	if sl := s.table.lookup(f.ID); sl != nil {
		e := lost(f.Err)
		e.Op, e.Sent = sl.op, f.Sent
		s.answer(sl, nil, e)
	}
}

// revisionRefused ends a session whose server no longer takes the negotiated
// revision, so that another one is negotiated on a new connection.
func (s *Session) revisionRefused(e *Error) {
	if e.Code == CodeUnsupportedRevision && s.modern && s.ready.Load() {
		s.end(&Error{Class: ClassLost, Op: "session", Message: "the server no longer speaks the negotiated revision", Err: e})
	}
}

// codeText are the codes of 2026-07-28 whose meaning is fixed, in our words.
var codeText = map[int]string{
	CodeHeaderMismatch:      "the server refused the headers of the request",
	CodeMissingCapability:   "the server needs a capability that this client does not declare",
	CodeUnsupportedRevision: "the server does not speak the revision of the request",
}

// remoteError is the typed form of an error object that the tap let through.
func remoteError(op string, raw json.RawMessage) *Error {
	e := &Error{Class: ClassRemote, Op: op, Message: "the server answered with an error", Sent: true}
	fields, err := tap.Object(raw)
	if err != nil {
		return e
	}
	n, _ := tap.ParseID(fields.Get("code"))
	e.Code = int(n)
	if text := codeText[e.Code]; text != "" {
		e.Message = text
	}
	text, _ := tap.String(fields.Get("message"))
	e.Detail = bounded(text, maxErrorDetail)
	if data := fields.Get("data"); data != nil && !tap.IsNull(data) && len(data) <= maxErrorData {
		e.Data = append(json.RawMessage(nil), data...)
	}
	return e
}
