package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/mcpadapter/catalog"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// The pace of the checks that an idle server still answers.
const (
	keepaliveEvery   = 60 * time.Second
	keepaliveTimeout = 15 * time.Second
	// keepaliveAgain is the pause before a server that did not answer is asked
	// once more.
	keepaliveAgain = 5 * time.Second
)

// run is the client's life: connect, serve, lose, wait, connect again.
func (c *Client) run() {
	defer close(c.done)
	defer c.setState(integration.StateClosed, CodeClosed, "", "", time.Time{})
	var pace backoff
	everReady := false
	for c.ctx.Err() == nil {
		conn, err := c.connect(everReady)
		if err != nil {
			if !c.sitOut(err, &pace, everReady) {
				return
			}
			continue
		}
		everReady = true
		began := time.Now()
		end := c.serve(conn)
		if end != nil && c.retiring() {
			end = nil // nobody will use another connection
			c.cancel(errClosed)
		}
		if time.Since(began) >= backoffStable {
			pace = backoff{}
		}
		due := c.part(end, &pace)
		conn.close(c.def.CloseTimeout)
		if end != nil && !c.rest(time.Until(due)) {
			return
		}
	}
}

// part tells why a connection is given up and when the next one is due. One that
// was lost leaves the binding degraded first: its catalog stays, its calls end,
// and what was lost is said before what is done about it.
func (c *Client) part(end *ending, pace *backoff) (due time.Time) {
	if end != nil && end.code != CodeReconnect {
		c.setState(integration.StateDegraded, end.code, end.class, end.text, time.Time{})
	}
	switch {
	case end == nil:
		c.setState(integration.StateClosing, CodeClosing, "", "", time.Time{})
	case end.code == CodeReconnect, end.code == CodeExpired && pace.hurry():
		c.setState(integration.StateReconnecting, end.code, end.class, end.text, time.Time{})
	default:
		d := pace.after(time.Now(), end.after)
		due = time.Now().Add(d)
		c.setState(integration.StateReconnecting, end.code, end.class, end.text, c.deps.Now().Add(d))
	}
	return due
}

func (c *Client) retiring() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refusing
}

// ending is why a connection is given up.
type ending struct {
	code  string
	class Class
	text  string
	after time.Duration // what the server asks to wait
}

// sitOut tells of a failed attempt and waits for the next one. It returns false
// when the client was closed.
func (c *Client) sitOut(err error, pace *backoff, everReady bool) bool {
	var pe *protocol.Error
	if !errors.As(err, &pe) {
		pe = &protocol.Error{Class: protocol.ClassProtocol, Op: "connect", Message: "failed", Err: err}
	}
	if pe.Diagnostics != nil {
		c.setPeer(*pe.Diagnostics)
	}
	c.awaitCleanup(pe)
	if c.ctx.Err() != nil {
		return false
	}
	c.mu.Lock()
	c.lastErr = pe
	c.probe = c.probe || eraDoubtful(pe.Class)
	c.mu.Unlock()
	end := &ending{code: CodeConnectFailed, class: pe.Class, text: pe.Error(), after: retryAfter(pe)}
	if c.deps.Explain != nil {
		end.text = c.deps.Explain(end.text, pe)
	}
	if hopeless(pe.Class) {
		if pe.Class == protocol.ClassAuth {
			end.code, end.text = CodeAuthRequired, end.text+"; it is not tried again before somebody has given it access and reconnects it"
		}
		c.setState(integration.StateFailed, end.code, end.class, end.text, time.Time{})
		c.countAttempt()
		select {
		case <-c.kick:
			return true
		case <-c.ctx.Done():
			return false
		}
	}
	now := time.Now()
	d := pace.after(now, end.after)
	state := integration.StateFailed
	if everReady && !pace.impatient(now) {
		state = integration.StateReconnecting
	}
	c.setState(state, end.code, end.class, end.text, c.deps.Now().Add(d))
	c.countAttempt()
	return c.rest(d)
}

// awaitCleanup waits, bounded, until a failed attempt has left nothing behind:
// one binding never has two processes.
func (c *Client) awaitCleanup(pe *protocol.Error) {
	if pe.Cleanup == nil {
		return
	}
	t := time.NewTimer(c.def.CloseTimeout)
	defer t.Stop()
	select {
	case <-pe.Cleanup:
	case <-t.C:
		c.Notice("cleanup_slow", "warn", "a failed attempt was not cleaned up within %s", c.def.CloseTimeout)
	}
}

// rest waits for the next attempt, or for somebody who wants it now. It returns
// false when the client was closed.
func (c *Client) rest(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.kick:
		return true
	case <-c.ctx.Done():
		return false
	}
}

func (c *Client) countAttempt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.attempts++
	c.wake()
}

// connect makes one attempt: connection, discovery, first generation.
func (c *Client) connect(again bool) (*connection, error) {
	if again {
		c.setState(integration.StateReconnecting, CodeStarted, "", "", time.Time{})
	} else {
		c.setState(integration.StateStarting, CodeStarted, "", "", time.Time{})
	}
	conn := newConnection(c)
	ctx, cancel := context.WithCancelCause(conn.ctx)
	defer cancel(nil)
	limit := conn.clocks.start("", c.def.StartTimeout, c.def.StartTimeout, func() { cancel(errTimeout) })
	defer limit.stop()

	err := c.establish(ctx, conn, again)
	if err != nil {
		if errors.Is(context.Cause(ctx), errTimeout) {
			err = timedOut(err, "start", c.def.StartTimeout, "startupTimeout")
		}
		if sess := conn.session(); sess != nil {
			c.setPeer(sess.Diagnostics())
		}
		conn.close(c.def.CloseTimeout)
		return nil, err
	}
	return conn, nil
}

// timedOut keeps what a failed wait knew of the peer and says which bound ended
// it.
func timedOut(err error, op string, limit time.Duration, setting string) error {
	out := &protocol.Error{
		Class: protocol.ClassTimeout, Op: op, Err: err,
		Message: fmt.Sprintf("no answer within %s (setting %s)", limit, setting),
	}
	var pe *protocol.Error
	if errors.As(err, &pe) {
		out.Diagnostics, out.Cleanup, out.Sent = pe.Diagnostics, pe.Cleanup, pe.Sent
	}
	return out
}

func (c *Client) establish(ctx context.Context, conn *connection, again bool) error {
	sess, err := c.deps.Connect(ctx, conn.options())
	if err != nil {
		return err
	}
	conn.begin(sess)
	info := sess.Info()
	if !again {
		c.setState(integration.StateDiscovering, CodeConnected, "", "", time.Time{})
	}
	c.compare(info)
	if c.def.LogLevel != "" {
		c.setLogLevel(ctx, sess)
	}
	conn.startFetch(nil)
	gen, changed, err := catalog.Fetch(ctx, sess, conn.request(info, nil))
	if err != nil {
		c.rejected(err)
		return err
	}
	conn.endFetch(nil, nil)
	if changed {
		c.number(gen)
		c.setGeneration(gen)
	}
	c.mu.Lock()
	select { // a wish for a new connection has just been granted
	case <-c.kick:
	default:
	}
	c.conn, c.lastErr, c.probe = conn, nil, false
	c.mu.Unlock()
	if c.deps.Eras != nil && !info.ProbeSilent {
		c.deps.Eras.Found(info.Revision)
	}
	c.setState(integration.StateReady, CodeDiscovered, "", "", time.Time{})
	c.countAttempt()
	return nil
}

// number goes on counting where an earlier run of the same binding ended; a
// catalog that is the same as that run's last one has its number.
func (c *Client) number(first *catalog.Generation) {
	last := c.deps.Last
	switch {
	case last == nil || c.Generation() != nil:
	case last.Digest == first.Digest:
		first.Number = last.Number
	default:
		first.Number = last.Number + 1
	}
}

// compare tells when a server that came back is another than it was.
func (c *Client) compare(info protocol.Info) {
	c.mu.Lock()
	was := c.seen
	c.seen = &info
	c.mu.Unlock()
	if was == nil {
		return
	}
	if was.Revision != info.Revision {
		c.Notice("revision_changed", "warn", "after the reconnect the server speaks %s, before it was %s", info.Revision, was.Revision)
	}
	if was.ServerName != info.ServerName || was.ServerVersion != info.ServerVersion {
		c.Notice("server_changed", "warn", "after the reconnect the server says that it is another name or version than before")
	}
}

// rejected tells of a listing that was refused for what it holds.
func (c *Client) rejected(err error) {
	var pe *protocol.Error
	if !errors.As(err, &pe) || c.deps.Observer.Rejected == nil {
		return
	}
	switch pe.Class {
	case protocol.ClassCatalog, protocol.ClassOverLimit, protocol.ClassMalformed:
	default:
		return
	}
	stays := uint64(0)
	if g := c.Generation(); g != nil {
		stays = g.Number
	}
	c.deps.Observer.Rejected(stays, pe.Class, safetext.ToLine(pe.Error()).String())
}

// setLogLevel asks for the definition's log level. A server that does not answer
// holds nothing up for long.
func (c *Client) setLogLevel(ctx context.Context, sess Session) {
	ctx, cancel := context.WithTimeout(ctx, restoreTimeout)
	defer cancel()
	if err := sess.SetLogLevel(ctx, c.def.LogLevel); err != nil && c.ctx.Err() == nil {
		c.Notice("log_level_refused", "info", "the log level %s could not be set: %s", c.def.LogLevel, reason(err))
	}
}

// era is the revision that the next connection may take for granted, "" to find
// it out.
func (c *Client) era() string {
	c.mu.Lock()
	probe, seen := c.probe, c.seen
	c.mu.Unlock()
	switch {
	case probe:
		return ""
	case seen != nil && !seen.ProbeSilent:
		return seen.Revision
	case c.deps.Eras != nil:
		return c.deps.Eras.Known()
	}
	return ""
}

// eraDoubtful reports failures that a wrong idea of the server's revision may be
// the cause of.
func eraDoubtful(class Class) bool {
	switch class {
	case protocol.ClassUnsupported, protocol.ClassProtocol, protocol.ClassRemote, protocol.ClassEndpoint, protocol.ClassHTTP:
		return true
	default:
		return false
	}
}

// serve watches a connection until it ends; nil means that the client closes.
func (c *Client) serve(conn *connection) *ending {
	for _, f := range []func(){conn.refresher, conn.updater, conn.restore} {
		conn.wg.Add(1)
		go c.deps.Crash.Guard(f)
	}
	sess := conn.session()
	check := time.NewTimer(keepaliveEvery)
	defer check.Stop()
	var answered <-chan bool // of the check under way
	missed := false
	defer func() {
		c.mu.Lock()
		c.conn = nil
		c.st.Peer = sess.Diagnostics()
		c.mu.Unlock()
	}()
	for {
		select {
		case <-c.ctx.Done():
			return nil
		case <-c.kick:
			return &ending{code: CodeReconnect, text: "asked for"}
		case <-sess.Done():
			return lost(sess.Err())
		case <-check.C:
			if c.Inflight() > 0 {
				check.Reset(keepaliveEvery)
				continue
			}
			answered = c.check(conn, sess)
		case <-conn.doubt:
			if answered == nil {
				answered = c.check(conn, sess)
			}
		case ok := <-answered:
			answered = nil
			switch {
			case ok:
				check.Reset(keepaliveEvery)
			case missed:
				return &ending{code: CodeLost, class: protocol.ClassTimeout, text: "the server does not answer any more"}
			default:
				check.Reset(keepaliveAgain)
			}
			missed = !ok
		}
	}
}

// check asks beside everything else whether the server still answers.
func (c *Client) check(conn *connection, sess Session) <-chan bool {
	out := make(chan bool, 1)
	conn.wg.Add(1)
	go c.deps.Crash.Guard(func() {
		defer conn.wg.Done()
		out <- alive(conn.ctx, sess)
	})
	return out
}

// alive asks whether the server still answers; an error of its own is an answer.
func alive(ctx context.Context, sess Session) bool {
	ctx, cancel := context.WithTimeout(ctx, keepaliveTimeout)
	defer cancel()
	err := sess.Ping(ctx)
	var status *wire.StatusError
	if errors.As(err, &status) && status.Status < 500 {
		return true
	}
	return err == nil || protocol.ClassOf(err) == protocol.ClassRemote || protocol.ClassOf(err) == protocol.ClassUnsupported
}

func lost(err error) *ending {
	end := &ending{code: CodeLost, class: protocol.ClassOf(err), text: "the connection ended", after: retryAfter(err)}
	if end.class == "" {
		end.class = protocol.ClassLost
	}
	if err != nil {
		end.text = err.Error()
	}
	var loss *wire.LossError
	if errors.As(err, &loss) && loss.Reason == wire.ReasonSessionExpired {
		end.code = CodeExpired
	}
	return end
}

// retryAfter is how long the server asks to be left alone.
func retryAfter(err error) time.Duration {
	var status *wire.StatusError
	if errors.As(err, &status) && (status.Status == 429 || status.Status == 503) {
		return status.RetryAfter
	}
	return 0
}
