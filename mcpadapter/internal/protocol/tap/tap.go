// Package tap examines inbound JSON-RPC frames before anything else does. It
// turns a frame into a Message whose parts are slices of the received bytes,
// or into a Fault that says what rule was broken and, where that can be told,
// which request the frame was an answer to.
//
// Invariants: no input panics, recursion does not exist, work is linear in the
// frame's size, and a frame with a duplicate key anywhere never becomes a
// Message. Keys are matched exactly: a wrong-case key is an unknown key. The
// package knows JSON-RPC but no MCP method, and must not import the SDK.
package tap

import (
	"bytes"
	"encoding/json"
	"errors"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind tells the three sorts of JSON-RPC message apart.
type Kind uint8

// The kinds of a Message.
const (
	Response Kind = iota
	Request
	Notification
)

// Message is one well-formed frame. All raw parts alias the frame.
type Message struct {
	Kind   Kind
	ID     json.RawMessage
	Method string
	// Params is nil when the member is absent and "null" when it is null.
	Params json.RawMessage
	// Result and Error: exactly one is set for a Response. Error is an object.
	Result json.RawMessage
	Error  json.RawMessage
	// NullMember says that a null "error" or "result" next to the other one
	// was treated as absent.
	NullMember bool
}

// Bounds limit the shape of a frame.
type Bounds struct {
	Depth   int // nesting of arrays and objects
	Members int // object members in the whole frame
}

// Reason is the closed list of what a Fault may say.
type Reason string

// The reasons.
const (
	Batch        Reason = "batch"         // an array of messages
	NotObject    Reason = "not_object"    // no JSON object
	Syntax       Reason = "syntax"        // not one JSON value
	Encoding     Reason = "encoding"      // not UTF-8
	DuplicateKey Reason = "duplicate_key" // at any depth
	TooDeep      Reason = "depth"
	TooMany      Reason = "members"
	Version      Reason = "version"    // "jsonrpc" is not "2.0"
	BadMethod    Reason = "method"     // "method" is not a string
	BadID        Reason = "id"         // an id that is neither string nor number, or none
	Both         Reason = "both"       // result and error
	Neither      Reason = "neither"    // no result and no error
	BadError     Reason = "error"      // "error" is not a proper error object
	BadResult    Reason = "result"     // "result" is not an object
	MixedFrame   Reason = "mixed"      // a method together with result or error
	BadParams    Reason = "parameters" // "params" is neither object, array nor null
)

// Fault says why a frame was refused.
type Fault struct {
	Reason Reason
	// ID is the raw id of the frame when it could be found, else nil. It may
	// be of any JSON type.
	ID json.RawMessage
	// HasMethod says that the frame looked like a request or notification.
	HasMethod bool
	// Size and Limit are set for TooDeep and TooMany.
	Size, Limit int
}

func (f *Fault) Error() string { return "frame refused: " + string(f.Reason) }

// Parse examines one frame. Exactly one of its results is meaningful.
func Parse(data []byte, b Bounds) (Message, *Fault) {
	if f := shape(data, b); f != nil {
		return Message{}, attributed(f, data)
	}
	members, err := read(data)
	if err != nil {
		return Message{}, attributed(err, data)
	}
	m, f := assemble(members)
	if f != nil {
		return Message{}, attributed(f, data)
	}
	return m, nil
}

// Check examines one JSON value that is not a frame: syntax, duplicates,
// encoding and bounds.
func Check(value []byte, b Bounds) *Fault {
	if f := measured(value, b); f != nil {
		return f
	}
	d := decoders.Get().(*decoder)
	defer d.release(len(value))
	d.reset(value)
	if err := d.SkipValue(); err != nil {
		return &Fault{Reason: reasonOf(err)}
	}
	if len(bytes.TrimLeft(value[d.InputOffset():], " \t\r\n")) > 0 {
		return &Fault{Reason: Syntax}
	}
	return nil
}

func attributed(f *Fault, data []byte) *Fault {
	f.ID, f.HasMethod = Attribute(data)
	return f
}

func shape(data []byte, b Bounds) *Fault {
	switch {
	case len(data) == 0:
		return &Fault{Reason: NotObject}
	case data[0] == '[':
		return &Fault{Reason: Batch}
	case data[0] != '{':
		return &Fault{Reason: NotObject}
	}
	return measured(data, b)
}

func measured(data []byte, b Bounds) *Fault {
	depth, members := measure(data)
	switch {
	case depth > b.Depth:
		return &Fault{Reason: TooDeep, Size: depth, Limit: b.Depth}
	case members > b.Members:
		return &Fault{Reason: TooMany, Size: members, Limit: b.Members}
	case !utf8.Valid(data):
		return &Fault{Reason: Encoding}
	}
	return nil
}

// frame holds the members of a JSON-RPC object; nil means absent.
type frame struct {
	version, id, method, params, result, errorObj json.RawMessage
}

func read(data []byte) (frame, *Fault) {
	var f frame
	d := decoders.Get().(*decoder)
	defer d.release(len(data))
	d.reset(data)
	if _, err := d.ReadToken(); err != nil {
		return f, &Fault{Reason: reasonOf(err)}
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return f, &Fault{Reason: reasonOf(err)}
		}
		part := f.member(name.String())
		start := d.InputOffset()
		if err := d.SkipValue(); err != nil {
			return f, &Fault{Reason: reasonOf(err)}
		}
		if part != nil {
			*part = valueAt(data, start, d.InputOffset())
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return f, &Fault{Reason: reasonOf(err)}
	}
	if len(bytes.TrimLeft(data[d.InputOffset():], " \t\r\n")) > 0 {
		return f, &Fault{Reason: Syntax}
	}
	return f, nil
}

func (f *frame) member(name string) *json.RawMessage {
	switch name {
	case "jsonrpc":
		return &f.version
	case "id":
		return &f.id
	case "method":
		return &f.method
	case "params":
		return &f.params
	case "result":
		return &f.result
	case "error":
		return &f.errorObj
	}
	return nil
}

// valueAt cuts the value out of data[start:end], where start is the end of the
// member's name.
func valueAt(data []byte, start, end int64) json.RawMessage {
	v := bytes.TrimLeft(data[start:end], " \t\r\n")
	v = bytes.TrimPrefix(v, []byte(":"))
	return bytes.TrimLeft(v, " \t\r\n")
}

func assemble(f frame) (Message, *Fault) {
	if string(f.version) != `"2.0"` {
		return Message{}, &Fault{Reason: Version}
	}
	if f.method != nil {
		return assembleRequest(f)
	}
	m := Message{Kind: Response, ID: f.id}
	hasResult, hasError := f.result != nil, f.errorObj != nil
	if hasResult && hasError {
		m.NullMember = true
		switch {
		case IsNull(f.errorObj):
			hasError = false
		case IsNull(f.result):
			hasResult = false
		default:
			return m, &Fault{Reason: Both}
		}
	}
	switch {
	case f.id == nil:
		return m, &Fault{Reason: BadID}
	case !hasResult && !hasError:
		return m, &Fault{Reason: Neither}
	case hasError && !properError(f.errorObj):
		return m, &Fault{Reason: BadError}
	case hasError:
		m.Error = f.errorObj
	case f.result[0] != '{':
		return m, &Fault{Reason: BadResult}
	default:
		m.Result = f.result
	}
	return m, nil
}

func assembleRequest(f frame) (Message, *Fault) {
	method, ok := String(f.method)
	switch {
	case !ok:
		return Message{}, &Fault{Reason: BadMethod}
	case f.result != nil || f.errorObj != nil:
		return Message{}, &Fault{Reason: MixedFrame}
	case f.params != nil && f.params[0] != '{' && f.params[0] != '[' && !IsNull(f.params):
		return Message{}, &Fault{Reason: BadParams}
	case f.id == nil:
		return Message{Kind: Notification, Method: method, Params: f.params}, nil
	}
	if _, kind := ParseID(f.id); kind != IDInteger && kind != IDString {
		return Message{}, &Fault{Reason: BadID}
	}
	return Message{Kind: Request, ID: f.id, Method: method, Params: f.params}, nil
}

func properError(raw json.RawMessage) bool {
	fields, err := Object(raw)
	if err != nil {
		return false
	}
	_, kind := ParseID(fields.Get("code"))
	_, message := String(fields.Get("message"))
	return kind == IDInteger && message
}

// decoder is a pooled jsontext decoder together with its input.
type decoder struct {
	jsontext.Decoder
	in bytes.Buffer
}

// keptInput is the largest input after which a decoder is pooled again: the
// bookkeeping of a huge object is not kept alive.
const keptInput = 256 << 10

var decoders = sync.Pool{New: func() any { return new(decoder) }}

func (d *decoder) reset(data []byte) {
	d.in = *bytes.NewBuffer(data)
	// Lone surrogates are allowed because values are passed on byte for byte;
	// raw invalid UTF-8 has been refused before.
	d.Reset(&d.in, jsontext.AllowInvalidUTF8(true))
}

func (d *decoder) release(size int) {
	if size <= keptInput {
		d.in = bytes.Buffer{}
		decoders.Put(d)
	}
}

func reasonOf(err error) Reason {
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return DuplicateKey
	}
	return Syntax
}
