package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// bridge is the connection that the SDK sees. Outbound it writes the bytes of
// the slot that the context carries; inbound it hands over nothing but stubs of
// answers to the SDK's own requests, so that no byte of a server is ever
// decoded by the SDK.
type bridge struct{ s *Session }

var (
	_ mcp.Transport  = bridge{}
	_ mcp.Connection = bridge{}
)

// answerStub tells the SDK that a request is over. result is nil for a failure.
type answerStub struct {
	id     int64
	result json.RawMessage
}

type slotKey struct{}

// errRefusedWrite is returned to the SDK for what it must not send; the reason
// is kept in the handshake.
var errRefusedWrite = errors.New("not sent")

func (b bridge) Connect(context.Context) (mcp.Connection, error) { return b, nil }

func (b bridge) SessionID() string { return "" }

func (b bridge) Close() error {
	b.s.closeSDK()
	return nil
}

func (s *Session) closeSDK() { s.sdkOnce.Do(func() { close(s.sdkClose) }) }

func (b bridge) Read(context.Context) (jsonrpc.Message, error) {
	select {
	case a := <-b.s.toSDK:
		return a.message(), nil
	default:
	}
	select {
	case a := <-b.s.toSDK:
		return a.message(), nil
	case <-b.s.sdkClose:
	case <-b.s.done:
	}
	return nil, io.EOF
}

func (a answerStub) message() *jsonrpc.Response {
	id, _ := jsonrpc.MakeID(float64(a.id))
	if a.result == nil {
		return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "see slot"}}
	}
	return &jsonrpc.Response{ID: id, Result: a.result}
}

func (b bridge) Write(ctx context.Context, msg jsonrpc.Message) error {
	req, ok := msg.(*jsonrpc.Request)
	if !ok {
		return errRefusedWrite
	}
	if !req.IsCall() {
		return b.s.writeNotification(ctx, req)
	}
	id, ok := req.ID.Raw().(int64)
	if !ok {
		return errRefusedWrite
	}
	sl, err := b.s.slotFor(ctx, req)
	if err != nil {
		return err
	}
	frame, err := requestFrame(id, sl.method, sl.params)
	if err != nil {
		return err
	}
	b.s.table.register(id, sl)
	return b.s.write(ctx, wire.Outgoing{
		Frame: frame, ID: id, Method: sl.method, Name: sl.name, Revision: b.s.revision(sl), Params: sl.headers, Stream: sl.listen,
	})
}

// slotFor finds what is really sent for a request of the SDK.
func (s *Session) slotFor(ctx context.Context, req *jsonrpc.Request) (*slot, error) {
	if req.Method == rawMethod {
		if sl, ok := ctx.Value(slotKey{}).(*slot); ok {
			return sl, nil
		}
		return nil, errRefusedWrite
	}
	return s.hs.slotFor(req.Method)
}

func (s *Session) writeNotification(ctx context.Context, req *jsonrpc.Request) error {
	switch req.Method {
	case "notifications/initialized":
		// Requests of the server are legitimate from here on.
		s.ready.Store(true)
		return s.notice(ctx, req.Method, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	case "notifications/cancelled":
		// On Streamable HTTP of 2026-07-28 a request is cancelled by closing its
		// response (wire.Conn.Forget), and no notification of a client exists.
		sl, ok := ctx.Value(slotKey{}).(*slot)
		if !ok || s.modern && s.kind != kindStdio {
			return nil
		}
		id, wanted := s.table.wantsCancel(sl)
		if !wanted {
			return nil
		}
		return s.notice(ctx, req.Method, cancelledFrame(id))
	}
	return errRefusedWrite
}

// write sends one frame. A failure that is not the caller's context ends the
// session: half a frame may be out.
func (s *Session) write(ctx context.Context, out wire.Outgoing) error {
	if e := s.ended(); e != nil {
		return e
	}
	err := s.conn.Write(ctx, out)
	if err != nil && ctx.Err() == nil {
		s.end(lost(err))
	}
	return err
}

// notice sends one notification.
func (s *Session) notice(ctx context.Context, method string, frame []byte) error {
	return s.write(ctx, wire.Outgoing{Frame: frame, Method: method, Revision: s.revision(nil)})
}

// revision is what a request is sent under: in the handshake what it offers.
func (s *Session) revision(sl *slot) string {
	if sl != nil && sl.offer != "" {
		return sl.offer
	}
	if r := s.negotiated.Load(); r != nil {
		return *r
	}
	return ""
}

func cancelledFrame(id int64) []byte {
	f := []byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`)
	f = strconv.AppendInt(f, id, 10)
	return append(f, `,"reason":"the caller gave the request up"}}`...)
}

func requestFrame(id int64, method string, params json.RawMessage) ([]byte, error) {
	f := make([]byte, 0, len(params)+len(method)+64)
	f = append(f, `{"jsonrpc":"2.0","id":`...)
	f = strconv.AppendInt(f, id, 10)
	return appendBody(f, method, params)
}

func notificationFrame(method string, params json.RawMessage) ([]byte, error) {
	return appendBody([]byte(`{"jsonrpc":"2.0"`), method, params)
}

func appendBody(f []byte, method string, params json.RawMessage) ([]byte, error) {
	f, err := jsontext.AppendQuote(append(f, `,"method":`...), method)
	if err != nil {
		return nil, err
	}
	if params != nil {
		f = append(append(f, `,"params":`...), params...)
	}
	return append(f, '}'), nil
}

// giveUp fails a request from outside the pump.
func (s *Session) giveUp(sl *slot, err *Error) {
	if s.table.answer(sl, nil, err) {
		s.tellSDK(sl.id, nil)
	}
}

// tellSDK hands the SDK the end of one of its requests.
func (s *Session) tellSDK(id int64, stub json.RawMessage) {
	select {
	case s.toSDK <- answerStub{id: id, result: stub}:
	case <-s.sdkClose:
	case <-s.done:
	}
}
