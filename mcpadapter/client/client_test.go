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
	"testing/synctest"
	"time"

	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/mcpadapter/catalog"
	"github.com/looprig/looprig/mcpadapter/client"
	"github.com/looprig/looprig/mcpadapter/client/clienttest"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
)

// seen records what a client tells.
type seen struct {
	mu       sync.Mutex
	states   []client.StateChange
	gens     []uint64
	rejected []string
	notices  []string
}

func (s *seen) observer() client.Observer {
	note := func(list *[]string, v string) { s.mu.Lock(); *list = append(*list, v); s.mu.Unlock() }
	return client.Observer{
		State:     func(c client.StateChange) { s.mu.Lock(); s.states = append(s.states, c); s.mu.Unlock() },
		Candidate: func(_, next *catalog.Generation) { s.mu.Lock(); s.gens = append(s.gens, next.Number); s.mu.Unlock() },
		Rejected:  func(_ uint64, class client.Class, reason string) { note(&s.rejected, string(class)+" "+reason) },
		Notice:    func(code, _, text string) { note(&s.notices, code+" "+text) },
	}
}

// path lists the states and codes that were told.
func (s *seen) path() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, c := range s.states {
		out = append(out, string(c.State)+"/"+c.Code)
	}
	return strings.Join(out, " ")
}

func (s *seen) generations() []uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.gens)
}

type options struct {
	def    func(*client.Definition)
	elicit func(context.Context, client.ElicitRequest) (client.ElicitResult, error)
	raw    bool // do not start
}

// within runs f in a bubble of fake time with a client of the server.
func within(t *testing.T, srv *clienttest.Server, opt options, f func(t *testing.T, c *client.Client, s *seen)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &seen{}
		def := client.Definition{Name: "docs", Transport: clienttest.Transport{}}
		if opt.def != nil {
			opt.def(&def)
		}
		c, err := client.New(def, client.Deps{Observer: s.observer(), Connect: srv.Connect, Elicit: opt.elicit})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if !opt.raw {
			c.Start()
			if err := c.WaitAttempt(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
		}
		f(t, c, s)
	})
}

func server(tools ...string) *clienttest.Server {
	s := &clienttest.Server{}
	s.Tools(tools...)
	return s
}

func class(err error) protocol.Class { return protocol.ClassOf(err) }

func TestLifeOfAClient(t *testing.T) {
	srv := server("lookup")
	within(t, srv, options{}, func(t *testing.T, c *client.Client, s *seen) {
		if g := c.Generation(); g == nil || g.Number != 1 || len(g.Tools) != 1 {
			t.Fatalf("generation %+v", g)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		<-c.Done()
		want := "starting/started discovering/connected ready/discovered closing/closing closed/closed"
		if got := s.path(); got != want {
			t.Errorf("states:\n got %s\nwant %s", got, want)
		}
		if srv.Open() != 0 {
			t.Error("a session is left open")
		}
		if _, err := c.Invoke(t.Context(), client.Invocation{Name: "lookup"}); class(err) != protocol.ClassClosed {
			t.Errorf("a call after the end: %v", err)
		}
	})
}

func TestFailedStartIsRetriedAndSaysWhen(t *testing.T) {
	srv := server("lookup")
	srv.OnConnect = func(_ context.Context, n int, _ protocol.Options) error {
		if n < 4 {
			return &protocol.Error{Class: protocol.ClassLaunch, Op: "connect", Message: "not found on PATH"}
		}
		return nil
	}
	within(t, srv, options{raw: true}, func(t *testing.T, c *client.Client, s *seen) {
		c.Start()
		if err := c.WaitAttempt(t.Context(), 0); class(err) != protocol.ClassLaunch {
			t.Fatalf("first attempt: %v", err)
		}
		st := c.Status()
		if st.State != integration.StateFailed || st.NextTry.IsZero() || st.Class != protocol.ClassLaunch {
			t.Errorf("status: %+v", st)
		}
		began := time.Now()
		if err := c.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(began); d > 2*time.Second {
			t.Errorf("three retries took %s", d)
		}
		if srv.Connects() != 4 {
			t.Errorf("%d attempts", srv.Connects())
		}
	})
}

func TestRetriesSlowDownToAHeartbeat(t *testing.T) {
	srv := server()
	srv.OnConnect = func(context.Context, int, protocol.Options) error {
		return &protocol.Error{Class: protocol.ClassLaunch, Op: "connect", Message: "no"}
	}
	within(t, srv, options{raw: true}, func(t *testing.T, c *client.Client, _ *seen) {
		c.Start()
		time.Sleep(3 * time.Minute)
		before := srv.Connects()
		if before < 8 || before > 60 {
			t.Errorf("%d attempts in 3 minutes", before)
		}
		time.Sleep(30 * time.Minute)
		if n := srv.Connects() - before; n < 5 || n > 7 {
			t.Errorf("%d attempts in the next 30 minutes", n)
		}
		n := srv.Connects()
		c.Reconnect()
		synctest.Wait()
		if srv.Connects() != n+1 {
			t.Error("a reconnect does not act at once")
		}
	})
}

func TestHopelessFailuresWaitForAPerson(t *testing.T) {
	srv := server()
	srv.OnConnect = func(context.Context, int, protocol.Options) error {
		return &protocol.Error{Class: protocol.ClassIntegrity, Op: "connect", Message: "sha256"}
	}
	within(t, srv, options{raw: true}, func(t *testing.T, c *client.Client, _ *seen) {
		c.Start()
		time.Sleep(time.Hour)
		if srv.Connects() != 1 || !c.Status().NextTry.IsZero() {
			t.Errorf("%d attempts, next %v", srv.Connects(), c.Status().NextTry)
		}
		if err := c.Wait(t.Context()); class(err) != protocol.ClassIntegrity {
			t.Errorf("Wait: %v", err)
		}
	})
}

func TestStartIsBoundedAndLeavesNothing(t *testing.T) {
	srv := server()
	srv.OnConnect = func(ctx context.Context, _ int, _ protocol.Options) error {
		cleaned := make(chan struct{})
		<-ctx.Done()
		time.AfterFunc(time.Second, func() { close(cleaned) })
		return &protocol.Error{Class: protocol.ClassCancelled, Op: "connect", Message: "given up", Cleanup: cleaned}
	}
	within(t, srv, options{raw: true}, func(t *testing.T, c *client.Client, _ *seen) {
		began := time.Now()
		c.Start()
		err := c.WaitAttempt(t.Context(), 0)
		if class(err) != protocol.ClassTimeout || !strings.Contains(err.Error(), "startupTimeout") {
			t.Errorf("got %v", err)
		}
		if d := time.Since(began); d != client.DefaultStartTimeout+time.Second {
			t.Errorf("after %s: the attempt ends when it is cleaned up", d)
		}
		_ = c.Close()
	})
}

func TestAQuestionWhileStartingStopsTheStartClock(t *testing.T) {
	srv := server()
	srv.OnConnect = func(ctx context.Context, _ int, opt protocol.Options) error {
		_, err := opt.Handlers.Elicit(ctx, protocol.ElicitRequest{})
		return err
	}
	slow := func(ctx context.Context, _ client.ElicitRequest) (client.ElicitResult, error) {
		time.Sleep(4 * time.Minute)
		return client.ElicitResult{Action: "decline"}, ctx.Err()
	}
	within(t, srv, options{elicit: slow, def: func(d *client.Definition) { d.Elicitation = true }},
		func(t *testing.T, c *client.Client, _ *seen) {
			if c.Status().State != integration.StateReady {
				t.Error("not ready")
			}
		})
}

func TestLossEndsCallsAsUnknownAndNothingIsSentAgain(t *testing.T) {
	srv := server("slow")
	srv.OnCall = func(ctx context.Context, _ protocol.CallRequest) (*protocol.Result, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	within(t, srv, options{}, func(t *testing.T, c *client.Client, s *seen) {
		type end struct {
			reply client.Reply
			err   error
		}
		out := make(chan end)
		go func() {
			r, err := c.Invoke(t.Context(), client.Invocation{ID: "c1", Name: "slow"})
			out <- end{r, err}
		}()
		synctest.Wait()
		srv.Last().Lose("process exited")
		e := <-out
		if class(e.err) != protocol.ClassLost || !e.reply.Sent || e.reply.Attempts != 1 {
			t.Errorf("call: %+v %v", e.reply, e.err)
		}
		if err := c.Wait(t.Context()); err != nil && c.Status().State == integration.StateReady {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if got := srv.Calls(); len(got) != 1 {
			t.Errorf("calls: %v", got)
		}
		if srv.Connects() != 2 || srv.Open() != 1 || c.Status().State != integration.StateReady {
			t.Errorf("%d connects, %d open, state %s", srv.Connects(), srv.Open(), c.Status().State)
		}
		if got := s.generations(); len(got) != 1 {
			t.Errorf("an unchanged catalog was published again: %v", got)
		}
		if !strings.Contains(s.path(), "ready/discovered degraded/lost reconnecting/lost") {
			t.Errorf("states: %s", s.path())
		}
	})
}

func TestADeadPeerIsNoticedByItsSilence(t *testing.T) {
	srv := server("a")
	srv.OnPing = func(ctx context.Context) error {
		<-ctx.Done()
		return &protocol.Error{Class: protocol.ClassTimeout, Op: "ping", Message: "no answer"}
	}
	within(t, srv, options{}, func(t *testing.T, c *client.Client, s *seen) {
		time.Sleep(3 * time.Minute)
		if srv.Connects() < 2 {
			t.Errorf("states: %s", s.path())
		}
	})
}

func TestRequestClocks(t *testing.T) {
	srv := server("a")
	var act func(ctx context.Context, req protocol.CallRequest)
	srv.OnCall = func(ctx context.Context, req protocol.CallRequest) (*protocol.Result, error) {
		act(ctx, req)
		if ctx.Err() != nil {
			return nil, &protocol.Error{Class: protocol.ClassCancelled, Op: "tools/call", Sent: true}
		}
		return &protocol.Result{}, nil
	}
	sleep := func(ctx context.Context, d time.Duration) {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
	}
	answer := func(context.Context, client.ElicitRequest) (client.ElicitResult, error) {
		time.Sleep(3 * time.Minute)
		return client.ElicitResult{}, nil
	}
	within(t, srv, options{elicit: answer, def: func(d *client.Definition) { d.Elicitation = true }}, func(t *testing.T, c *client.Client, _ *seen) {
		ask := func(ctx context.Context, id string) {
			_, _ = srv.Last().Options.Handlers.Elicit(ctx, protocol.ElicitRequest{CallID: id})
		}
		for name, tc := range map[string]struct {
			act    func(context.Context, protocol.CallRequest)
			class  protocol.Class
			waited time.Duration
		}{
			"silent":       {func(ctx context.Context, _ protocol.CallRequest) { sleep(ctx, time.Hour) }, protocol.ClassTimeout, time.Minute},
			"question":     {func(ctx context.Context, _ protocol.CallRequest) { ask(ctx, "") }, "", 0},
			"own question": {func(ctx context.Context, r protocol.CallRequest) { ask(ctx, r.ID); sleep(ctx, time.Second) }, "", time.Second},
			"progress": {func(ctx context.Context, r protocol.CallRequest) {
				for range 5 {
					sleep(ctx, 50*time.Second)
					r.Progress(protocol.Progress{})
				}
			}, "", 250 * time.Second},
			"progress for ever": {func(ctx context.Context, r protocol.CallRequest) {
				for ctx.Err() == nil {
					sleep(ctx, 50*time.Second)
					r.Progress(protocol.Progress{})
				}
			}, protocol.ClassTimeout, client.RequestCapFactor * time.Minute},
		} {
			act = tc.act
			reply, err := c.Invoke(t.Context(), client.Invocation{ID: name, Name: "a", Progress: func(client.Progress) {}})
			if class(err) != tc.class || reply.Waited != tc.waited {
				t.Errorf("%s: %v, waited %s", name, err, reply.Waited)
			}
		}
	})
}

func TestOneCallsQuestionDoesNotStopAnothersClock(t *testing.T) {
	srv := server("a")
	srv.OnCall = func(ctx context.Context, req protocol.CallRequest) (*protocol.Result, error) {
		if req.ID == "asks" {
			_, _ = srv.Last().Options.Handlers.Elicit(ctx, protocol.ElicitRequest{CallID: "asks"})
			return &protocol.Result{}, nil
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	answer := func(context.Context, client.ElicitRequest) (client.ElicitResult, error) {
		time.Sleep(2 * time.Minute)
		return client.ElicitResult{}, nil
	}
	within(t, srv, options{elicit: answer, def: func(d *client.Definition) { d.Elicitation = true }}, func(t *testing.T, c *client.Client, _ *seen) {
		began := time.Now()
		done := make(chan error)
		go func() { _, err := c.Invoke(t.Context(), client.Invocation{ID: "asks", Name: "a"}); done <- err }()
		_, err := c.Invoke(t.Context(), client.Invocation{ID: "other", Name: "a"})
		if class(err) != protocol.ClassTimeout || time.Since(began) != time.Minute {
			t.Errorf("other: %v after %s", err, time.Since(began))
		}
		if err := <-done; err != nil || time.Since(began) != 2*time.Minute {
			t.Errorf("asks: %v after %s", err, time.Since(began))
		}
	})
}

func TestCancelAndConcurrency(t *testing.T) {
	srv := server("a")
	var mu sync.Mutex
	now, most := 0, 0
	srv.OnCall = func(ctx context.Context, _ protocol.CallRequest) (*protocol.Result, error) {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		defer func() { mu.Lock(); now--; mu.Unlock() }()
		select {
		case <-time.After(time.Second):
			return &protocol.Result{}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	within(t, srv, options{}, func(t *testing.T, c *client.Client, _ *seen) {
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				if _, err := c.Invoke(t.Context(), client.Invocation{ID: fmt.Sprint(i), Name: "a"}); err != nil {
					t.Error(err)
				}
			}()
		}
		wg.Wait()
		if most != 8 {
			t.Errorf("%d calls at once", most)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		reply, err := c.Invoke(ctx, client.Invocation{Name: "a"})
		if class(err) != protocol.ClassCancelled || !reply.Sent {
			t.Errorf("cancelled: %+v %v", reply, err)
		}
	})
}

func TestRetireWaitsThenGivesUp(t *testing.T) {
	srv := server("a")
	srv.OnCall = func(ctx context.Context, _ protocol.CallRequest) (*protocol.Result, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	within(t, srv, options{}, func(t *testing.T, c *client.Client, s *seen) {
		out := make(chan error)
		go func() { _, err := c.Invoke(t.Context(), client.Invocation{Name: "a"}); out <- err }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		began := time.Now()
		go func() {
			time.Sleep(time.Second)
			if _, err := c.Invoke(t.Context(), client.Invocation{Name: "a"}); class(err) != protocol.ClassClosed {
				t.Errorf("a new call: %v", err)
			}
		}()
		go func() {
			var pe *protocol.Error
			if err := <-out; !errors.As(err, &pe) || pe.Class != protocol.ClassClosed || !pe.Sent {
				t.Errorf("the call in flight: %v", err)
			}
		}()
		if err := c.Retire(ctx); err != nil {
			t.Error(err)
		}
		if d := time.Since(began); d != 30*time.Second {
			t.Errorf("retired after %s", d)
		}
		if !strings.Contains(s.path(), "retiring/retiring") {
			t.Errorf("states: %s", s.path())
		}
		synctest.Wait()
	})
}

func TestCloseIsBounded(t *testing.T) {
	srv := server("a")
	release := make(chan struct{})
	srv.OnClose = func() { <-release }
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release = make(chan struct{})
		c, err := client.New(client.Definition{Name: "x", Transport: clienttest.Transport{}}, client.Deps{Connect: srv.Connect})
		if err != nil {
			t.Fatal(err)
		}
		c.Start()
		if err := c.WaitAttempt(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_ = c.Close()
		if d := time.Since(began); d > client.DefaultCloseTimeout {
			t.Errorf("closed after %s", d)
		}
		close(release)
		<-c.Done()
	})
}

func TestRawCallsCannotCallTools(t *testing.T) {
	srv := server("a")
	within(t, srv, options{}, func(t *testing.T, c *client.Client, _ *seen) {
		for _, m := range []string{"tools/call", "initialize"} {
			if _, err := c.Call(t.Context(), m, nil); class(err) != protocol.ClassConfig {
				t.Errorf("%s: %v", m, err)
			}
		}
		for m, want := range map[string]protocol.Class{"tools/call": protocol.ClassConfig, "notifications/x": ""} {
			if err := c.Notify(t.Context(), m, nil); class(err) != want {
				t.Errorf("notify %s: %v", m, err)
			}
		}
		if out, err := c.Call(t.Context(), "resources/list", nil); err != nil || !strings.Contains(string(out), "resources/list") {
			t.Errorf("%s %v", out, err)
		}
		if _, err := c.CallTool(t.Context(), "a", json.RawMessage(`{"x":1,"x":2}`)); class(err) != protocol.ClassConfig {
			t.Errorf("duplicate keys: %v", err)
		}
		if tools, err := c.ListTools(t.Context()); err != nil || len(tools) != 1 {
			t.Errorf("%v %v", tools, err)
		}
	})
}

func TestServerTextIsCleanedAndNoticesAreHeldBack(t *testing.T) {
	srv := server("a")
	within(t, srv, options{}, func(t *testing.T, c *client.Client, s *seen) {
		for range 100 {
			srv.Last().Options.Handlers.Refused("x\x1b[2J", "not advertised", "raw")
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.notices) != 20 || strings.Contains(s.notices[0], "\x1b") {
			t.Errorf("%d notices, first %q", len(s.notices), s.notices[0])
		}
	})
}

func TestDefinitionIsChecked(t *testing.T) {
	t.Parallel()
	tr := clienttest.Transport{}
	for _, d := range []client.Definition{
		{Name: "x"}, {Name: "x", Transport: tr, Revision: "2020-01-01"}, {Name: "x", Transport: tr, Compat: "lax"},
		{Name: "x", Transport: tr, FreeText: "maybe"}, {Name: "x", Transport: tr, Discovery: "some"}, {Name: "x", Transport: tr, LogLevel: "loud"},
		{Name: "x", Transport: tr, Roots: []string{"rel"}}, {Name: "x", Transport: tr, Sampling: &client.SamplingPolicy{Approve: "yes"}},
	} {
		if _, err := client.New(d, client.Deps{}); class(err) != protocol.ClassConfig {
			t.Errorf("%+v: %v", d, err)
		}
	}
	d := client.Definition{ToolAllow: []string{"get_*", "x?"}, ToolDeny: []string{"*secret*"}}
	for name, want := range map[string]bool{"get_a": true, "get_secret_x": false, "set_a": false, "xy": true, "x": false} {
		if d.Offers(name) != want {
			t.Errorf("Offers(%q) = %t", name, !want)
		}
	}
}
