package protocol

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/looprig/looprig/mcpadapter/internal/protocol/tap"
)

const (
	methodComplete = "completion/complete"
	// maxCompletionBytes bounds one suggested value.
	maxCompletionBytes = 4 << 10
)

// Complete asks for values of a prompt's argument or a template's variable. A
// server that does not declare completions is not asked (ClassUnsupported),
// except on 2024-11-05, which had no such capability.
func (s *Session) Complete(ctx context.Context, req CompleteRequest) (out Completion, err error) {
	defer s.recovered(func(e *Error) {
		e.Op, e.Sent = methodComplete, true
		out, err = Completion{}, e
	})
	ref, e := completionRef(req)
	if e != nil {
		return Completion{}, e
	}
	caps, _ := tap.Object(s.info.Capabilities)
	if s.info.Revision != Revision20241105 && !tap.IsObject(caps.Get("completions")) {
		return Completion{}, &Error{Class: ClassUnsupported, Op: methodComplete, Message: "the server does not offer completions"}
	}
	argument := append(append([]byte(`{"name":`), quoted(req.Argument)...), `,"value":`...)
	argument = append(append(argument, quoted(req.Value)...), '}')
	members := []member{{"ref", ref}, {"argument", argument}}
	if len(req.Known) > 0 && s.info.Revision >= Revision20250618 {
		members = append(members, member{"context", knownArguments(req.Known)})
	}
	raw, e := s.rounds(ctx, &logicalCall{op: methodComplete, method: methodComplete, members: members})
	if e != nil {
		return Completion{}, e
	}
	if out, e = s.completion(raw); e != nil {
		return Completion{}, e
	}
	return out, nil
}

func completionRef(req CompleteRequest) ([]byte, *Error) {
	switch {
	case (req.Prompt == "") == (req.Template == ""):
		return nil, &Error{Class: ClassConfig, Op: methodComplete, Message: "a completion is for one prompt or one template"}
	case req.Argument == "":
		return nil, &Error{Class: ClassConfig, Op: methodComplete, Message: "a completion is for one argument"}
	case req.Prompt != "":
		return append(append([]byte(`{"type":"ref/prompt","name":`), quoted(req.Prompt)...), '}'), nil
	}
	return append(append([]byte(`{"type":"ref/resource","uri":`), quoted(req.Template)...), '}'), nil
}

func knownArguments(known map[string]string) []byte {
	out := []byte(`{"arguments":{`)
	for i, name := range slices.Sorted(maps.Keys(known)) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, quoted(name)...), ':'), quoted(known[name])...)
	}
	return append(out, "}}"...)
}

// completion reads a result. Values over the bounds refuse it whole.
func (s *Session) completion(raw json.RawMessage) (c Completion, e *Error) {
	result, err := tap.Object(raw)
	if err != nil {
		return c, protocolError(methodComplete, "the result is not an object")
	}
	f, err := tap.Object(result.Get("completion"))
	if err != nil {
		return c, protocolError(methodComplete, "a result without a completion")
	}
	values, err := tap.Array(f.Get("values"))
	if err != nil {
		return c, protocolError(methodComplete, "a completion without an array of values")
	}
	if len(values) > MaxCompletions {
		return c, &Error{Class: ClassOverLimit, Op: methodComplete, Message: "too many suggested values", Sent: true, Size: int64(len(values)), Limit: MaxCompletions, Setting: settingFixed}
	}
	for _, v := range values {
		text, ok := tap.String(v)
		switch {
		case tap.IsNull(v):
			s.mail.count(droppedNullItem, 1)
			continue
		case !ok:
			return c, protocolError(methodComplete, "a suggested value that is not a string")
		case len(text) > maxCompletionBytes:
			return c, &Error{Class: ClassOverLimit, Op: methodComplete, Message: "a suggested value is too long", Sent: true, Size: int64(len(text)), Limit: maxCompletionBytes, Setting: settingFixed}
		}
		c.Values = append(c.Values, text)
	}
	if c.Total, e = completionTotal(f.Get("total")); e != nil {
		return c, e
	}
	if more := f.Get("hasMore"); more != nil && !tap.IsNull(more) {
		var ok bool
		if c.HasMore, ok = tap.Bool(more); !ok {
			return c, protocolError(methodComplete, "a hasMore that is not a boolean")
		}
	}
	return c, nil
}

func completionTotal(raw json.RawMessage) (int, *Error) {
	if raw == nil || tap.IsNull(raw) {
		return 0, nil
	}
	n, kind := tap.ParseID(raw)
	if kind != tap.IDInteger || n < 0 {
		return 0, protocolError(methodComplete, "a total that is not a count")
	}
	return int(n), nil
}
