package protocol

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/looprig/looprig/mcpadapter/internal/protocol/tap"
)

const methodElicit = "elicitation/create"

// answerCancel is the answer for a user who did not answer.
const answerCancel = `{"action":"cancel"}`

// errTooManyPending is the answer to an elicitation over the bound.
const errTooManyPending = "too many elicitations are pending"

// refusedElicit is why an elicitation is not put to the handler: the message is
// host-written, the detail is the server's text.
func refusedElicit(reason, detail string) *Error {
	return &Error{Class: ClassProtocol, Op: methodElicit, Message: reason, Detail: bounded(detail, maxErrorDetail)}
}

func elicitOverLimit(what, detail string, size, limit int, setting string) *Error {
	e := refusedElicit(what, detail)
	e.Class, e.Size, e.Limit, e.Setting = ClassOverLimit, int64(size), int64(limit), setting
	return e
}

// parseElicit checks the params of an elicitation.
func (s *Session) parseElicit(params json.RawMessage) (req ElicitRequest, e *Error) {
	f, err := tap.Object(params)
	if err != nil {
		return req, refusedElicit("the params of an elicitation are not an object", "")
	}
	message, ok := tap.String(f.Get("message"))
	if !ok {
		return req, refusedElicit("an elicitation without a message", "")
	}
	if limit := s.limits.ElicitMessageBytes; len(message) > limit {
		return req, elicitOverLimit("the message of an elicitation is too long", message, len(message), limit, "limits.elicitMessageBytes")
	}
	req = ElicitRequest{Mode: "form", Message: message}
	if raw := f.Get("mode"); raw != nil {
		if req.Mode, ok = tap.String(raw); !ok {
			return req, refusedElicit("the mode of an elicitation is not a string", message)
		}
	}
	switch req.Mode {
	case "form":
		e = s.parseForm(&req, f)
	case "url":
		e = s.parseURL(&req, f)
	default:
		e = refusedElicit("the mode of an elicitation is unknown", message)
	}
	return req, e
}

func (s *Session) parseForm(req *ElicitRequest, f tap.Fields) *Error {
	schema := f.Get("requestedSchema")
	limit := s.limits.ElicitSchemaBytes
	switch {
	case f.Get("url") != nil:
		return refusedElicit("a form elicitation with a URL", req.Message)
	case !tap.IsObject(schema):
		return refusedElicit("the schema of a form elicitation is not an object", req.Message)
	case len(schema) > limit:
		return elicitOverLimit("the schema of an elicitation is too large", req.Message, len(schema), limit, "limits.elicitSchemaBytes")
	}
	req.Schema = bytes.Clone(schema)
	return nil
}

func (s *Session) parseURL(req *ElicitRequest, f tap.Fields) *Error {
	var ok bool
	if f.Get("requestedSchema") != nil {
		return refusedElicit("a URL elicitation with a schema", req.Message)
	}
	if req.URL, ok = tap.String(f.Get("url")); !ok || req.URL == "" {
		return refusedElicit("a URL elicitation without a URL", req.Message)
	}
	if len(req.URL) > maxURLBytes {
		return elicitOverLimit("the URL of an elicitation is too long", req.Message, len(req.URL), maxURLBytes, settingFixed)
	}
	raw := f.Get("elicitationId")
	if raw == nil {
		s.mail.tolerate(toleratedElicitationID, "")
		return nil
	}
	if req.ElicitationID, ok = tap.String(raw); !ok || len(req.ElicitationID) > maxIDBytes {
		return refusedElicit("the id of a URL elicitation is not a short string", req.Message)
	}
	return nil
}

// elicitation is the inquiry for a checked elicitation.
func (s *Session) elicitation(req ElicitRequest) *inquiry {
	return &inquiry{
		method: methodElicit, detail: req.Message, tokens: s.elicits, full: errTooManyPending,
		limit: s.limits.ElicitTimeout, unanswered: []byte(answerCancel),
		answer: func(ctx context.Context) ([]byte, *Error) {
			res, err := s.handlers.Elicit(ctx, req)
			return s.encodeElicit(req, res, err)
		},
	}
}

// serveElicit answers a server's elicitation/create.
func (s *Session) serveElicit(m tap.Message) {
	req, e := s.parseElicit(m.Params)
	if e != nil {
		s.refuseRequest(m.ID, m.Method, CodeInvalidParams, e.Reason(), e.Detail)
		return
	}
	s.serve(m, s.elicitation(req))
}

// encodeElicit checks what the handler returned and encodes it.
func (s *Session) encodeElicit(req ElicitRequest, res ElicitResult, err error) ([]byte, *Error) {
	switch {
	case err != nil:
		return nil, &Error{Class: ClassCancelled, Op: methodElicit, Message: "the elicitation could not be answered", Err: err}
	case res.Action == "decline", res.Action == "cancel":
		return []byte(`{"action":"` + res.Action + `"}`), nil
	case res.Action != "accept":
		return nil, &Error{Class: ClassConfig, Op: methodElicit, Message: "an elicitation was answered with an unknown action"}
	case req.Mode == "url":
		return []byte(`{"action":"accept"}`), nil
	}
	content := jsontext.Value(bytes.Clone(res.Content))
	if len(content) == 0 {
		content = jsontext.Value(`{}`)
	}
	if err := content.Compact(); err != nil || !tap.IsObject(json.RawMessage(content)) {
		return nil, &Error{Class: ClassConfig, Op: methodElicit, Message: "the answer to an elicitation is not a JSON object", Err: err}
	}
	answer := append([]byte(`{"action":"accept","content":`), content...)
	return append(answer, '}'), nil
}
