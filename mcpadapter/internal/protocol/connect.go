package protocol

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// settleDiagnostics is how long a failed Connect waits for a peer that went
// away to be reaped, so that its exit code and last words are known.
const settleDiagnostics = 250 * time.Millisecond

// The kinds of transport whose rules differ; see wire.Dialer.Kind.
const (
	kindStdio = "stdio"
	kindHTTP  = "http"
	kindSSE   = "sse"
)

// connector is one Connect: up to two connections, of which one survives.
type connector struct {
	opt     Options
	kind    string
	retired *sync.WaitGroup
}

// Connect dials a server, negotiates a revision and returns the session. It
// never outlives ctx; the session does. All errors are *Error.
//
// With RevisionAuto, server/discover is tried first, for at most ProbeTimeout.
// Over stdio a server that answers it with a plain error gets initialize on the
// same connection; silence, an exit or anything malformed leads to a fresh one.
// Over HTTP initialize goes to a fresh connection, once, and not where nobody
// answered or authorisation is asked for. The SSE transport has no probe.
func Connect(ctx context.Context, opt Options) (*Session, error) {
	c := &connector{opt: opt, retired: new(sync.WaitGroup)}
	s, e := c.connect(ctx)
	if e != nil {
		e.Op = "connect"
		cleanup := make(chan struct{})
		go func() {
			c.retired.Wait()
			close(cleanup)
		}()
		e.Cleanup = cleanup
		return nil, e
	}
	s.retired = c.retired
	s.work(s.listen.run)
	return s, nil
}

func (c *connector) connect(ctx context.Context) (*Session, *Error) {
	if e := c.normalize(); e != nil {
		return nil, e
	}
	switch known := c.opt.KnownRevision; {
	case c.kind == kindSSE && c.opt.Revision == RevisionAuto:
		s, _, e := c.attempt(ctx, legacyPlan(legacy[0]))
		return s, e
	case c.opt.Revision == Revision20260728:
		s, _, e := c.attempt(ctx, plan{offer: Revision20260728})
		return s, e
	case c.opt.Revision != RevisionAuto:
		s, _, e := c.attempt(ctx, plan{offer: c.opt.Revision, accept: []string{c.opt.Revision}})
		return s, e
	case slices.Contains(legacy, known):
		s, h, e := c.attempt(ctx, legacyPlan(legacy[0]))
		if e == nil || !c.worthRetry(ctx, e, h) {
			return s, e
		}
	}
	return c.probe(ctx)
}

func (c *connector) normalize() *Error {
	o := &c.opt
	if o.Revision == "" {
		o.Revision = RevisionAuto
	}
	if o.Dialer == nil {
		return &Error{Class: ClassConfig, Message: "no dialer"}
	}
	if o.Revision != RevisionAuto && o.Revision != Revision20260728 && !slices.Contains(legacy, o.Revision) {
		return &Error{Class: ClassConfig, Message: "the configured revision is not supported", Detail: o.Revision}
	}
	c.kind = o.Dialer.Kind()
	if c.kind == kindSSE && o.Revision == Revision20260728 {
		return &Error{Class: ClassConfig, Message: "the SSE transport does not have the configured revision", Detail: o.Revision}
	}
	if o.ProbeTimeout <= 0 {
		o.ProbeTimeout = defaultProbeTimeout
	}
	if o.ClientVersion == "" {
		o.ClientVersion = "0"
	}
	o.ClientVersion = strings.ToValidUTF8(o.ClientVersion, "?")
	o.Limits = o.Limits.withDefaults()
	return checkRoots(o.Roots)
}

// attempt opens one connection and negotiates on it. A nil handshake says that
// no connection was made.
func (c *connector) attempt(ctx context.Context, p plan) (*Session, *handshake, *Error) {
	conn, e := c.dial(ctx)
	if e != nil {
		return nil, nil, e
	}
	s := newSession(conn, c.opt)
	h := newHandshake(s, p)
	s.hs = h
	s.start()
	out := make(chan error, 1)
	go func() { out <- h.run(ctx) }()
	var err error
	select {
	case err = <-out:
	case <-ctx.Done():
		// The SDK's connect ends with the session, whatever it waits for.
		s.end(ctxError(ctx, "connect"))
		c.retire(s)
		return nil, h, c.described(s, ctxError(ctx, "connect"))
	}
	if err == nil {
		return s, h, nil
	}
	e = c.described(s, h.failure(ctx, err))
	c.retire(s)
	return nil, h, e
}

// retire closes a connection in the background; Close of the session that
// survives, or Error.Cleanup, waits for it.
func (c *connector) retire(s *Session) {
	c.retired.Add(1)
	go func() {
		defer c.retired.Done()
		_ = s.Close()
	}()
}

// described adds what is known of the peer to the error.
func (c *connector) described(s *Session, e *Error) *Error {
	if c.kind == kindStdio && (e.Class == ClassLost || e.Class == ClassNoise) {
		timer := time.NewTimer(settleDiagnostics)
		defer timer.Stop()
		select {
		case <-s.conn.Done():
		case <-timer.C:
		}
	}
	d := s.conn.Diagnostics()
	e.Diagnostics = &d
	if e.Detail == "" {
		tail := d.StderrTail
		e.Detail = bounded(strings.Join(tail[max(0, len(tail)-stderrLines):], "\n"), maxErrorDetail)
	}
	return e
}

// failureClass is implemented by errors of a transport that know their class,
// wireCode by those that have a name on wires.
type (
	failureClass interface{ FailureClass() string }
	wireCode     interface{ Code() string }
)

// codeSHA256Mismatch is the wire code of an executable that is not the
// configured one.
const codeSHA256Mismatch = "MCPServerSHA256Mismatch"

// dial opens the connection, and closes one that comes too late.
func (c *connector) dial(ctx context.Context) (wire.Conn, *Error) {
	type dialed struct {
		conn wire.Conn
		err  error
	}
	out := make(chan dialed, 1)
	go func() {
		conn, err := c.opt.Dialer.Dial(ctx, c.opt.Wire)
		out <- dialed{conn, err}
	}()
	select {
	case d := <-out:
		if d.err != nil {
			return nil, c.dialError(ctx, d.err)
		}
		return d.conn, nil
	case <-ctx.Done():
		c.retired.Add(1)
		go func() {
			defer c.retired.Done()
			if d := <-out; d.err == nil {
				_ = d.conn.Close()
			}
		}()
		return nil, ctxError(ctx, "connect")
	}
}

func (c *connector) dialError(ctx context.Context, err error) *Error {
	e := &Error{Class: ClassLost, Op: "connect", Message: "the server could not be reached", Err: err}
	var (
		launch  *wire.LaunchError
		classed failureClass
		coded   wireCode
	)
	switch {
	case errors.As(err, &classed):
		e.Class, e.Message, e.Detail = Class(classed.FailureClass()), host(classed), answered(err)
	case errors.As(err, &coded) && coded.Code() == codeSHA256Mismatch:
		e.Class, e.Message = ClassIntegrity, err.Error()
	case errors.As(err, &launch):
		e.Class, e.Message = ClassLaunch, launch.Error()
	case ctx.Err() != nil:
		return ctxError(ctx, "connect")
	case c.kind == kindStdio:
		e.Class, e.Message = ClassLaunch, "the server could not be started"
	}
	return e
}
