package protocol

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/looprig/looprig/mcpadapter/internal/protocol/tap"
)

// rawMethod is the method under which the SDK tracks every request of ours;
// it never appears on the wire.
const rawMethod = "looprig/raw"

type (
	rawParams struct{ mcp.ParamsBase }
	rawResult struct{ mcp.ResultBase }
)

// roundTrip sends one request and returns the raw result. urgent requests do
// not count against ConcurrentRequests.
func (s *Session) roundTrip(ctx context.Context, sl *slot, urgent bool) (json.RawMessage, *Error) {
	if e := s.ended(); e != nil {
		return nil, s.endedError(sl.op)
	}
	if !urgent {
		select {
		case s.admit <- struct{}{}:
			defer func() { <-s.admit }()
		case <-ctx.Done():
			return nil, ctxError(ctx, sl.op)
		case <-s.done:
			return nil, s.endedError(sl.op)
		}
	}
	if ctx.Err() != nil {
		return nil, ctxError(ctx, sl.op)
	}
	if sl.before != nil {
		s.guarded(sl.before)
	}
	err := s.exchange(ctx, sl)
	return s.settle(ctx, sl, err)
}

// exchange runs the request through the SDK under recover.
func (s *Session) exchange(ctx context.Context, sl *slot) (err error) {
	defer s.recovered(func(e *Error) { err = e })
	_, err = s.send(context.WithValue(ctx, slotKey{}, sl), rawMethod,
		&mcp.ClientRequest[*rawParams]{Session: s.sdk, Params: &rawParams{}})
	return err
}

// settle turns what the exchange left into a result or a typed failure.
func (s *Session) settle(ctx context.Context, sl *slot, err error) (json.RawMessage, *Error) {
	result, e, answered, sent := s.table.finish(sl)
	if sent {
		s.conn.Forget(sl.id)
	}
	if answered {
		return result, e
	}
	var panicked *Error
	switch {
	case errors.As(err, &panicked) && panicked.Class == ClassPanic:
		own := *panicked
		e, own.Op = &own, sl.op
	case s.endedOver():
		// Its caller's context ends with the connection. The frame was another
		// request's answer, or nobody can tell whose: what became of this request
		// is not known.
		e = s.endedError(sl.op)
		e.Class, e.Message = ClassLost, "the connection was lost: "+e.Message
		e.Limit, e.Size, e.Setting = 0, 0, ""
	case ctx.Err() != nil:
		e = ctxError(ctx, sl.op)
	case s.ended() != nil:
		e = s.endedError(sl.op)
	default:
		e = &Error{Class: ClassProtocol, Op: sl.op, Message: "the request could not be sent", Err: err}
	}
	e.Sent = sent
	return nil, e
}

// member is one member of a params object; value is raw JSON.
type member struct {
	name  string
	value []byte
}

// params builds a params object: _meta where the revision or the call needs
// one, then the members.
func (s *Session) params(token int64, extraMeta []member, members ...member) (json.RawMessage, error) {
	out := []byte{'{'}
	if meta, err := s.requestMeta(token, extraMeta); err != nil {
		return nil, err
	} else if meta != nil {
		out = append(append(append(out, `"_meta":{`...), meta...), '}')
	}
	for _, m := range members {
		var err error
		if out, err = appendMember(out, m); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

func appendMember(out []byte, m member) ([]byte, error) {
	if last := out[len(out)-1]; last != '{' {
		out = append(out, ',')
	}
	out, err := jsontext.AppendQuote(out, m.name)
	return append(append(out, ':'), m.value...), err
}

// requestMeta is the inside of _meta, nil for none.
func (s *Session) requestMeta(token int64, extra []member) ([]byte, error) {
	if !s.modern && token == 0 && len(extra) == 0 {
		return nil, nil
	}
	out := []byte{'{'}
	var err error
	if s.modern {
		out = append(out, s.meta...)
		if level := s.logLevel.Load(); level != nil {
			if out, err = appendMember(out, member{metaLogLevel, quoted(*level)}); err != nil {
				return nil, err
			}
		}
	}
	if token != 0 {
		out, err = appendMember(out, member{metaProgress, fmt.Append(nil, token)})
		if err != nil {
			return nil, err
		}
	}
	for _, m := range extra {
		if out, err = appendMember(out, m); err != nil {
			return nil, err
		}
	}
	return out[1:], nil
}

// quoted encodes a string; invalid UTF-8 is replaced, because a caller has no
// way to mean it.
func quoted(text string) []byte {
	out, _ := jsontext.AppendQuote(nil, text)
	return out
}

// compactObject checks that params are one JSON object, without duplicate
// keys, and removes its white space; nil stays nil.
func (s *Session) compactObject(op string, params json.RawMessage) (json.RawMessage, *Error) {
	if len(params) == 0 {
		return nil, nil
	}
	bad := &Error{Class: ClassConfig, Op: op, Message: "the parameters are not one JSON object without duplicate keys"}
	if !tap.IsObject(params) || tap.Check(params, s.limits.bounds()) != nil {
		return nil, bad
	}
	if bytes.IndexByte(params, '\n') < 0 && bytes.IndexByte(params, '\r') < 0 {
		return params, nil
	}
	compact := jsontext.Value(bytes.Clone(params))
	if err := compact.Compact(jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true)); err != nil {
		return nil, bad
	}
	return json.RawMessage(compact), nil
}

// notByHand are the methods that Request refuses: calls, which policy decides
// on, and what the session does itself.
var notByHand = map[string]bool{
	"tools/call": true, methodInitialize: true, methodDiscover: true, methodListen: true,
}

// Request sends one raw request and returns the raw result. It refuses
// tools/call and the methods of the handshake. On 2026-07-28 prompts/get and
// resources/read run through their rounds of input.
func (s *Session) Request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	name := strings.ToLower(strings.TrimSpace(method))
	if notByHand[name] || strings.HasPrefix(name, "notifications/") || method == "" || len(method) > maxIDBytes {
		return nil, &Error{Class: ClassConfig, Op: method, Message: "this method may not be sent by hand"}
	}
	members, meta, e := s.splitParams(method, params)
	if e != nil {
		return nil, e
	}
	bare := params == nil && !s.modern
	c := &logicalCall{op: method, method: method, name: nameOf(method, members), meta: meta, members: members, bare: bare}
	raw, e := s.rounds(ctx, c)
	if e != nil {
		return nil, e
	}
	return raw, nil
}

// splitParams takes the members and the _meta of a caller's params apart. The
// keys of _meta that the session sets itself are left out.
func (s *Session) splitParams(op string, params json.RawMessage) (members, meta []member, e *Error) {
	params, e = s.compactObject(op, params)
	if e != nil || params == nil {
		return nil, nil, e
	}
	fields, err := tap.Object(params)
	if err != nil {
		return nil, nil, &Error{Class: ClassConfig, Op: op, Message: "the parameters are not a JSON object", Err: err}
	}
	for _, f := range fields {
		if f.Name != "_meta" {
			members = append(members, member{f.Name, f.Value})
			continue
		}
		inner, err := tap.Object(f.Value)
		if err != nil {
			return nil, nil, &Error{Class: ClassConfig, Op: op, Message: "_meta is not a JSON object", Err: err}
		}
		for _, m := range inner {
			switch m.Name {
			case metaRevision, metaClientInfo, metaClientCaps, metaLogLevel, metaProgress:
			default:
				meta = append(meta, member{m.Name, m.Value})
			}
		}
	}
	return members, meta, nil
}

// nameOf is what a request is about, as transports with headers tell it.
func nameOf(method string, members []member) string {
	about := map[string]string{"prompts/get": "name", "resources/read": "uri"}[method]
	for _, m := range members {
		if about != "" && m.name == about {
			name, _ := tap.String(m.value)
			return name
		}
	}
	return ""
}

// ReadResource reads a resource and returns the raw result. A result that a
// server of 2026-07-28 calls fresh for some time is kept that long, within the
// bounds of the session's cache, until the server says that the resource or the
// listing changed; one that needed input is not kept.
func (s *Session) ReadResource(ctx context.Context, uri string) (json.RawMessage, error) {
	const op = "resources/read"
	kept, epoch := s.cache.get(uri)
	if kept != nil && s.ended() == nil {
		return kept, nil
	}
	c := &logicalCall{op: op, method: op, name: uri, members: []member{{"uri", quoted(uri)}}}
	raw, e := s.rounds(ctx, c)
	if e != nil {
		return nil, e
	}
	if f, err := tap.Object(raw); err == nil && s.modern && !c.asked {
		s.cache.put(uri, raw, timeToLive(f), epoch)
	}
	return raw, nil
}

// GetPrompt gets a prompt and returns the raw result; args is a JSON object
// or nil.
func (s *Session) GetPrompt(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	members := []member{{"name", quoted(name)}}
	args, e := s.compactObject("prompts/get", args)
	if e != nil {
		return nil, e
	}
	if args != nil {
		members = append(members, member{"arguments", args})
	}
	return s.logical(ctx, "prompts/get", members...)
}

// SetLogLevel sets the least level of log notifications: with logging/setLevel
// on the older revisions, in every later request on 2026-07-28.
func (s *Session) SetLogLevel(ctx context.Context, level string) error {
	if s.modern {
		s.logLevel.Store(&level)
		return nil
	}
	_, err := s.logical(ctx, "logging/setLevel", member{"level", quoted(level)})
	return err
}

func (s *Session) logical(ctx context.Context, method string, members ...member) (json.RawMessage, error) {
	raw, e := s.rounds(ctx, &logicalCall{op: method, method: method, name: nameOf(method, members), members: members})
	if e != nil {
		return nil, e
	}
	return raw, nil
}

// Ping checks that the server answers; an error that the server itself sent is
// an answer. On 2026-07-28, which has no ping, it asks for a short listing.
func (s *Session) Ping(ctx context.Context) error {
	method := "ping"
	if s.modern {
		method = s.cheapListing()
	}
	params, err := s.params(0, nil)
	if err != nil {
		return &Error{Class: ClassConfig, Op: method, Message: "the request could not be built", Err: err}
	}
	if !s.modern {
		params = nil
	}
	_, e := s.roundTrip(ctx, &slot{op: method, method: method, params: params, aside: true}, true)
	if e == nil || e.Class == ClassRemote {
		return nil
	}
	return e
}

// cheapListing picks the family that is most often the shortest.
func (s *Session) cheapListing() string {
	caps, _ := tap.Object(s.info.Capabilities)
	for _, fam := range []Family{Prompts, Resources, Tools} {
		if tap.IsObject(caps.Get(string(fam))) {
			return families[fam].method
		}
	}
	return methodDiscover
}
