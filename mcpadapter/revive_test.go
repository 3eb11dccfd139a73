package mcpadapter

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/mcpadapter/client/clienttest"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
)

// A binding that is disabled, refused, undecided or without authorisation stays
// so until an operator changes that, whatever else happens: its server's
// messages, edits of what was handed in or out, definitions that were kept,
// changes of other bindings, time.
func TestNothingButAnOperatorRevivesABinding(t *testing.T) {
	for name, tc := range map[string]struct {
		state integration.State
		trust TrustKind
		auth  bool
		back  func(r *rig) error // what an operator does
	}{
		"disabled": {integration.StateDisabled, Accepted, false, func(r *rig) error {
			return r.m.Reconfigure(r.t.Context(), EnableBinding{"d"})
		}},
		"refused":      {integration.StateUntrusted, Refused, false, func(r *rig) error { return r.m.Reconnect(r.t.Context(), "d") }},
		"undecided":    {integration.StateUntrusted, Pending, false, func(r *rig) error { return r.m.Reconnect(r.t.Context(), "d") }},
		"unauthorised": {integration.StateFailed, Accepted, true, func(r *rig) error { return r.m.Reconnect(r.t.Context(), "d") }},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, r *rig) {
				b := r.server("d", "x", "y")
				other := r.server("other", "z")
				b.Server.ToolAllow = []string{"x"}
				srv := r.servers["d"]
				decision := Accepted
				unauthorised := false
				srv.OnConnect = func(context.Context, int, protocol.Options) error {
					if unauthorised {
						return &protocol.Error{Class: protocol.ClassAuth, Op: "connect", Message: "status 401"}
					}
					return nil
				}
				deps := func(d *Deps) {
					d.Trust = func(_ context.Context, req TrustRequest) Decision {
						if req.Binding != "d" {
							return Decision{Kind: Accepted}
						}
						return Decision{Kind: decision, Fingerprint: "sha256:f"}
					}
				}
				r.must(r.start(deps, b, other))
				r.must(r.m.Wait(t.Context(), "d"))
				r.must(r.m.Wait(t.Context(), "other"))
				kept := r.prepare("mcp__d__x", "{}")
				sess := srv.Last()

				// An operator, or the world, takes it out of service.
				decision, unauthorised = tc.trust, tc.auth
				switch {
				case tc.state == integration.StateDisabled:
					r.must(r.m.Reconfigure(t.Context(), DisableBinding{"d"}))
				case tc.auth:
					sess.Lose("gone")
				default:
					r.must(r.m.Reconfigure(t.Context(), DisableBinding{"d"}))
					_ = r.m.Reconfigure(t.Context(), EnableBinding{"d"}) // fails: it is not trusted
				}
				time.Sleep(time.Second)
				connects, calls := srv.Connects(), len(srv.Calls())

				// The definition that was handed in, and what is handed out.
				b.Disabled, b.Server.Builtin = false, true
				b.Server.ToolAllow[0] = "*"
				for _, s := range r.m.Status() {
					s.Enabled, s.State, s.Trust = true, integration.StateReady, "accepted"
				}
				if c, ok := r.m.Catalog("d", 0); ok {
					c.Items[0].Withheld = ""
				}
				// The server that it had.
				srv.Tools("x", "y", "new")
				sess.Options.Handlers.ListChanged(protocol.Tools, true)
				sess.Options.Handlers.ResourceUpdated("x:y")
				// Definitions that were kept, and requests of a person.
				if kept.Check(t.Context()) == nil {
					t.Error("a kept definition can be called")
				}
				if res := kept.Invoke(t.Context(), tool.Call{ID: "c"}); res.Outcome != tool.Unavailable || res.Sent {
					t.Errorf("a kept definition was called: %+v", res)
				}
				if _, err := r.m.Read(t.Context(), "d", "x:y"); !errors.Is(err, ErrNotServing) {
					t.Errorf("read: %v", err)
				}
				if _, err := r.m.Request(t.Context(), "d", "resources/list", nil); err == nil {
					t.Error("a raw request is served")
				}
				if err := r.m.Subscribe(t.Context(), "d", "x:y"); err == nil {
					t.Error("a subscription is served")
				}
				// Other bindings, another start, time.
				r.must(r.m.Reconfigure(t.Context(), DisableBinding{"other"}, EnableBinding{"other"}, AddBinding{named([]Binding{r.server("third", "w")})[0]}))
				r.must(r.m.Reconnect(t.Context(), "other"))
				if err := r.m.Start(t.Context()); !errors.Is(err, ErrAlreadyStarted) {
					t.Errorf("a second start: %v", err)
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				if s := r.status("d"); s.State != tc.state || srv.Connects() != connects || len(srv.Calls()) != calls {
					t.Errorf("it is %s, %d connects more, calls %v", s.State, srv.Connects()-connects, srv.Calls())
				}
				if tc.state != integration.StateFailed { // a failed one keeps its catalog and serves nothing
					for _, d := range r.m.SessionTools("main", "main") {
						if d.Identity.Binding == "d" {
							t.Errorf("%s is offered", d.Name)
						}
					}
				}

				decision, unauthorised = Accepted, false
				r.must(tc.back(r))
				if s := r.status("d"); s.State != integration.StateReady || s.Tools != 1 {
					t.Errorf("after the operator's word it is %s with %d tools", s.State, s.Tools)
				}
			})
		})
	}
}

// An edit of an entry behind the Manager's back would need a way in: there is
// none but operations, and each of them is recorded with who asked.
func TestAReplacementOfARefusedBindingIsAskedAbout(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		asked := 0
		b := r.server("d", "x")
		r.must(r.start(func(d *Deps) {
			d.Trust = func(context.Context, TrustRequest) Decision {
				asked++
				return Decision{Kind: Refused}
			}
		}, b))
		_ = r.m.Wait(t.Context(), "d")
		next := named([]Binding{r.bind("d")})[0]
		next.Server.Transport = clienttest.Transport{}
		if err := r.m.Reconfigure(t.Context(), ReplaceBinding{"d", next}); err == nil {
			t.Error("a replacement of a refused binding starts")
		}
		if asked != 2 || r.servers["d"].Connects() != 0 {
			t.Errorf("asked %d times, %d connects", asked, r.servers["d"].Connects())
		}
	})
}
