package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/mcpadapter/client"
	"github.com/looprig/looprig/mcpadapter/client/clienttest"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

func remote(msg string) error {
	return &protocol.Error{Class: protocol.ClassRemote, Op: "x", Message: msg, Code: -32000}
}

func TestSubscriptionsAndLogLevelComeBackAfterAReconnect(t *testing.T) {
	srv := server("a")
	var mu sync.Mutex
	refuse := ""
	srv.OnSubscribe = func(_ context.Context, uri string) error {
		mu.Lock()
		defer mu.Unlock()
		if uri == refuse {
			return remote("the server answered with an error")
		}
		return nil
	}
	def := func(d *client.Definition) {
		d.LogLevel = "warning"
		d.Limits.Subscriptions, d.Limits.URIBytes = 2, 10
	}
	within(t, srv, options{def: def}, func(t *testing.T, c *client.Client, s *seen) {
		for uri, want := range map[string]protocol.Class{"": protocol.ClassConfig, "file:///123": protocol.ClassOverLimit} {
			if err := c.Subscribe(t.Context(), uri); class(err) != want {
				t.Errorf("%q: %v", uri, err)
			}
		}
		for _, uri := range []string{"file:///a", "file:///b", "file:///a"} {
			if err := c.Subscribe(t.Context(), uri); err != nil {
				t.Fatal(err)
			}
		}
		err := c.Subscribe(t.Context(), "file:///c")
		if class(err) != protocol.ClassOverLimit || !strings.Contains(err.Error(), "3 over the limit of 2 (setting limits.subscriptions)") {
			t.Errorf("one too many: %v", err)
		}
		mu.Lock()
		refuse = "file:///b"
		mu.Unlock()
		srv.Last().Lose("process exited")
		time.Sleep(time.Minute)
		want := []string{"logging/setLevel warning", "resources/subscribe file:///a", "resources/subscribe file:///b"}
		if got := srv.Last().Requests(); !slices.Equal(got, want) {
			t.Errorf("after the reconnect: %q", got)
		}
		s.mu.Lock()
		if !slices.ContainsFunc(s.notices, func(n string) bool {
			return strings.HasPrefix(n, "subscription_lost") && strings.Contains(n, "file:///b")
		}) {
			t.Errorf("notices: %q", s.notices)
		}
		s.mu.Unlock()
		if err := c.Unsubscribe(t.Context(), "file:///a"); err != nil {
			t.Error(err)
		}
		mu.Lock()
		refuse = ""
		mu.Unlock()
		srv.Last().Lose("process exited")
		time.Sleep(time.Minute)
		want = []string{"logging/setLevel warning", "resources/subscribe file:///b"}
		if got := srv.Last().Requests(); !slices.Equal(got, want) {
			t.Errorf("after the second reconnect: %q", got)
		}
		if got := c.Subscriptions(); !slices.Equal(got, []string{"file:///b"}) {
			t.Errorf("subscriptions %q", got)
		}
	})
}

// On 2026-07-28 all resources come back with one request; what the server
// refuses then is asked for on its own, and the rest may have changed meanwhile.
func TestSubscriptionsComeBackTogetherInTheStatelessEra(t *testing.T) {
	srv := server("a")
	t.Parallel()
	srv.Info.Revision = protocol.Revision20260728
	var refuse atomic.Bool
	srv.OnSubscribe = func(_ context.Context, uri string) error {
		if refuse.Load() && uri == "file:///b" {
			return remote("no")
		}
		return nil
	}
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var got []string
		c, err := client.New(client.Definition{Name: "x", Transport: clienttest.Transport{}}, client.Deps{
			Connect:  srv.Connect,
			Observer: client.Observer{Updated: func(uri string) { mu.Lock(); got = append(got, uri); mu.Unlock() }},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		c.Start()
		if err := c.WaitAttempt(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		for _, uri := range []string{"file:///a", "file:///b", "file:///c"} {
			if err := c.Subscribe(t.Context(), uri); err != nil {
				t.Fatal(err)
			}
		}
		refuse.Store(true)
		srv.Last().Lose("process exited")
		time.Sleep(time.Minute)
		want := []string{"subscribe all file:///a file:///b file:///c", "resources/subscribe file:///b"}
		if got := srv.Last().Requests(); !slices.Equal(got, want) {
			t.Errorf("requests %q", got)
		}
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(got, []string{"file:///a", "file:///c"}) {
			t.Errorf("counted as changed: %q", got)
		}
	})
}

func TestUpdatesAreReportedAndPaced(t *testing.T) {
	srv := server("a")
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var got []string
		take := func() []string { mu.Lock(); defer mu.Unlock(); out := got; got = nil; return out }
		c, err := client.New(client.Definition{Name: "x", Transport: clienttest.Transport{}}, client.Deps{
			Connect:  srv.Connect,
			Observer: client.Observer{Updated: func(uri string) { mu.Lock(); got = append(got, uri); mu.Unlock() }},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		c.Start()
		if err := c.WaitAttempt(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(c.Subscribe(t.Context(), "file:///a"), c.Subscribe(t.Context(), "file:///dir/")); err != nil {
			t.Fatal(err)
		}
		updated := srv.Last().Options.Handlers.ResourceUpdated
		updated("file:///other")
		updated("file:///ab") // no part of file:///a
		updated("file:///dir/x")
		synctest.Wait()
		if got := take(); !slices.Equal(got, []string{"file:///dir/"}) {
			t.Errorf("reported: %q", got)
		}
		for range 100_000 {
			updated("file:///a")
		}
		synctest.Wait()
		if n := len(take()); n != 1 {
			t.Errorf("%d reports at once", n)
		}
		updated("file:///a")
		time.Sleep(3 * time.Second)
		if n := len(take()); n != 1 {
			t.Errorf("%d reports of the stream's end", n)
		}
	})
}

func TestCompletionIsBounded(t *testing.T) {
	srv := server("a")
	var values []string
	srv.OnComplete = func(context.Context, protocol.CompleteRequest) (protocol.Completion, error) {
		return protocol.Completion{Values: values}, nil
	}
	def := func(d *client.Definition) { d.Limits.CompletionBytes, d.Limits.ArgumentBytes = 200, 10 }
	within(t, srv, options{def: def}, func(t *testing.T, c *client.Client, _ *seen) {
		for _, tc := range []struct {
			values []string
			asked  string
			want   string
		}{
			{slices.Repeat([]string{"ab"}, 100), "0123456789", ""},
			{slices.Repeat([]string{"a"}, 101), "", "101 over the limit of 100"},
			{[]string{strings.Repeat("a", 201)}, "", "201 over the limit of 200 (setting limits.completionBytes)"},
			{nil, "0123456789a", "11 over the limit of 10 (setting limits.argumentBytes)"},
		} {
			values = tc.values
			_, err := c.Complete(t.Context(), client.CompleteRequest{Prompt: "p", Argument: "x", Value: tc.asked})
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%d values: %v, want %q", len(tc.values), err, tc.want)
			}
		}
	})
}

func TestRoots(t *testing.T) {
	srv := server("a")
	within(t, srv, options{def: func(d *client.Definition) { d.Roots = []string{"/srv/a b"}; d.Limits.Roots = 2 }}, func(t *testing.T, c *client.Client, _ *seen) {
		if got := srv.Last().Options.Roots; len(got) != 1 || got[0].URI != "file:///srv/a%20b" || got[0].Name != "a b" {
			t.Errorf("roots %+v", got)
		}
		if err := c.SetRoots(t.Context(), []string{"relative"}); class(err) != protocol.ClassConfig {
			t.Errorf("relative: %v", err)
		}
		if err := c.SetRoots(t.Context(), []string{"/1", "/2", "/3"}); err == nil || !strings.Contains(err.Error(), "limits.roots") {
			t.Errorf("too many: %v", err)
		}
		if err := c.SetRoots(t.Context(), []string{"/1", "/2"}); err != nil {
			t.Fatal(err)
		}
		if got := srv.Last().Requests(); !slices.Equal(got, []string{"roots file:///1 file:///2"}) {
			t.Errorf("told: %q", got)
		}
		srv.Last().Lose("gone")
		time.Sleep(time.Minute)
		if got := srv.Last().Options.Roots; len(got) != 2 {
			t.Errorf("after the reconnect: %+v", got)
		}
	})
	t.Run("none declared", func(t *testing.T) {
		srv := server("a")
		within(t, srv, options{}, func(t *testing.T, c *client.Client, _ *seen) {
			if srv.Last().Options.Roots != nil || class(c.SetRoots(t.Context(), []string{"/x"})) != protocol.ClassConfig {
				t.Error("roots are offered though none are declared")
			}
		})
	})
}

func TestAnExpiredSessionIsBegunAnewAtOnce(t *testing.T) {
	srv := server("a")
	expire := func() {
		srv.Last().Fail(&protocol.Error{Class: protocol.ClassLost, Op: "session", Message: "x", Err: &wire.LossError{Reason: wire.ReasonSessionExpired, ExitCode: -1}})
	}
	within(t, srv, options{}, func(t *testing.T, c *client.Client, s *seen) {
		expire()
		synctest.Wait()
		if srv.Connects() != 2 || c.Status().State != integration.StateReady || !strings.Contains(s.path(), "degraded/session_expired reconnecting/session_expired") {
			t.Errorf("%d connects, %s", srv.Connects(), s.path())
		}
		expire() // a server that forgets every session is not hammered
		synctest.Wait()
		if srv.Connects() != 2 || c.Status().NextTry.IsZero() {
			t.Errorf("%d connects at once", srv.Connects())
		}
	})
}

func TestRetryAfterIsHonouredWithinBounds(t *testing.T) {
	for asked, want := range map[time.Duration]time.Duration{time.Minute: time.Minute, 24 * time.Hour: 5 * time.Minute} {
		t.Run(asked.String(), func(t *testing.T) {
			srv := server("a")
			srv.OnConnect = func(_ context.Context, n int, _ protocol.Options) error {
				if n == 1 {
					return &protocol.Error{Class: protocol.ClassHTTP, Op: "connect", Message: "503", Err: &wire.StatusError{Status: 503, RetryAfter: asked}}
				}
				return nil
			}
			within(t, srv, options{raw: true}, func(t *testing.T, c *client.Client, _ *seen) {
				c.Start()
				_ = c.WaitAttempt(t.Context(), 0)
				began := time.Now()
				if err := c.Wait(t.Context()); err != nil || time.Since(began) != want {
					t.Errorf("%v after %s", err, time.Since(began))
				}
			})
		})
	}
}

func TestAuthorisationThatIsMissingWaitsForAPerson(t *testing.T) {
	srv := server("a")
	srv.OnConnect = func(_ context.Context, n int, _ protocol.Options) error {
		if n == 1 {
			return &protocol.Error{Class: protocol.ClassAuth, Op: "connect", Message: "the server answered with status 401"}
		}
		return nil
	}
	within(t, srv, options{raw: true}, func(t *testing.T, c *client.Client, _ *seen) {
		c.Start()
		time.Sleep(time.Hour)
		st := c.Status()
		if srv.Connects() != 1 || st.State != integration.StateFailed || st.Code != client.CodeAuthRequired || !strings.Contains(st.Text, "reconnects it") {
			t.Errorf("%d attempts, %+v", srv.Connects(), st)
		}
		c.Reconnect()
		synctest.Wait()
		if c.Status().State != integration.StateReady {
			t.Errorf("after the reconnect: %s", c.Status().State)
		}
	})
}

// eras is a memory of one server.
type eras struct {
	known string
	found []string
}

func (e *eras) Known() string         { return e.known }
func (e *eras) Found(revision string) { e.found = append(e.found, revision) }

func TestTheEraIsRememberedAndDoubted(t *testing.T) {
	srv := server("a")
	srv.Info.Revision = "2025-06-18"
	var asked []string
	srv.OnConnect = func(_ context.Context, n int, opt protocol.Options) error {
		asked = append(asked, opt.KnownRevision)
		if n == 2 {
			return remote("initialize is not known")
		}
		return nil
	}
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mem := &eras{known: "2024-11-05"}
		c, err := client.New(client.Definition{Name: "x", Transport: clienttest.Transport{}}, client.Deps{Connect: srv.Connect, Eras: mem})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		c.Start()
		for range 3 {
			synctest.Wait()
			srv.Last().Lose("gone")
			time.Sleep(time.Minute)
		}
		c.Reconnect()
		synctest.Wait()
		// The first from the memory, then what was seen; after a failure that may
		// come from it, and when a person asks, it is found anew.
		want := []string{"2024-11-05", "2025-06-18", "", "2025-06-18", "2025-06-18", ""}
		if !slices.Equal(asked, want) {
			t.Errorf("known %q, want %q", asked, want)
		}
		if len(mem.found) != 5 || mem.found[0] != "2025-06-18" {
			t.Errorf("found %q", mem.found)
		}
	})
}

// A server that was silent when it was asked may only have been slow to start:
// what it was spoken to as is kept neither for the next connection nor beyond.
func TestSilenceIsNoEra(t *testing.T) {
	srv := server("a")
	srv.Info.Revision, srv.Info.ProbeSilent = protocol.Revision20251125, true
	var asked []string
	srv.OnConnect = func(_ context.Context, _ int, opt protocol.Options) error {
		asked = append(asked, opt.KnownRevision)
		return nil
	}
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		mem := &eras{}
		c, err := client.New(client.Definition{Name: "x", Transport: clienttest.Transport{}}, client.Deps{Connect: srv.Connect, Eras: mem})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		c.Start()
		synctest.Wait()
		srv.Last().Lose("gone")
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := []string{"", ""}; !slices.Equal(asked, want) || len(mem.found) != 0 {
			t.Errorf("known %q, found %q", asked, mem.found)
		}
	})
}

func TestAFloodOfListChangedIsTwoRefreshesASecond(t *testing.T) {
	srv := server("a")
	within(t, srv, options{}, func(t *testing.T, _ *client.Client, _ *seen) {
		time.Sleep(10 * time.Second)
		before := srv.Lists(protocol.Tools)
		changed := srv.Last().Options.Handlers.ListChanged
		for range 1000 { // 10,000 in a second
			for range 10 {
				changed(protocol.Tools, true)
			}
			time.Sleep(time.Millisecond)
		}
		if n := srv.Lists(protocol.Tools) - before; n > 2 {
			t.Errorf("%d refreshes in that second", n)
		}
		time.Sleep(5 * time.Second)
		if n := srv.Lists(protocol.Tools) - before; n < 1 || n > 3 {
			t.Errorf("%d refreshes altogether", n)
		}
	})
}

func TestReconnectDoesNotWaitForASilentServer(t *testing.T) {
	srv := server("a")
	srv.OnPing = func(ctx context.Context) error {
		<-ctx.Done()
		return &protocol.Error{Class: protocol.ClassTimeout, Op: "ping"}
	}
	within(t, srv, options{}, func(t *testing.T, c *client.Client, _ *seen) {
		time.Sleep(61 * time.Second) // the check is under way
		c.Reconnect()
		synctest.Wait()
		if srv.Connects() != 2 {
			t.Errorf("%d connects", srv.Connects())
		}
		time.Sleep(100 * time.Second)
		if srv.Connects() != 3 {
			t.Errorf("%d connects: a server that misses two checks is lost", srv.Connects())
		}
	})
}

func TestSamplingIsOfferedOnlyWithPolicyAndModel(t *testing.T) {
	t.Parallel()
	sample := func(context.Context, client.SampleRequest) (client.SampleResult, error) {
		return client.SampleResult{}, nil
	}
	for _, policy := range []*client.SamplingPolicy{nil, {}} {
		for _, model := range []bool{false, true} {
			t.Run(fmt.Sprint(policy != nil, model), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					srv := server("a")
					deps := client.Deps{Connect: srv.Connect}
					if model {
						deps.Sample = sample
					}
					c, err := client.New(client.Definition{Name: "x", Transport: clienttest.Transport{}, Sampling: policy}, deps)
					if err != nil {
						t.Fatal(err)
					}
					defer func() { _ = c.Close() }()
					c.Start()
					_ = c.WaitAttempt(t.Context(), 0)
					if got := srv.Last().Options.Handlers.Sample != nil; got != (policy != nil && model) {
						t.Errorf("offered: %t", got)
					}
				})
			})
		}
	}
}

func TestALostRequestCastsDoubtOnTheConnection(t *testing.T) {
	srv := server("a")
	srv.OnCall = func(context.Context, protocol.CallRequest) (*protocol.Result, error) {
		return nil, &protocol.Error{Class: protocol.ClassLost, Op: "tools/call", Message: "the stream ended", Sent: true}
	}
	var dead atomic.Bool
	srv.OnPing = func(context.Context) error {
		if dead.Load() {
			return &protocol.Error{Class: protocol.ClassTimeout, Op: "ping"}
		}
		return nil
	}
	within(t, srv, options{}, func(t *testing.T, c *client.Client, _ *seen) {
		for _, alive := range []bool{true, false} {
			dead.Store(!alive)
			connects := srv.Connects()
			if _, err := c.Invoke(t.Context(), client.Invocation{Name: "a"}); class(err) != protocol.ClassLost {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Second) // much less than the pace of the checks
			if again := srv.Connects() > connects; again == alive {
				t.Errorf("alive %t: connected anew %t", alive, again)
			}
		}
	})
}

func TestAServerThatComesBackAsAnotherIsNoticed(t *testing.T) {
	srv := server("a")
	srv.Info = protocol.Info{Revision: "2025-11-25", ServerName: "docs", ServerVersion: "1"}
	within(t, srv, options{}, func(t *testing.T, c *client.Client, s *seen) {
		codes := func() string {
			s.mu.Lock()
			defer s.mu.Unlock()
			var out []string
			for _, n := range s.notices {
				code, _, _ := strings.Cut(n, " ")
				out = append(out, code)
			}
			return strings.Join(out, " ")
		}
		for _, next := range []struct {
			info protocol.Info
			want string
		}{
			{srv.Info, ""},
			{protocol.Info{Revision: "2025-11-25", ServerName: "docs", ServerVersion: "2"}, "server_changed"},
			{protocol.Info{Revision: "2025-06-18", ServerName: "docs", ServerVersion: "2"}, "server_changed revision_changed"},
		} {
			synctest.Wait()
			srv.Info = next.info
			srv.Last().Lose("gone")
			time.Sleep(time.Minute)
			synctest.Wait()
			if got := codes(); got != next.want {
				t.Errorf("notices %q, want %q", got, next.want)
			}
		}
		if st := c.Status(); st.Server.Version != "2" || st.Revision != "2025-06-18" {
			t.Errorf("status %+v", st)
		}
	})
}

func TestEndlessQuestionsDoNotHoldARequestForEver(t *testing.T) {
	srv := server("a")
	srv.OnCall = func(ctx context.Context, req protocol.CallRequest) (*protocol.Result, error) {
		for ctx.Err() == nil {
			_, _ = srv.Last().Options.Handlers.Elicit(ctx, protocol.ElicitRequest{CallID: req.ID})
		}
		return nil, &protocol.Error{Class: protocol.ClassCancelled, Op: "tools/call", Sent: true}
	}
	answer := func(ctx context.Context, _ client.ElicitRequest) (client.ElicitResult, error) {
		select {
		case <-time.After(time.Minute):
		case <-ctx.Done():
		}
		return client.ElicitResult{Action: "accept"}, nil
	}
	within(t, srv, options{elicit: answer, def: func(d *client.Definition) { d.Elicitation = true }}, func(t *testing.T, c *client.Client, _ *seen) {
		began := time.Now()
		reply, err := c.Invoke(t.Context(), client.Invocation{ID: "c", Name: "a"})
		if d := time.Since(began); class(err) != protocol.ClassTimeout || d != client.RequestCapFactor*client.DefaultElicitTimeout || reply.Waited != 0 || !strings.Contains(err.Error(), "questions kept it open") {
			t.Errorf("%v after %s, %s of them on the server", err, d, reply.Waited)
		}
	})
}
