package protocol

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/looprig/looprig/mcpadapter/internal/protocol/tap"
)

// legacy are the revisions that initialize negotiates, newest first.
var legacy = []string{Revision20251125, Revision20250618, Revision20250326, Revision20241105}

const (
	methodDiscover   = "server/discover"
	methodInitialize = "initialize"
	clientName       = "looprig"

	metaRevision   = "io.modelcontextprotocol/protocolVersion"
	metaClientInfo = "io.modelcontextprotocol/clientInfo"
	metaClientCaps = "io.modelcontextprotocol/clientCapabilities"
	metaServerInfo = "io.modelcontextprotocol/serverInfo"
	metaLogLevel   = "io.modelcontextprotocol/logLevel"
	metaProgress   = "progressToken"
	maxListedRevs  = 64
	abandonAfter   = 500 * time.Millisecond
)

// plan is what one connection is to negotiate.
type plan struct {
	// offer is the revision asked for; accept are the replies to initialize
	// that are taken.
	offer  string
	accept []string
	// probe bounds server/discover and an initialize after it; 0 leaves the
	// bound to the context.
	probe time.Duration
	// reuse allows initialize on the same connection after the server has
	// answered server/discover with a plain error.
	reuse bool
}

// handshake steers the SDK's connect: the SDK decides when it sends
// server/discover and initialize, the handshake what is sent and what of the
// answers is taken.
type handshake struct {
	s    *Session
	plan plan
	// over is closed when the SDK's connect has returned.
	over chan struct{}

	// mu guards the slots and what the server said of its revisions: a
	// connection that ends early leaves the SDK's goroutine or the pump at work.
	mu                   sync.Mutex
	discover, initialize *slot
	// common is the newest older revision that a discover result named.
	common string
	// none says that the server named its revisions and none is ours.
	none bool
	// What initialize declared, constant once the session is ready.
	declaredElicit, declaredSample bool
}

func newHandshake(s *Session, p plan) *handshake {
	return &handshake{s: s, plan: p, over: make(chan struct{})}
}

// run performs the SDK's connect.
func (h *handshake) run(ctx context.Context) (err error) {
	defer close(h.over)
	defer h.s.recovered(func(e *Error) { err = e })
	opts := &mcp.ClientOptions{
		Capabilities:   &mcp.ClientCapabilities{},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
	}
	client := mcp.NewClient(&mcp.Implementation{Name: clientName, Version: h.s.version}, opts)
	if err := mcp.AddSendingCustomMethod[*rawParams, *rawResult](client, rawMethod); err != nil {
		return err
	}
	client.AddSendingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		h.s.send = next
		return next
	})
	client.AddReceivingMiddleware(refuseReceived)
	h.s.sdk, err = client.Connect(ctx, bridge{h.s}, &mcp.ClientSessionOptions{ProtocolVersion: h.plan.offer})
	h.forget()
	return err
}

// forget lets the connection give up what it holds for the handshake.
func (h *handshake) forget() {
	discover, initialize := h.slots()
	for _, sl := range []*slot{discover, initialize} {
		if sl == nil {
			continue
		}
		if id, sent := h.s.table.sentAs(sl); sent {
			h.s.conn.Forget(id)
		}
	}
}

// refuseReceived keeps every request of a server from the SDK's own handlers:
// the session answers them before the SDK, and one that got through all the
// same must not reach code that trusts it.
func refuseReceived(mcp.MethodHandler) mcp.MethodHandler {
	return func(context.Context, string, mcp.Request) (mcp.Result, error) {
		return nil, errRefusedWrite
	}
}

// slotFor is called by the bridge when the SDK sends a request of the
// handshake.
func (h *handshake) slotFor(method string) (*slot, error) {
	discover, initialize := h.slots()
	switch {
	case method == methodDiscover && discover == nil:
		params, err := h.discoverParams()
		if err != nil {
			return nil, err
		}
		sl := &slot{offer: Revision20260728, op: methodDiscover, method: method, params: params, quiet: true, accept: h.acceptDiscover}
		h.keep(&h.discover, sl)
		return sl, nil
	case method == methodInitialize && initialize == nil:
		offer := h.plan.offer
		if discover != nil {
			if offer = h.afterDiscover(); offer == "" {
				return nil, errRefusedWrite
			}
		}
		params, err := h.initializeParams(offer)
		if err != nil {
			return nil, err
		}
		sl := &slot{offer: offer, op: methodInitialize, method: method, params: params, quiet: true, accept: h.acceptInitialize}
		h.keep(&h.initialize, sl)
		return sl, nil
	}
	return nil, errRefusedWrite
}

// keep remembers a request of the handshake and bounds it.
func (h *handshake) keep(place **slot, sl *slot) {
	h.mu.Lock()
	*place = sl
	h.mu.Unlock()
	h.bound(sl)
}

func (h *handshake) slots() (discover, initialize *slot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.discover, h.initialize
}

// listed takes the revisions that the server names, and returns the newest
// older one of them that is ours.
func (h *handshake) listed(revisions []string) (common string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.common = newestCommon(revisions)
	h.none = h.common == ""
	return h.common
}

// refusal is how server/discover failed, nil when it did not, and what the
// server said of its revisions.
func (h *handshake) refusal() (e *Error, common string, none bool) {
	discover, _ := h.slots()
	if discover != nil {
		e = h.s.table.failure(discover)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return e, h.common, h.none
}

// bound fails the request when the probe's time is over.
func (h *handshake) bound(sl *slot) {
	if h.plan.probe <= 0 {
		return
	}
	h.s.work(func() {
		timer := time.NewTimer(h.plan.probe)
		defer timer.Stop()
		select {
		case <-timer.C:
			e := &Error{Class: ClassTimeout, Op: sl.op, Message: "no answer within " + h.plan.probe.String(), Sent: true}
			h.s.giveUp(sl, e)
			h.abandon(sl, e)
		case <-h.over:
		case <-h.s.done:
		}
	})
}

// abandon ends the session when the SDK's connect does not return soon after
// its request was given up: it may hang in a write.
func (h *handshake) abandon(sl *slot, e *Error) {
	if _, got, _, _ := h.s.table.finish(sl); got != e {
		return
	}
	timer := time.NewTimer(abandonAfter)
	defer timer.Stop()
	select {
	case <-timer.C:
		h.s.end(e)
	case <-h.over:
	case <-h.s.done:
	}
}

// afterDiscover decides whether initialize is sent on the connection on which
// server/discover failed, and what it offers; "" says no.
func (h *handshake) afterDiscover() string {
	e, common, _ := h.refusal()
	switch {
	case !h.plan.reuse || e == nil:
		return ""
	case e.Class == ClassUnsupported:
		return common
	case e.Class == ClassRemote:
		return h.fallback()
	}
	return ""
}

// fallback is what initialize offers after server/discover failed, on whatever
// connection; "" says that the answer speaks against initialize.
func (h *handshake) fallback() string {
	e, common, none := h.refusal()
	switch {
	case e == nil:
		return legacy[0]
	case e.Class == ClassUnsupported && common != "":
		return common
	case none:
		return ""
	case e.Class != ClassRemote:
		return legacy[0]
	case e.Code == CodeUnsupportedRevision:
		return h.fromSupported(e.Data)
	case e.Code == CodeHeaderMismatch || e.Code == CodeMissingCapability:
		return ""
	}
	return legacy[0]
}

// acceptDiscover takes a discover result; it runs on the pump.
func (h *handshake) acceptDiscover(result json.RawMessage) (json.RawMessage, *Error) {
	fields, e := completeResult(methodDiscover, result)
	if e != nil {
		return nil, e
	}
	listed, ok := revisionList(fields.Get("supportedVersions"))
	if !ok {
		return nil, protocolError(methodDiscover, "a discover result without a list of revisions")
	}
	if !slices.Contains(listed, Revision20260728) {
		h.listed(listed)
		return nil, &Error{Class: ClassUnsupported, Op: methodDiscover, Message: "the server does not speak " + Revision20260728, Sent: true}
	}
	meta, _ := tap.Object(fields.Get("_meta"))
	if e := h.take(methodDiscover, Revision20260728, fields, meta.Get(metaServerInfo)); e != nil {
		return nil, e
	}
	h.s.modern = true
	h.s.ready.Store(true)
	return json.RawMessage(`{"resultType":"complete","supportedVersions":["` + Revision20260728 + `"],"capabilities":{}}`), nil
}

// acceptInitialize takes an initialize result; it runs on the pump.
func (h *handshake) acceptInitialize(result json.RawMessage) (json.RawMessage, *Error) {
	fields, err := tap.Object(result)
	if err != nil {
		return nil, protocolError(methodInitialize, "the result is not an object")
	}
	revision, ok := tap.String(fields.Get("protocolVersion"))
	if !ok {
		return nil, protocolError(methodInitialize, "a result without a protocolVersion")
	}
	if !slices.Contains(h.plan.accept, revision) {
		return nil, &Error{
			Class: ClassUnsupported, Op: methodInitialize, Sent: true,
			Message: "the server chose a revision that was not offered or is not supported", Detail: bounded(revision, maxIDBytes),
		}
	}
	if e := h.take(methodInitialize, revision, fields, fields.Get("serverInfo")); e != nil {
		return nil, e
	}
	return json.RawMessage(`{"protocolVersion":"` + revision + `","capabilities":{},"serverInfo":{"name":"server","version":"0"}}`), nil
}

// failure is why the handshake did not succeed.
func (h *handshake) failure(ctx context.Context, err error) *Error {
	discover, initialize := h.slots()
	last := initialize
	if last == nil {
		last = discover
	}
	if last != nil {
		if _, e, _, _ := h.s.table.finish(last); e != nil {
			return e
		}
	}
	if ctx.Err() != nil {
		return ctxError(ctx, "connect")
	}
	if h.s.ended() != nil {
		return h.s.endedError("connect")
	}
	return &Error{Class: ClassProtocol, Op: "connect", Message: "the handshake failed", Err: err}
}

func protocolError(op, message string) *Error {
	return &Error{Class: ClassProtocol, Op: op, Message: message, Sent: true}
}
