package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/mcpadapter/catalog"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// maxTolerances bounds the tolerances that one connection remembers.
const maxTolerances = 32

// connection is one session with its clocks, its questions and its staleness.
type connection struct {
	c      *Client
	ctx    context.Context
	cancel context.CancelCauseFunc
	clocks *clocks
	wg     sync.WaitGroup // what runs beside it
	wake   chan struct{}  // tells the refresher of new staleness
	news   chan struct{}  // tells the updater of changed resources
	doubt  chan struct{}  // asks for a check that the server still answers

	mu         sync.Mutex
	sess       Session
	stale      map[catalog.Family]*staleness
	lastFetch  map[catalog.Family]time.Time
	failures   int
	updates    map[string]time.Time // resources that changed, and when that may be told
	changed    chan struct{}        // closed and replaced when staleness ends or a refresh fails
	tolerances map[string]bool
}

func newConnection(c *Client) *connection {
	conn := &connection{
		c: c, clocks: newClocks(RequestCapFactor * c.def.ElicitTimeout), wake: make(chan struct{}, 1), news: make(chan struct{}, 1), doubt: make(chan struct{}, 1), changed: make(chan struct{}),
		stale: map[catalog.Family]*staleness{}, lastFetch: map[catalog.Family]time.Time{}, tolerances: map[string]bool{},
		updates: map[string]time.Time{},
	}
	conn.ctx, conn.cancel = context.WithCancelCause(c.ctx)
	return conn
}

func (conn *connection) session() Session {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	return conn.sess
}

func (conn *connection) begin(s Session) {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	conn.sess = s
}

// close ends the session and what belongs to it within limit.
func (conn *connection) close(limit time.Duration) {
	sess := conn.session()
	closed := make(chan struct{})
	go conn.c.deps.Crash.Guard(func() {
		defer close(closed)
		if sess != nil {
			_ = sess.Close() // the session's end is what matters, not how it takes it
		}
		conn.cancel(errLost)
		conn.wg.Wait()
	})
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-closed:
	case <-t.C:
		conn.cancel(errLost)
		conn.c.Notice("close_slow", "warn", "the connection did not close within %s", limit)
	}
}

// options are what a session is made with.
func (conn *connection) options() protocol.Options {
	c := conn.c
	opt := protocol.Options{
		Dialer: c.def.Transport.Dialer(), Wire: c.def.wireOptions(),
		Revision: c.def.Revision, Limits: c.def.protocolLimits(), ClientVersion: c.def.Version,
		KnownRevision: c.era(), Roots: fileRoots(c.Roots()),
	}
	if f := c.deps.Observer.Stderr; f != nil {
		opt.Wire.Stderr = func(line []byte) { f(safetext.ToLine(string(line)).String()) }
		opt.Wire.Noise = func(line []byte) { f("stdout: " + safetext.ToLine(string(line)).String()) }
	}
	if f := c.deps.Observer.Trace; f != nil {
		opt.Wire.Trace = func(dir wire.Direction, frame []byte) { f(dir == wire.Outbound, frame) }
	}
	opt.Handlers = protocol.Handlers{
		ElicitComplete:  c.deps.Observer.ElicitComplete,
		ListChanged:     conn.listChanged,
		ResourceUpdated: conn.updated,
		Tolerated:       func(code, detail string) { conn.tolerate(code + ": " + safetext.ToLineN(detail, 200).String()) },
		Dropped: func(code string, count int) {
			c.Notice("dropped_"+code, "info", "%d inbound messages were dropped (%s)", count, code)
		},
		Refused: func(method, reason, _ string) {
			c.Notice("request_refused", "warn", "the server's request %s was refused: %s", safetext.Ident(method), reason)
		},
	}
	if f := c.deps.Observer.Log; f != nil {
		opt.Handlers.Log = func(level, logger string, data json.RawMessage) {
			f(safetext.ToLineN(level, 32).String(), safetext.ToLineN(logger, 200).String(), cleanJSON(data))
		}
	}
	if c.def.Elicitation && c.deps.Elicit != nil {
		opt.Handlers.Elicit = conn.elicit
	}
	if c.def.Sampling != nil && c.deps.Sample != nil {
		opt.Handlers.Sample, opt.SamplingTools = conn.sample, c.def.Sampling.Tools
	}
	return opt
}

// sampleWaits is how many times ElicitTimeout bounds a whole sampling request:
// two gates and the model.
const sampleWaits = 3

// sample passes a request for the model on; the clocks that it holds up stand
// still, because it is we who keep the server waiting.
func (conn *connection) sample(ctx context.Context, req protocol.SampleRequest) (protocol.SampleResult, error) {
	defer conn.clocks.pause(req.CallID)()
	ctx, cancel := context.WithTimeout(ctx, sampleWaits*conn.c.def.ElicitTimeout)
	defer cancel()
	stop := context.AfterFunc(conn.ctx, cancel)
	defer stop()
	return conn.c.deps.Sample(ctx, req)
}

// elicit passes a question on; the clocks that it holds up stand still.
func (conn *connection) elicit(ctx context.Context, req protocol.ElicitRequest) (protocol.ElicitResult, error) {
	defer conn.clocks.pause(req.CallID)()
	ctx, cancel := context.WithTimeout(ctx, conn.c.def.ElicitTimeout)
	defer cancel()
	stop := context.AfterFunc(conn.ctx, cancel)
	defer stop()
	return conn.c.deps.Elicit(ctx, req)
}

func (conn *connection) tolerate(text string) {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	if len(conn.tolerances) < maxTolerances {
		conn.tolerances[text] = true
	}
}

func (conn *connection) toleranceList() []string {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	return slices.Sorted(maps.Keys(conn.tolerances))
}

// request asks for the families, nil meaning all, on top of what is known.
func (conn *connection) request(info protocol.Info, families []catalog.Family) catalog.Request {
	c := conn.c
	return catalog.Request{
		Binding: c.def.Name, Info: info, Families: families, Prev: c.Generation(), Limits: c.def.Limits.catalog(),
		Strict: c.def.Compat == CompatStrict, Tolerances: conn.toleranceList(), Now: c.deps.Now(),
		Refused: func(fam catalog.Family, err error) {
			c.Notice("listing_refused", "warn", "what was known of %s is kept: %s", fam, reason(err))
		},
	}
}

// fetchError says why a refresh failed, in words of the host.
func fetchError(err error) (Class, string) {
	var pe *protocol.Error
	if errors.As(err, &pe) {
		return pe.Class, pe.Error()
	}
	return protocol.ClassProtocol, fmt.Sprintf("refresh failed: %v", err)
}
