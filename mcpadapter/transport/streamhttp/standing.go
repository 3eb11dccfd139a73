package streamhttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/httpguard"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// standing is the stream over which a server of the revisions up to 2025-11-25
// sends what nobody asked for. It is kept open for the life of the connection.
// Whatever goes wrong with it is remarked and concerns no request.
type standing struct {
	c         *Conn
	revision  string
	session   string
	lastEvent string
	retry     time.Duration
	opened    bool // it was open once
	settle    func()
}

// openStanding starts the stream, once.
func (c *Conn) openStanding(revision string) {
	c.mu.Lock()
	again := c.standing
	c.standing, c.revision = true, revision
	s := &standing{c: c, revision: revision, session: c.session}
	if !again {
		stood := make(chan struct{})
		c.stood, s.settle = stood, sync.OnceFunc(func() { close(stood) })
	}
	c.mu.Unlock()
	if !again {
		time.AfterFunc(c.timing.standing, s.settle)
		c.spawn(s.run)
	}
}

// awaitStanding holds a request back while the standing stream is first being
// opened, at most timing.standing: a server asks its questions over it, and
// those that find it closed are lost on many servers, and with them the call.
func (c *Conn) awaitStanding(ctx context.Context) {
	c.mu.Lock()
	stood := c.stood
	c.mu.Unlock()
	if stood == nil {
		return
	}
	select {
	case <-stood:
	case <-ctx.Done():
	}
}

// run opens the stream again and again until the connection ends or the server
// says that it has none.
func (s *standing) run() {
	wait := s.c.timing.backoff
	for s.c.ctx.Err() == nil {
		began := time.Now()
		asked, again := s.open()
		if !again {
			return
		}
		if time.Since(began) >= s.c.timing.settled {
			wait = s.c.timing.backoff
		}
		pause := asked
		if asked == 0 {
			pause, wait = jittered(wait), min(2*wait, s.c.timing.maxBackoff)
		}
		if !sleep(s.c.ctx, pause) {
			return
		}
	}
}

// open opens the stream and stays until it ends. wait is what the server asks
// to wait before the next time, 0 for nothing; again says that there is one.
func (s *standing) open() (wait time.Duration, again bool) {
	c := s.c
	resp, err := c.client.Do(c.ctx, httpguard.Request{Method: http.MethodGet, Header: streamHeader(s.revision, s.session, s.lastEvent)})
	s.settle()
	if err != nil {
		if asExchange(err) == nil {
			c.remark("the server's stream of notifications is not used: " + err.Error())
			return 0, false
		}
		return 0, true
	}
	defer resp.Body.Close()
	switch {
	case resp.Status == http.StatusOK && resp.MediaType == mediaEvents:
		s.opened = true
		return s.events(resp)
	case resp.Status == http.StatusMethodNotAllowed:
		return 0, false // the specification's way of not offering it
	case resp.Status == http.StatusOK:
		c.remark("the server offers a stream of notifications that is none")
		return 0, false
	case s.opened || transient(resp.Status):
		if after := retryAfter(resp.Header.Get("Retry-After"), time.Now()); after > 0 {
			return c.timing.asked(after), true
		}
		return 0, true
	}
	c.remark(fmt.Sprintf("the server refuses its stream of notifications (status %d)", resp.Status))
	return 0, false
}

// events delivers what the stream brings until it ends.
func (s *standing) events(resp *httpguard.Response) (wait time.Duration, again bool) {
	events := httpguard.NewEvents(resp.Body, s.c.limit)
	defer events.Release()
	s.retry = 0
	var pace wire.Pace
	for {
		pace.Step()
		ev, err := events.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) && s.c.ctx.Err() == nil {
				s.c.remark("the server's stream of notifications broke off")
			}
			return s.retry, true
		}
		if ev.HasID {
			s.lastEvent = ev.ID
		}
		if ev.HasRetry {
			s.retry = s.c.timing.asked(ev.Retry)
		}
		switch s.c.take(ev, 0) {
		case tookGarbage:
			s.c.remark("the server's stream of notifications holds too much that is not JSON")
			return 0, false
		case tookNone:
			return 0, false
		case tookFrame, tookAnswer:
		}
	}
}
