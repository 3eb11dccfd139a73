package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
)

const (
	// updateGap is the least time between two reports of one resource.
	updateGap = time.Second
	// restoreTimeout bounds the restoring of one subscription, or of the log
	// level, on a new connection.
	restoreTimeout = 5 * time.Second
)

// subscriptions are the resources whose changes are reported. They belong to
// the client, not to a connection: every new one gets them again.
type subscriptions struct {
	op sync.Mutex // one change at a time, so that list and server agree

	mu   sync.Mutex
	uris []string
	on   map[string]Session   // the session that each was made on
	seen map[string]time.Time // the last report of each
}

func (s *subscriptions) list() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.uris)
}

func (s *subscriptions) has(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.uris, uri)
}

// before are the subscriptions that were not made on a session itself.
func (s *subscriptions) before(on Session) (uris []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, uri := range s.uris {
		if s.on[uri] != on {
			uris = append(uris, uri)
		}
	}
	return uris
}

func (s *subscriptions) add(uri string, on Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.on == nil {
		s.on = map[string]Session{}
	}
	s.uris = append(s.uris, uri)
	s.on[uri] = on
}

func (s *subscriptions) remove(uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uris = slices.DeleteFunc(s.uris, func(u string) bool { return u == uri })
	delete(s.seen, uri)
	delete(s.on, uri)
}

// covering is the subscribed resource that an update is about: itself, or one
// that it is a part of.
func (s *subscriptions) covering(uri string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	best := ""
	for _, u := range s.uris {
		part := strings.HasPrefix(uri, u) && (strings.HasSuffix(u, "/") || strings.HasPrefix(uri[len(u):], "/"))
		if u == uri || part && len(u) > len(best) {
			best = u
			if u == uri {
				break
			}
		}
	}
	return best, best != ""
}

// Subscriptions lists the resources whose changes are reported, oldest first.
func (c *Client) Subscriptions() []string { return c.subs.list() }

// Subscribe asks for reports of a resource's changes, which Observer.Updated
// gets. It holds across reconnects until Unsubscribe. A second subscription of
// the same resource does nothing. Over a limit it fails with an *Error of class
// "over_limit" and nothing is sent.
func (c *Client) Subscribe(ctx context.Context, uri string) error {
	const op = "resources/subscribe"
	if err := c.checkURI(op, uri); err != nil {
		return err
	}
	c.subs.op.Lock()
	defer c.subs.op.Unlock()
	if c.subs.has(uri) {
		return nil
	}
	if n, limit := len(c.subs.list())+1, c.def.Limits.Subscriptions; n > limit {
		return overLimit(op, "too many subscriptions", n, limit, "limits.subscriptions")
	}
	var on Session
	err := c.do(ctx, op, "", nil, func(ctx context.Context, s Session, _ *clock) error {
		on = s
		return s.Subscribe(ctx, uri)
	})
	if err != nil {
		return err
	}
	c.subs.add(uri, on)
	return nil
}

// Unsubscribe ends the reports of a resource. What is not subscribed is none of
// the server's business: nothing is sent then. While the server is away the
// subscription is simply not restored.
func (c *Client) Unsubscribe(ctx context.Context, uri string) error {
	const op = "resources/unsubscribe"
	c.subs.op.Lock()
	defer c.subs.op.Unlock()
	if !c.subs.has(uri) {
		return nil
	}
	c.subs.remove(uri)
	if _, ok := c.Serving(); !ok {
		return nil
	}
	return c.do(ctx, op, "", nil, func(ctx context.Context, s Session, _ *clock) error { return s.Unsubscribe(ctx, uri) })
}

func (c *Client) checkURI(op, uri string) error {
	switch limit := c.def.Limits.URIBytes; {
	case uri == "":
		return &protocol.Error{Class: protocol.ClassConfig, Op: op, Message: "no URI"}
	case len(uri) > limit:
		return overLimit(op, "the URI is too long", len(uri), limit, "limits.uriBytes")
	}
	return nil
}

func overLimit(op, what string, size, limit int, setting string) error {
	return &protocol.Error{
		Class: protocol.ClassOverLimit, Op: op, Message: what, Size: int64(size), Limit: int64(limit), Setting: setting,
	}
}

// restore subscribes on a new connection to what was subscribed before. What
// the server refuses is told, and asked for again with the next connection. All
// that is subscribed again counts as changed: nobody watched it meanwhile.
func (conn *connection) restore() {
	defer conn.wg.Done()
	c := conn.c
	c.subs.op.Lock() // one that is being made on the connection before is seen
	uris := c.subs.before(conn.session())
	c.subs.op.Unlock()
	for _, uri := range conn.restoreAll(uris) {
		err := conn.resubscribe(uri)
		switch {
		case conn.ctx.Err() != nil:
			return
		case err != nil:
			c.Notice("subscription_lost", "warn", "the changes of %s are not reported after the reconnect: %s", safetext.Ident(uri), reason(err))
		default:
			conn.updated(uri)
		}
	}
}

// restoreAll subscribes to all resources with one reopening of the stream where
// the revision has one, and returns what remains to be asked for on its own: an
// error of the server may be about one of them only.
func (conn *connection) restoreAll(uris []string) (rest []string) {
	if len(uris) < 2 || conn.session().Info().Revision != protocol.Revision20260728 {
		return uris
	}
	conn.c.subs.op.Lock()
	defer conn.c.subs.op.Unlock()
	uris = slices.DeleteFunc(uris, func(u string) bool { return !conn.c.subs.has(u) }) // ended meanwhile
	ctx, cancel := context.WithTimeout(conn.ctx, restoreTimeout)
	defer cancel()
	for i, err := range conn.session().SubscribeAll(ctx, uris) {
		if err != nil {
			rest = append(rest, uris[i])
			continue
		}
		conn.updated(uris[i])
	}
	return rest
}

func (conn *connection) resubscribe(uri string) error {
	conn.c.subs.op.Lock()
	defer conn.c.subs.op.Unlock()
	if !conn.c.subs.has(uri) {
		return nil // ended meanwhile
	}
	ctx, cancel := context.WithTimeout(conn.ctx, restoreTimeout)
	defer cancel()
	return conn.session().Subscribe(ctx, uri)
}

// reason is why something failed, in words of the host.
func reason(err error) string {
	var pe *protocol.Error
	if errors.As(err, &pe) {
		return pe.Reason()
	}
	return fmt.Sprint(err)
}

// updated notes that a resource has changed. Reports of one resource keep
// updateGap between them; the last change is always told.
func (conn *connection) updated(uri string) {
	sub, ok := conn.c.subs.covering(uri)
	if !ok || conn.c.deps.Observer.Updated == nil {
		return
	}
	conn.mu.Lock()
	_, waits := conn.updates[sub]
	if !waits {
		conn.updates[sub] = conn.c.subs.next(sub, time.Now())
	}
	conn.mu.Unlock()
	if !waits {
		signal(conn.news)
	}
}

// next is when the next report of a resource may be made.
func (s *subscriptions) next(uri string, now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.seen[uri].Add(updateGap); at.After(now) {
		return at
	}
	return now
}

// note keeps when a report was made.
func (s *subscriptions) note(uri string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[string]time.Time{}
	}
	if slices.Contains(s.uris, uri) {
		s.seen[uri] = now
	}
}

// updater reports changed resources until the connection ends. It is not the
// refresher, which may be held up by a slow listing.
func (conn *connection) updater() {
	defer conn.wg.Done()
	t := time.NewTimer(time.Hour)
	defer t.Stop()
	for {
		if at, any := conn.nextUpdate(); any {
			t.Reset(time.Until(at))
		} else {
			t.Stop()
		}
		select {
		case <-conn.ctx.Done():
			return
		case <-conn.news:
		case <-t.C:
			conn.tellUpdates()
		}
	}
}

func (conn *connection) nextUpdate() (next time.Time, any bool) {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	for _, at := range conn.updates {
		if !any || at.Before(next) {
			next, any = at, true
		}
	}
	return next, any
}

// tellUpdates reports the resources whose time has come.
func (conn *connection) tellUpdates() {
	now := time.Now()
	var due []string
	conn.mu.Lock()
	for uri, at := range conn.updates {
		if !at.After(now) {
			due = append(due, uri)
			delete(conn.updates, uri)
			conn.c.subs.note(uri, now) // before another change of it can be noted
		}
	}
	conn.mu.Unlock()
	slices.Sort(due)
	for _, uri := range due {
		if !conn.c.subs.has(uri) {
			continue
		}
		conn.c.deps.Observer.Updated(uri)
	}
}
