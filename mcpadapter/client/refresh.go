package client

import (
	"context"
	"errors"
	"time"

	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/mcpadapter/catalog"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
)

// The pace of refreshes.
const (
	// refreshQuiet is how long no further list_changed may come before a
	// listing is read; a stream of them is cut after refreshMaxWait.
	refreshQuiet   = 250 * time.Millisecond
	refreshMaxWait = time.Second
	// refreshGap is the least time between two refreshes of one family. The
	// discovery is none: many servers announce a change as soon as somebody
	// listens, and the first call would wait out the gap behind it.
	refreshGap = time.Second
	// refreshRetry doubles after each failure up to refreshRetryMax.
	refreshRetry    = time.Second
	refreshRetryMax = 30 * time.Second
	// FreshWait is how long a call waits for a listing that is known to be
	// stale.
	FreshWait = 2 * time.Second
)

// staleness is what is known of a family that has to be read again.
type staleness struct {
	first, last time.Time
	seq         int       // counts the signals
	fetching    int       // seq when the running refresh began
	retry       time.Time // not before; set by a failure
	failed      bool      // a refresh since the last signal has failed
}

// ErrStale says that a listing is out of date and was not read again in time.
var ErrStale = errors.New("the tool listing is out of date")

// listChanged notes that a family is stale.
func (conn *connection) listChanged(fam catalog.Family, declared bool) {
	if !declared {
		if conn.c.def.Compat == CompatStrict {
			conn.c.Notice("undeclared_list_changed", "warn", "a change of %s was announced, which the server had not declared; it is ignored", fam)
			return
		}
		conn.tolerate("undeclared_list_changed: " + string(fam))
	}
	conn.mu.Lock()
	now := time.Now()
	conn.mark(fam, now)
	if fam == protocol.Resources {
		conn.mark(protocol.Templates, now) // one notification stands for both listings
	}
	conn.mu.Unlock()
	signal(conn.wake)
}

// signal tells a goroutine to look again; one signal that waits is enough.
func signal(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

func (conn *connection) mark(fam catalog.Family, now time.Time) {
	s := conn.stale[fam]
	if s == nil {
		s = &staleness{first: now}
		conn.stale[fam] = s
	}
	if s.failed || s.fetching == s.seq {
		s.first = now
	}
	s.seq++
	s.last, s.failed, s.retry = now, false, time.Time{}
}

// refresher reads stale listings again until the connection ends.
func (conn *connection) refresher() {
	defer conn.wg.Done()
	t := time.NewTimer(time.Hour)
	defer t.Stop()
	for {
		due, any := conn.nextDue()
		if any {
			t.Reset(time.Until(due))
		} else {
			t.Stop()
		}
		select {
		case <-conn.ctx.Done():
			return
		case <-conn.wake:
			continue
		case <-t.C:
		}
		conn.refresh()
	}
}

// due is when a family is to be read. The lock is held.
func (conn *connection) due(fam catalog.Family, s *staleness) time.Time {
	at := s.last.Add(refreshQuiet)
	if latest := s.first.Add(refreshMaxWait); latest.Before(at) {
		at = latest
	}
	if gap := conn.lastFetch[fam].Add(refreshGap); gap.After(at) {
		at = gap
	}
	if s.retry.After(at) {
		at = s.retry
	}
	return at
}

func (conn *connection) nextDue() (next time.Time, any bool) {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	for fam, s := range conn.stale {
		if at := conn.due(fam, s); !any || at.Before(next) {
			next, any = at, true
		}
	}
	return next, any
}

// dueNow lists the families whose time has come.
func (conn *connection) dueNow() []catalog.Family {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	now := time.Now()
	var out []catalog.Family
	for fam, s := range conn.stale {
		if !conn.due(fam, s).After(now) {
			out = append(out, fam)
		}
	}
	return out
}

// refresh reads what is due and publishes what changed.
func (conn *connection) refresh() {
	families := conn.dueNow()
	if len(families) == 0 {
		return
	}
	c := conn.c
	ctx, cancel := context.WithCancelCause(conn.ctx)
	defer cancel(nil)
	limit := conn.clocks.start("", c.def.RequestTimeout, c.def.RequestTimeout, func() { cancel(errTimeout) })
	defer limit.stop()
	conn.startFetch(families)
	sess := conn.session()
	gen, changed, err := catalog.Fetch(ctx, sess, conn.request(sess.Info(), families))
	if conn.ctx.Err() != nil {
		return
	}
	if errors.Is(context.Cause(ctx), errTimeout) && err != nil {
		err = timedOut(err, "refresh", c.def.RequestTimeout, "requestTimeout")
	}
	if err != nil {
		c.rejected(err)
		class, text := fetchError(err)
		c.setStateIf(serving, integration.StateDegraded, CodeRefreshFailed, class, text, time.Time{})
	} else if changed {
		c.setGeneration(gen)
	}
	if all := conn.endFetch(families, err); all {
		degraded := func(s State) bool { return s == integration.StateDegraded }
		c.setStateIf(degraded, integration.StateReady, CodeRefreshed, "", "", time.Time{})
	}
}

// startFetch notes which signals a refresh can answer; nil stands for all.
func (conn *connection) startFetch(families []catalog.Family) {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	now := time.Now()
	conn.each(families, func(fam catalog.Family) {
		if families != nil {
			conn.lastFetch[fam] = now
		}
		if s := conn.stale[fam]; s != nil {
			s.fetching = s.seq
		}
	})
}

// endFetch clears the staleness that a refresh answered, or notes its failure.
// all reports that nothing failed is left.
func (conn *connection) endFetch(families []catalog.Family, err error) (all bool) {
	conn.mu.Lock()
	defer conn.mu.Unlock()
	wait := refreshRetryMax
	if err == nil {
		conn.failures = 0
	} else {
		if conn.failures < 5 {
			wait = refreshRetry << conn.failures
		}
		conn.failures++
	}
	conn.each(families, func(fam catalog.Family) {
		s := conn.stale[fam]
		switch {
		case s == nil:
		case err != nil:
			s.retry = time.Now().Add(wait)
			s.failed = s.fetching == s.seq
		case s.fetching == s.seq:
			delete(conn.stale, fam)
		default:
			s.first = s.last
		}
	})
	close(conn.changed)
	conn.changed = make(chan struct{})
	for _, s := range conn.stale {
		if s.failed {
			return false
		}
	}
	return err == nil
}

func (conn *connection) each(families []catalog.Family, f func(catalog.Family)) {
	if families == nil {
		families = []catalog.Family{protocol.Tools, protocol.Prompts, protocol.Resources, protocol.Templates}
	}
	for _, fam := range families {
		f(fam)
	}
}

// fresh waits until the tools are not known to be stale, or a refresh of them
// has failed, at most FreshWait. It fails with ErrStale.
func (conn *connection) fresh(ctx context.Context) error {
	var limit <-chan time.Time
	for {
		conn.mu.Lock()
		s, ch := conn.stale[protocol.Tools], conn.changed
		ok := s == nil || s.failed
		conn.mu.Unlock()
		if ok {
			return nil
		}
		if limit == nil {
			t := time.NewTimer(FreshWait)
			defer t.Stop()
			limit = t.C
		}
		select {
		case <-ch:
		case <-limit:
			return ErrStale
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-conn.ctx.Done():
			return errLost
		}
	}
}
