package protocol

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/looprig/looprig/mcpadapter/internal/protocol/tap"
)

const methodSample = "sampling/createMessage"

// errTooManySamples is the answer to a sampling request over the bound.
const errTooManySamples = "too many sampling requests are pending"

// Rejected is the error with which Handlers.Sample tells the server that the
// user, or a policy in the user's place, refused its request. The message is
// host-written.
func Rejected(message string) *Error {
	return &Error{Class: ClassRefused, Op: methodSample, Message: message, Code: CodeRejected}
}

// serveSample answers a server's sampling/createMessage.
func (s *Session) serveSample(m tap.Message) {
	req, e := s.parseSample(m.Params)
	if e != nil {
		s.refuseRequest(m.ID, m.Method, CodeInvalidParams, e.Reason(), e.Detail)
		return
	}
	s.serve(m, s.sampling(req))
}

// sampling is the inquiry for a checked sampling request.
func (s *Session) sampling(req SampleRequest) *inquiry {
	return &inquiry{
		method: methodSample, detail: bounded(req.System, maxErrorDetail), tokens: s.samples, full: errTooManySamples,
		answer: func(ctx context.Context) ([]byte, *Error) {
			res, err := s.handlers.Sample(ctx, req)
			if err != nil {
				return nil, sampleFailure(err)
			}
			return s.encodeSample(&req, &res)
		},
	}
}

// sampleFailure is what a handler's error becomes: a *Error as it is, anything
// else without its text, which was not written for a server.
func sampleFailure(err error) *Error {
	var own *Error
	if errors.As(err, &own) && own.Message != "" {
		e := *own
		return &e
	}
	return &Error{Class: ClassCancelled, Op: methodSample, Message: "the request could not be answered", Err: err}
}

// stopReasons are those that the specification names; others are allowed there
// but not here, where they would come from ourselves.
var stopReasons = map[string]bool{"": true, "endTurn": true, "maxTokens": true, "stopSequence": true, "toolUse": true}

// encodeSample checks what the handler returned and encodes it.
func (s *Session) encodeSample(req *SampleRequest, res *SampleResult) ([]byte, *Error) {
	bad := func(message string) ([]byte, *Error) {
		return nil, &Error{Class: ClassConfig, Op: methodSample, Message: message}
	}
	switch {
	case res.Role != "" && res.Role != "assistant":
		return bad("a sampling request was answered in another role than assistant")
	case len(res.Content) == 0:
		return bad("a sampling request was answered without content")
	case len(res.Content) > 1 && !s.blockArrays():
		return bad("a sampling request was answered with several blocks on a revision that has one")
	case !stopReasons[res.StopReason]:
		return bad("a sampling request was answered with an unknown stop reason")
	}
	blocks := make([]json.RawMessage, 0, len(res.Content))
	for _, b := range res.Content {
		block := jsontext.Value(bytes.Clone(b))
		if block.Compact() != nil || !tap.IsObject(json.RawMessage(block)) {
			return bad("a sampling request was answered with a block that is not a JSON object")
		}
		f, err := tap.Object(json.RawMessage(block))
		kind, ok := tap.String(f.Get("type"))
		if err != nil || !ok || !s.sampleKind(kind) || kind == "tool_result" || kind == "tool_use" && len(req.Tools) == 0 {
			return bad("a sampling request was answered with a block of a type that is not allowed")
		}
		blocks = append(blocks, json.RawMessage(block))
	}
	out := []byte(`{"role":"assistant","content":`)
	if len(blocks) == 1 {
		out = append(out, blocks[0]...)
	} else {
		out = append(append(append(out, '['), bytes.Join(rawSlices(blocks), []byte{','})...), ']')
	}
	out = append(append(out, `,"model":`...), quoted(res.Model)...)
	if res.StopReason != "" {
		out = append(append(out, `,"stopReason":`...), quoted(res.StopReason)...)
	}
	return append(out, '}'), nil
}

func rawSlices(in []json.RawMessage) [][]byte {
	out := make([][]byte, len(in))
	for i, b := range in {
		out[i] = b
	}
	return out
}

// blockArrays says whether the content of a sampling message may be an array.
func (s *Session) blockArrays() bool { return s.info.Revision >= Revision20251125 }

// sampleKind says whether a type of content block may appear in sampling.
func (s *Session) sampleKind(kind string) bool {
	switch kind {
	case "text", "image":
		return true
	case "audio":
		return s.info.Revision >= Revision20250326
	case "tool_use", "tool_result":
		return s.toolSampling()
	}
	return false
}

// toolSampling says whether the sampling.tools capability was declared.
func (s *Session) toolSampling() bool { return s.samplingTools && s.blockArrays() }
