package protocol

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/looprig/looprig/mcpadapter/internal/protocol/tap"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// Session is one live MCP session. All methods are safe for concurrent use.
// Every error is a *Error.
type Session struct {
	conn     wire.Conn
	kind     string // of the transport
	limits   Limits
	handlers Handlers
	version  string // of this client
	// samplingTools allows tools in sampling requests.
	samplingTools bool
	roots         *rootList
	ctx           context.Context
	cancel        context.CancelFunc

	// Set while connecting and constant afterwards.
	info     Info
	modern   bool // 2026-07-28
	meta     []byte
	declared map[Family]bool
	sdk      *mcp.ClientSession
	send     mcp.MethodHandler
	hs       *handshake

	table     *table
	toSDK     chan answerStub
	sdkClose  chan struct{} // closed when the SDK gives the connection up
	sdkOnce   sync.Once
	admit     chan struct{} // one token per concurrent request
	elicits   chan struct{} // one token per pending elicitation
	samples   chan struct{} // one token per pending sampling request
	replies   chan []byte
	inbound   *inbound
	mail      *mailbox
	listen    *listener
	cache     *readCache
	mirrors   mirrors
	tokens    atomic.Int64
	logLevel  atomic.Pointer[string]
	stateWait time.Duration // see stateRetryWait
	ready     atomic.Bool   // the handshake is complete
	// negotiated is the revision, nil before the handshake found it.
	negotiated atomic.Pointer[string]
	malformed  atomic.Int64 // counts refused frames

	endMu   sync.Mutex // guards cause, the closing of done and additions to workers
	cause   *Error
	done    chan struct{}
	closed  chan struct{} // the connection and the SDK session are closed
	workers sync.WaitGroup
	// retired are the connections that were given up while connecting.
	retired *sync.WaitGroup
}

func newSession(conn wire.Conn, opt Options) *Session {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Session{
		conn:          conn,
		kind:          opt.Dialer.Kind(),
		limits:        opt.Limits,
		handlers:      opt.Handlers,
		version:       opt.ClientVersion,
		samplingTools: opt.SamplingTools,
		roots:         newRootList(opt.Roots),
		ctx:           ctx,
		cancel:        cancel,
		table:         newTable(),
		toSDK:         make(chan answerStub, 16),
		sdkClose:      make(chan struct{}),
		admit:         make(chan struct{}, opt.Limits.ConcurrentRequests),
		elicits:       make(chan struct{}, opt.Limits.InputRequests),
		samples:       make(chan struct{}, min(opt.Limits.InputRequests, maxPendingSamples)),
		replies:       make(chan []byte, replyQueue),
		inbound:       newInbound(),
		mail:          newMailbox(opt.Limits.QueuedNotifications),
		done:          make(chan struct{}),
		closed:        make(chan struct{}),
		stateWait:     stateRetryWait,
		cache:         newReadCache(),
	}
	s.listen = newListener(s)
	return s
}

// start begins reading. Everything it starts ends when the session ends.
func (s *Session) start() {
	s.work(s.pump)
	s.work(s.writeReplies)
	s.work(func() { s.mail.run(s) })
}

// work runs f on a goroutine that Close awaits; false says that the session
// has ended and f will not run.
func (s *Session) work(f func()) bool {
	s.endMu.Lock()
	defer s.endMu.Unlock()
	if s.cause != nil {
		return false
	}
	s.workers.Add(1)
	go func() {
		defer s.workers.Done()
		defer s.recovered(nil)
		f()
	}()
	return true
}

// recovered stops a panic, counts it and tells then, if set.
func (s *Session) recovered(then func(*Error)) {
	v := recover()
	if v == nil {
		return
	}
	s.mail.count(droppedPanic, 1)
	if then != nil {
		then(&Error{Class: ClassPanic, Message: "recovered from a panic", Detail: fmt.Sprint(v)})
	}
}

// Info is what negotiation found; it does not change.
func (s *Session) Info() Info { return s.info }

// Done is closed when the session is lost or closed.
func (s *Session) Done() <-chan struct{} { return s.done }

// Err is the cause of the session's end, nil while it lives.
func (s *Session) Err() error {
	if e := s.ended(); e != nil {
		return e
	}
	return nil
}

func (s *Session) ended() *Error {
	select {
	case <-s.done:
		return s.cause
	default:
		return nil
	}
}

// Diagnostics describes the peer; its strings are raw.
func (s *Session) Diagnostics() wire.Diagnostics { return s.conn.Diagnostics() }

// Close ends the session: calls in flight fail, the listen stream is given up,
// handlers' contexts end, and the connection is closed. It waits for all of
// that, at most closeBound, and is idempotent.
func (s *Session) Close() error {
	s.end(&Error{Class: ClassClosed, Op: "close", Message: "the session is closed", Err: wire.ErrClosed})
	timer := time.NewTimer(closeBound)
	defer timer.Stop()
	idle := make(chan struct{})
	go func() {
		s.workers.Wait()
		<-s.closed
		if s.retired != nil {
			s.retired.Wait()
		}
		close(idle)
	}()
	select {
	case <-idle:
		return nil
	case <-timer.C:
		return &Error{Class: ClassTimeout, Op: "close", Message: "the session did not end in time"}
	}
}

// end is the single way in which a session ends, whatever the cause.
func (s *Session) end(cause *Error) {
	s.endMu.Lock()
	defer s.endMu.Unlock()
	if s.cause != nil {
		return
	}
	s.cause = cause
	close(s.done)
	s.cancel()
	go s.release()
}

// release closes the connection and the SDK's session.
func (s *Session) release() {
	defer close(s.closed)
	defer s.recovered(nil)
	_ = s.conn.Close()
	s.closeSDK()
	<-s.hs.over
	if s.sdk != nil {
		_ = s.sdk.Close()
	}
}

// lost turns the error of a read or write into the cause of the session's end.
func lost(err error) *Error {
	e := &Error{Class: ClassLost, Op: "session", Message: "the connection was lost", Err: err}
	var (
		loss  *wire.LossError
		noise *wire.NoiseError
		frame *wire.FrameEndError
		class failureClass
	)
	switch {
	case errors.As(err, &class):
		e.Class, e.Message, e.Detail = Class(class.FailureClass()), host(class), answered(err)
	case errors.As(err, &loss):
		e.Message = loss.Error()
	case errors.As(err, &noise):
		e.Class, e.Message = ClassNoise, noise.Error()
	case errors.As(err, &frame):
		e.Class, e.Message = ClassOverLimit, fmt.Sprintf("a frame over the limit of %d bytes (setting %s) did not end, and is given up", frame.Frame, settingFrameBytes)
		e.Limit, e.Size, e.Setting = frame.Limit, frame.Skipped, settingFixed
		if frame.Waited > 0 {
			// What it was over first is the limit that there is.
			e.Message = fmt.Sprintf("a frame did not end within %s", frame.Waited)
			e.Limit, e.Setting = int64(frame.Frame), settingFrameBytes
		}
	case errors.Is(err, wire.ErrClosed):
		e.Class, e.Message = ClassClosed, "the session is closed"
	case errors.Is(err, io.EOF):
		e.Message = "connection lost: the server closed its output"
	}
	return e
}

// host is the message of an error that knows its class, without what wraps it.
func host(class failureClass) string {
	if err, ok := class.(error); ok {
		return err.Error()
	}
	return "the request failed"
}

// answered is the raw text with which a server that speaks HTTP but not MCP
// answered.
func answered(err error) string {
	var (
		status *wire.StatusError
		page   *wire.NotEndpointError
	)
	switch {
	case errors.As(err, &status):
		return bounded(status.Body, maxErrorDetail)
	case errors.As(err, &page):
		return bounded(page.MediaType, maxIDBytes)
	}
	return ""
}

// ctxError is the error for a wait that the caller's context ended.
func ctxError(ctx context.Context, op string) *Error {
	e := &Error{Class: ClassCancelled, Op: op, Message: "cancelled", Err: context.Cause(ctx)}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.Class, e.Message = ClassTimeout, "no answer in time"
	}
	return e
}

// endless fails the request that a frame without an end answers: the one that it
// names, or the only one that waits. The others fail with the connection.
func (s *Session) endless(err error) {
	var end *wire.FrameEndError
	if !errors.As(err, &end) {
		return
	}
	sl := s.table.sole()
	if n, kind := tap.ParseID(end.ID); kind == tap.IDInteger {
		sl = s.table.lookup(n)
	}
	if sl != nil {
		e := lost(err)
		e.Op, e.Sent = sl.op, true
		s.answer(sl, nil, e)
	}
}

// endedOver says whether the session has ended because a frame was over a limit.
func (s *Session) endedOver() bool {
	e := s.ended()
	return e != nil && e.Class == ClassOverLimit
}

// endedError is the error of an operation that the session's end cut short.
func (s *Session) endedError(op string) *Error {
	e := *s.cause
	e.Op = op
	return &e
}

const (
	settingFrameBytes = "limits.frameBytes"
	// settingFixed is named for bounds that no setting changes.
	settingFixed = "fixed"
)
