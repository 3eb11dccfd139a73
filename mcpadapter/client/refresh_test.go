package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/mcpadapter/client"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
)

func TestListChangedIsCoalesced(t *testing.T) {
	srv := server("a")
	within(t, srv, options{}, func(t *testing.T, c *client.Client, s *seen) {
		time.Sleep(5 * time.Second)
		tools, prompts := srv.Lists(protocol.Tools), srv.Lists(protocol.Prompts)
		srv.Tools("a", "b")
		for range 100 {
			srv.Last().Options.Handlers.ListChanged(protocol.Tools, true)
			time.Sleep(2 * time.Millisecond)
		}
		time.Sleep(240 * time.Millisecond)
		if n := srv.Lists(protocol.Tools) - tools; n != 0 {
			t.Errorf("%d listings in the quiet time", n)
		}
		time.Sleep(time.Second)
		if n := srv.Lists(protocol.Tools) - tools; n != 1 {
			t.Errorf("%d listings of tools, want 1", n)
		}
		if n := srv.Lists(protocol.Prompts) - prompts; n != 0 {
			t.Errorf("%d listings of prompts, which did not change", n)
		}
		if got := s.generations(); !slices.Equal(got, []uint64{1, 2}) {
			t.Errorf("generations %v", got)
		}
		if c.Kept(1) == nil || c.Kept(2) != c.Generation() || c.Kept(3) != nil {
			t.Error("earlier generations are not kept")
		}
		tools = srv.Lists(protocol.Tools)
		for range 500 { // ten seconds without a pause
			srv.Last().Options.Handlers.ListChanged(protocol.Tools, true)
			time.Sleep(20 * time.Millisecond)
		}
		if n := srv.Lists(protocol.Tools) - tools; n < 5 || n > 11 {
			t.Errorf("%d listings in ten seconds of signals", n)
		}
		time.Sleep(3 * time.Second)
		tools = srv.Lists(protocol.Tools)
		for range 33 { // ten seconds with pauses that are long enough each
			srv.Last().Options.Handlers.ListChanged(protocol.Tools, true)
			time.Sleep(300 * time.Millisecond)
		}
		if n := srv.Lists(protocol.Tools) - tools; n < 5 || n > 11 {
			t.Errorf("%d listings in ten seconds of single signals", n)
		}
	})
}

func TestKeptGenerationsAreBounded(t *testing.T) {
	srv := server("a")
	within(t, srv, options{}, func(t *testing.T, c *client.Client, _ *seen) {
		change := func(n, size int) {
			srv.Set(protocol.Tools, fmt.Sprintf(`{"name":"a","description":"%d","inputSchema":{"type":"object"},"_meta":{"x":"%s"}}`, n, strings.Repeat("x", size)))
			srv.Last().Options.Handlers.ListChanged(protocol.Tools, true)
			time.Sleep(2 * time.Second)
		}
		for n := range 20 {
			change(n, 1)
		}
		if c.Kept(5) != nil || c.Kept(6) == nil || c.Generation().Number != 21 {
			t.Errorf("newest %d, 5th kept: %t, 6th kept: %t", c.Generation().Number, c.Kept(5) != nil, c.Kept(6) != nil)
		}
		change(20, 3<<20)
		change(21, 3<<20)
		change(22, 3<<20)
		if c.Kept(24) == nil || c.Kept(23) == nil || c.Kept(22) != nil {
			t.Errorf("large generations: %t %t %t", c.Kept(24) != nil, c.Kept(23) != nil, c.Kept(22) != nil)
		}
	})
}

func TestUndeclaredListChanged(t *testing.T) {
	for compat, want := range map[string]int{client.CompatDefault: 1, client.CompatStrict: 0} {
		t.Run(compat, func(t *testing.T) {
			srv := server("a")
			within(t, srv, options{def: func(d *client.Definition) { d.Compat = compat }}, func(t *testing.T, c *client.Client, s *seen) {
				time.Sleep(2 * time.Second)
				before := srv.Lists(protocol.Tools)
				srv.Last().Options.Handlers.ListChanged(protocol.Tools, false)
				time.Sleep(2 * time.Second)
				if n := srv.Lists(protocol.Tools) - before; n != want {
					t.Errorf("%d refreshes, want %d", n, want)
				}
				if n := len(c.Status().Tolerances); n != want {
					t.Errorf("tolerances: %q", c.Status().Tolerances)
				}
			})
		})
	}
}

func TestFailedRefreshKeepsTheGeneration(t *testing.T) {
	srv := server("a")
	var mu sync.Mutex
	broken := false
	srv.OnList = func(_ context.Context, fam protocol.Family, _ string) (protocol.Page, error) {
		mu.Lock()
		defer mu.Unlock()
		if broken {
			return protocol.Page{NextCursor: "same"}, nil
		}
		if fam != protocol.Tools {
			return protocol.Page{}, nil
		}
		return protocol.Page{Items: []json.RawMessage{json.RawMessage(`{"name":"a","inputSchema":{}}`)}}, nil
	}
	set := func(b bool) { mu.Lock(); broken = b; mu.Unlock() }
	within(t, srv, options{}, func(t *testing.T, c *client.Client, s *seen) {
		gen := c.Generation()
		set(true)
		srv.Last().Options.Handlers.ListChanged(protocol.Tools, true)
		time.Sleep(1500 * time.Millisecond)
		if st := c.Status(); st.State != integration.StateDegraded || st.Generation != gen || st.Class != protocol.ClassCatalog {
			t.Errorf("status: %s %s", st.State, st.Class)
		}
		if len(s.rejected) == 0 || !strings.Contains(s.rejected[0], "repeats a cursor") {
			t.Errorf("rejected: %q", s.rejected)
		}
		if err := c.Fresh(t.Context()); err != nil {
			t.Errorf("calls are not served: %v", err)
		}
		set(false)
		time.Sleep(20 * time.Second)
		if st := c.Status(); st.State != integration.StateReady || st.Generation != gen {
			t.Errorf("after the recovery: %s", st.State)
		}
	})
}

func TestACallWaitsForAStaleListing(t *testing.T) {
	srv := server("a")
	var mu sync.Mutex
	delay := time.Duration(0)
	srv.OnList = func(ctx context.Context, fam protocol.Family, _ string) (protocol.Page, error) {
		mu.Lock()
		d := delay
		mu.Unlock()
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
		return protocol.Page{}, nil
	}
	within(t, srv, options{}, func(t *testing.T, c *client.Client, _ *seen) {
		time.Sleep(2 * time.Second)
		for _, tc := range []struct {
			delay, waits time.Duration
			err          error
		}{{time.Second, 1250 * time.Millisecond, nil}, {time.Minute, client.FreshWait, client.ErrStale}} {
			mu.Lock()
			delay = tc.delay
			mu.Unlock()
			srv.Last().Options.Handlers.ListChanged(protocol.Tools, true)
			began := time.Now()
			err := c.Fresh(t.Context())
			if !errors.Is(err, tc.err) || time.Since(began) != tc.waits {
				t.Errorf("delay %s: %v after %s", tc.delay, err, time.Since(began))
			}
			time.Sleep(2 * time.Second)
		}
	})
}

// A server that announces a change as soon as it is connected, as many do when
// somebody begins to listen, holds up the first call by the quiet time alone.
// What follows is paced.
func TestTheFirstCallBehindAnEarlyChange(t *testing.T) {
	srv := server("a")
	within(t, srv, options{}, func(t *testing.T, c *client.Client, _ *seen) {
		announce := func() time.Duration {
			srv.Last().Options.Handlers.ListChanged(protocol.Tools, true)
			began := time.Now()
			if err := c.Fresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			return time.Since(began)
		}
		if first, second := announce(), announce(); first != 250*time.Millisecond || second != time.Second {
			t.Errorf("waits of %s and %s", first, second)
		}
	})
}
