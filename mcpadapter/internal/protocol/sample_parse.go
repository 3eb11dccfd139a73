package protocol

import (
	"bytes"
	"encoding/json"

	"github.com/looprig/looprig/mcpadapter/internal/protocol/tap"
)

// The bounds of a sampling request, none of which is a setting: a person is to
// read what is inside them.
const (
	maxSampleBytes    = 4 << 20
	maxPendingSamples = 4
	maxSampleMessages = 256
	maxSampleBlocks   = 64 // in one message
	maxSampleTokens   = 1 << 30
	maxStopSequences  = 64
	maxModelHints     = 32
	maxSampleTools    = 128
)

func refusedSample(reason string) *Error {
	return &Error{Class: ClassProtocol, Op: methodSample, Message: reason}
}

func sampleOverLimit(what string, size, limit int) *Error {
	return &Error{Class: ClassOverLimit, Op: methodSample, Message: what, Size: int64(size), Limit: int64(limit), Setting: settingFixed}
}

// parseSample checks the params of a sampling request, all of them, before a
// handler sees any. The request holds its own copy of the bytes.
func (s *Session) parseSample(params json.RawMessage) (req SampleRequest, e *Error) {
	if len(params) > maxSampleBytes {
		return req, sampleOverLimit("a sampling request is too large", len(params), maxSampleBytes)
	}
	f, err := tap.Object(bytes.Clone(params))
	if err != nil {
		return req, refusedSample("the params of a sampling request are not an object")
	}
	for _, step := range []func(tap.Fields, *SampleRequest) *Error{
		s.sampleMessages, sampleTokens, sampleText, sampleStops, samplePreferences, s.sampleTools,
	} {
		if e := step(f, &req); e != nil {
			return SampleRequest{}, e
		}
	}
	return req, s.toolBalance(req.Messages)
}

// optional is the member's value, nil where it is absent or null.
func optional(f tap.Fields, name string) json.RawMessage {
	if v := f.Get(name); !tap.IsNull(v) {
		return v
	}
	return nil
}

func (s *Session) sampleMessages(f tap.Fields, req *SampleRequest) *Error {
	items, err := tap.Array(f.Get("messages"))
	switch {
	case err != nil:
		return refusedSample("the messages of a sampling request are not an array")
	case len(items) == 0:
		return refusedSample("a sampling request without messages")
	case len(items) > maxSampleMessages:
		return sampleOverLimit("a sampling request with too many messages", len(items), maxSampleMessages)
	}
	req.Messages = make([]SampleMessage, 0, len(items))
	for _, item := range items {
		m, e := s.sampleMessage(item)
		if e != nil {
			return e
		}
		req.Messages = append(req.Messages, m)
	}
	return nil
}

func (s *Session) sampleMessage(raw json.RawMessage) (m SampleMessage, e *Error) {
	f, err := tap.Object(raw)
	if err != nil {
		return m, refusedSample("a message of a sampling request is not an object")
	}
	m.Role, _ = tap.String(f.Get("role"))
	if m.Role != "user" && m.Role != "assistant" {
		return m, refusedSample("a message of a sampling request is neither the user's nor the assistant's")
	}
	content := f.Get("content")
	if tap.IsObject(content) {
		m.Content = []json.RawMessage{content}
	} else if m.Content, err = tap.Array(content); err != nil {
		return m, refusedSample("the content of a sampling message is not a block")
	} else if !s.blockArrays() {
		return m, refusedSample("the content of a sampling message is an array, which the revision does not have")
	}
	switch {
	case len(m.Content) == 0:
		return m, refusedSample("a message of a sampling request is empty")
	case len(m.Content) > maxSampleBlocks:
		return m, sampleOverLimit("a message of a sampling request has too many blocks", len(m.Content), maxSampleBlocks)
	}
	for _, b := range m.Content {
		if e := s.sampleBlock(m.Role, b); e != nil {
			return m, e
		}
	}
	return m, nil
}

// sampleBlock checks one content block; what it holds besides is left alone.
func (s *Session) sampleBlock(role string, raw json.RawMessage) *Error {
	f, err := tap.Object(raw)
	if err != nil {
		return refusedSample("a block of a sampling message is not an object")
	}
	kind, _ := tap.String(f.Get("type"))
	if !s.sampleKind(kind) {
		e := refusedSample("a block of a sampling message is of a type that was not declared")
		e.Detail = bounded(kind, maxIDBytes)
		return e
	}
	isString := func(name string) bool { _, ok := tap.String(f.Get(name)); return ok }
	ok := false
	switch kind {
	case "text":
		ok = isString("text")
	case "image", "audio":
		ok = isString("data") && isString("mimeType")
	case "tool_use":
		ok = role == "assistant" && isString("id") && isString("name") && tap.IsObject(f.Get("input"))
	case "tool_result":
		_, err := tap.Array(f.Get("content"))
		ok = role == "user" && isString("toolUseId") && err == nil
	}
	if !ok {
		return refusedSample("a block of a sampling message lacks what its type needs")
	}
	return nil
}

func sampleTokens(f tap.Fields, req *SampleRequest) *Error {
	n, kind := tap.ParseID(f.Get("maxTokens"))
	switch {
	case kind != tap.IDInteger && kind != tap.IDFloat, n < 1:
		return refusedSample("the maxTokens of a sampling request is not a positive number")
	case n > maxSampleTokens:
		return sampleOverLimit("the maxTokens of a sampling request is too large", int(n), maxSampleTokens)
	}
	req.MaxTokens = int(n)
	return nil
}

// sampleText reads the members that are texts or numbers.
func sampleText(f tap.Fields, req *SampleRequest) *Error {
	var ok bool
	if v := optional(f, "systemPrompt"); v != nil {
		if req.System, ok = tap.String(v); !ok {
			return refusedSample("the systemPrompt of a sampling request is not a string")
		}
	}
	if v := optional(f, "temperature"); v != nil {
		t, ok := tap.Number(v)
		if !ok || t < 0 {
			return refusedSample("the temperature of a sampling request is not a number")
		}
		req.Temperature = &t
	}
	if v := optional(f, "includeContext"); v != nil {
		req.IncludeContext, _ = tap.String(v)
		switch req.IncludeContext {
		case "none", "thisServer", "allServers":
		default:
			return refusedSample("the includeContext of a sampling request is unknown")
		}
	}
	return nil
}

func sampleStops(f tap.Fields, req *SampleRequest) *Error {
	v := optional(f, "stopSequences")
	if v == nil {
		return nil
	}
	items, err := tap.Array(v)
	if err != nil {
		return refusedSample("the stopSequences of a sampling request are not an array")
	}
	if len(items) > maxStopSequences {
		return sampleOverLimit("a sampling request with too many stopSequences", len(items), maxStopSequences)
	}
	for _, item := range items {
		stop, ok := tap.String(item)
		if !ok || stop == "" {
			return refusedSample("a stop sequence of a sampling request is not a text")
		}
		req.StopSequences = append(req.StopSequences, stop)
	}
	return nil
}

func samplePreferences(f tap.Fields, req *SampleRequest) *Error {
	p := &req.Preferences
	*p = ModelPreferences{Cost: -1, Speed: -1, Intelligence: -1}
	v := optional(f, "modelPreferences")
	if v == nil {
		return nil
	}
	wishes, err := tap.Object(v)
	if err != nil {
		return refusedSample("the modelPreferences of a sampling request are not an object")
	}
	for name, into := range map[string]*float64{
		"costPriority": &p.Cost, "speedPriority": &p.Speed, "intelligencePriority": &p.Intelligence,
	} {
		if v := optional(wishes, name); v != nil {
			n, ok := tap.Number(v)
			if !ok || n < 0 || n > 1 {
				return refusedSample("a priority of a sampling request is not between 0 and 1")
			}
			*into = n
		}
	}
	return sampleHints(wishes, p)
}

func sampleHints(wishes tap.Fields, p *ModelPreferences) *Error {
	v := optional(wishes, "hints")
	if v == nil {
		return nil
	}
	hints, err := tap.Array(v)
	if err != nil {
		return refusedSample("the model hints of a sampling request are not an array")
	}
	if len(hints) > maxModelHints {
		return sampleOverLimit("a sampling request with too many model hints", len(hints), maxModelHints)
	}
	for _, h := range hints {
		f, err := tap.Object(h)
		if err != nil {
			return refusedSample("a model hint of a sampling request is not an object")
		}
		if name, ok := tap.String(f.Get("name")); ok && name != "" {
			p.Hints = append(p.Hints, name)
		}
	}
	return nil
}
