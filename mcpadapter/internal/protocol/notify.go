package protocol

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/looprig/looprig/mcpadapter/internal/protocol/tap"
)

// notification sorts one notification of the server into the mailbox. It runs
// on the pump and waits for nobody.
func (s *Session) notification(m tap.Message) {
	fields, _ := tap.Object(m.Params)
	usable := true
	switch m.Method {
	case "notifications/tools/list_changed":
		s.listChanged(Tools)
	case "notifications/prompts/list_changed":
		s.listChanged(Prompts)
	case "notifications/resources/list_changed":
		// One notification covers both listings.
		s.listChanged(Resources)
		s.listChanged(Templates)
	case "notifications/resources/updated":
		usable = s.resourceUpdated(fields)
	case methodLog:
		usable = s.logMessage(fields)
	case "notifications/progress":
		usable = s.progress(fields)
	case "notifications/elicitation/complete":
		usable = s.elicitComplete(fields)
	case "notifications/cancelled":
		usable = s.inbound.cancel(fields.Get("requestId"))
		s.listenCancelled(fields.Get("requestId"))
	case "notifications/subscriptions/acknowledged":
		s.listen.acknowledged(fields)
	default:
		s.mail.count(droppedUnknown, 1)
	}
	if !usable {
		s.mail.count(droppedNotification, 1)
	}
}

func (s *Session) listChanged(fam Family) {
	declared := s.ready.Load() && s.declared[fam]
	if !declared {
		s.mail.tolerate(toleratedUndeclared, string(fam))
	}
	s.changed(fam, declared)
}

// changed tells of a listing on the pump itself, and not by the mailbox: an
// answer behind the notification must find its listing known to be stale.
func (s *Session) changed(fam Family, declared bool) {
	if fam == Resources {
		s.cache.forget("")
	}
	if s.handlers.ListChanged != nil {
		s.guarded(func() { s.handlers.ListChanged(fam, declared) })
	}
}

func (s *Session) resourceUpdated(f tap.Fields) bool {
	uri, ok := tap.String(f.Get("uri"))
	if !ok || uri == "" || len(uri) > maxURLBytes {
		return false
	}
	s.cache.forget(uri)
	s.mail.updated(uri)
	return true
}

// methodLog is what servers send the most of.
const methodLog = "notifications/message"

// logFrameRoom is what a message with a log entry may have beside the entry.
const logFrameRoom = 1 << 10

func (s *Session) logMessage(f tap.Fields) bool {
	e, ok := s.logOf(f)
	if ok && e.level != "" {
		e.data = bytes.Clone(e.data)
		s.mail.log(e)
	}
	return ok
}

// logOf reads a log entry; one without a level was too large, and counted.
func (s *Session) logOf(f tap.Fields) (e logEntry, ok bool) {
	level, ok := tap.String(f.Get("level"))
	if !ok || level == "" || len(level) > maxIDBytes {
		return e, false
	}
	logger, _ := tap.String(f.Get("logger"))
	data := f.Get("data")
	if len(data) > s.limits.LogBytes || len(logger) > s.limits.LogBytes {
		s.mail.count(droppedLogSize, 1)
		return e, true
	}
	return logEntry{level: level, logger: logger, data: data}, true
}

// deliverLog tells of one entry. A frame that the pump did not parse is parsed
// here, and counts as any other when it breaks the rules.
func (s *Session) deliverLog(e logEntry) {
	if e.frame != nil {
		m, fault := tap.Parse(e.frame, s.limits.bounds())
		if fault != nil {
			s.malformedFrame()
			return
		}
		fields, _ := tap.Object(m.Params)
		var ok bool
		if e, ok = s.logOf(fields); !ok {
			s.mail.count(droppedNotification, 1)
		}
	}
	if e.level != "" && s.handlers.Log != nil {
		s.guarded(func() { s.handlers.Log(e.level, e.logger, e.data) })
	}
}

func (s *Session) elicitComplete(f tap.Fields) bool {
	id, ok := tap.String(f.Get("elicitationId"))
	if !ok || id == "" || len(id) > maxIDBytes {
		return false
	}
	s.mail.completed(id)
	return true
}

// progress queues a progress notification for its call. Values that are not
// finite, negative or smaller than the one before are refused.
func (s *Session) progress(f tap.Fields) bool {
	token, kind := tap.ParseID(f.Get("progressToken"))
	if kind != tap.IDInteger {
		s.mail.count(droppedProgressToken, 1)
		return true
	}
	value, ok := tap.Number(f.Get("progress"))
	if !ok || value < 0 {
		s.mail.count(droppedProgressValue, 1)
		return true
	}
	p := Progress{Progress: value}
	if raw := f.Get("total"); raw != nil && !tap.IsNull(raw) {
		if p.Total, ok = tap.Number(raw); !ok {
			s.mail.count(droppedProgressValue, 1)
			return true
		}
	}
	p.Message, _ = tap.String(f.Get("message"))
	if len(p.Message) > s.limits.LogBytes {
		s.mail.count(droppedLogSize, 1)
		return true
	}
	if code := s.table.report(token, p); code != "" {
		s.mail.count(code, 1)
	}
	return true
}

// listenCancelled ends the listen stream of 2026-07-28 that a server over stdio
// closes by cancelling the request that opened it.
func (s *Session) listenCancelled(id json.RawMessage) {
	n, kind := tap.ParseID(id)
	if !s.modern || kind != tap.IDInteger {
		return
	}
	if sl := s.table.lookup(n); sl != nil && sl.listen {
		s.answer(sl, json.RawMessage(`{}`), nil)
	}
}

// Notify sends one notification. The method must be a notification; those that
// the session itself sends are refused.
func (s *Session) Notify(ctx context.Context, method string, params json.RawMessage) error {
	name := strings.ToLower(strings.TrimSpace(method))
	if !strings.HasPrefix(method, "notifications/") ||
		name == "notifications/cancelled" || name == "notifications/initialized" {
		return &Error{Class: ClassConfig, Op: method, Message: "this is not a notification that may be sent by hand"}
	}
	compact, e := s.compactObject(method, params)
	if e != nil {
		return e
	}
	frame, err := notificationFrame(method, compact)
	if err != nil {
		return &Error{Class: ClassConfig, Op: method, Message: "the method is not valid text", Err: err}
	}
	if err := s.notice(ctx, method, frame); err != nil {
		return s.writeError(ctx, method, err)
	}
	return nil
}

func (s *Session) writeError(ctx context.Context, op string, err error) *Error {
	switch {
	case s.ended() != nil:
		return s.endedError(op)
	case ctx.Err() != nil:
		return ctxError(ctx, op)
	}
	return &Error{Class: ClassLost, Op: op, Message: "the write failed", Err: err}
}

// bounded cuts text to limit bytes and says so: it is a detail of an error,
// never a value that is passed on.
func bounded(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + " [cut]"
}
