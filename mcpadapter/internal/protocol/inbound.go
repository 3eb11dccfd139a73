package protocol

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/looprig/looprig/mcpadapter/internal/protocol/tap"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

const (
	codeInvalidRequest = -32600
	codeInternal       = -32603
)

// inbound are the requests of the server that wait for an answer of ours, by
// the raw text of their ids.
type inbound struct {
	mu      sync.Mutex
	pending map[string]context.CancelFunc
}

func newInbound() *inbound { return &inbound{pending: map[string]context.CancelFunc{}} }

// add is false when a request with this id is already being answered.
func (in *inbound) add(id json.RawMessage, cancel context.CancelFunc) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.pending[string(id)] != nil {
		return false
	}
	in.pending[string(id)] = cancel
	return true
}

// remove is false when the server has cancelled the request.
func (in *inbound) remove(id json.RawMessage) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	_, ok := in.pending[string(id)]
	delete(in.pending, string(id))
	return ok
}

// cancel ends the request that the server no longer waits for; false says that
// the id is unusable.
func (in *inbound) cancel(id json.RawMessage) bool {
	if _, kind := tap.ParseID(id); kind != tap.IDInteger && kind != tap.IDString {
		return false
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if cancel := in.pending[string(id)]; cancel != nil {
		delete(in.pending, string(id))
		cancel()
	}
	return true
}

// serverRequest answers or dispatches one request of the server.
func (s *Session) serverRequest(m tap.Message) {
	switch {
	case len(m.ID) > maxIDBytes || len(m.Method) > maxIDBytes:
		s.malformedFrame()
	case m.Method == "ping":
		s.reply(m.ID, []byte(`{}`))
	case !s.ready.Load():
		s.mail.count(droppedEarly, 1)
		s.refuseRequest(m.ID, m.Method, codeInvalidRequest, "the request came before the handshake was complete", "")
	case m.Method == methodElicit && s.mayAsk(s.hs.declaredElicit):
		s.serveElicit(m)
	case m.Method == methodSample && s.mayAsk(s.hs.declaredSample):
		s.serveSample(m)
	case m.Method == methodRoots && s.mayAsk(s.roots.declared()):
		s.reply(m.ID, s.roots.list())
	default:
		s.refuseRequest(m.ID, m.Method, CodeMethodNotFound, "the capability was not declared", "")
	}
}

// mayAsk says whether the server may send a request for which a capability was
// declared. On 2026-07-28 it may not: there input is asked for in results.
func (s *Session) mayAsk(declared bool) bool { return declared && !s.modern }

// refuseRequest answers a request of the server with an error, and reports it.
func (s *Session) refuseRequest(id json.RawMessage, method string, code int, reason, detail string) {
	s.mail.refuse(refusal{method: method, reason: reason, detail: bounded(detail, maxErrorDetail)})
	// The id may be out of a frame that is no JSON, and is echoed as it came.
	if _, kind := tap.ParseID(id); (kind == tap.IDInteger || kind == tap.IDString) && jsontext.Value(id).IsValid() {
		s.replyError(id, code, reason)
	}
}

func (s *Session) replyError(id json.RawMessage, code int, message string) {
	f := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	f = strconv.AppendInt(append(f, `,"error":{"code":`...), int64(code), 10)
	f, err := jsontext.AppendQuote(append(f, `,"message":`...), message)
	if err == nil {
		s.queueReply(append(f, '}', '}'))
	}
}

func (s *Session) reply(id json.RawMessage, result []byte) {
	f := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	f = append(append(f, `,"result":`...), result...)
	s.queueReply(append(f, '}'))
}

// queueReply never waits: a server that floods requests and does not read the
// answers loses answers, which are counted.
func (s *Session) queueReply(frame []byte) {
	select {
	case s.replies <- frame:
	default:
		s.mail.count(droppedReply, 1)
	}
}

func (s *Session) writeReplies() {
	for {
		select {
		case frame := <-s.replies:
			if s.write(s.ctx, wire.Outgoing{Frame: frame, Revision: s.revision(nil)}) != nil {
				return
			}
		case <-s.done:
			return
		}
	}
}
