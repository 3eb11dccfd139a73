package mcpadapter

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/mcpadapter/client"
	"github.com/looprig/looprig/mcpadapter/client/clienttest"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
	"github.com/looprig/looprig/mcpadapter/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a host: it records what the Manager tells and plays the session.
type rig struct {
	t       *testing.T
	m       *Manager
	servers map[string]*clienttest.Server

	mu      sync.Mutex
	events  []event.Event
	notices []Notice
	gates   []gate.Request
	// answer decides on gates; nil cancels them.
	answer func(ctx context.Context, req gate.Request) (gate.Response, error)

	watch    func(loopID, name string, state LoopState)
	toolsets map[string][]tool.Definition
	installs int
	refuse   error
}

func (r *rig) Publish(_ context.Context, ev event.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, ev)
	return nil
}

func (r *rig) Report(n Notice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notices = append(r.notices, n)
}

func (r *rig) OpenGate(ctx context.Context, req gate.Request) (gate.Response, error) {
	r.mu.Lock()
	r.gates = append(r.gates, req)
	answer := r.answer
	r.mu.Unlock()
	if answer == nil {
		return gate.Response{Action: gate.ActionCancel, Close: gate.ReasonWithdrawn}, nil
	}
	return answer(ctx, req)
}

func (r *rig) WatchLoops(_ context.Context, fn func(loopID, name string, state LoopState)) (stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watch = fn
	return func() {}
}

func (r *rig) ReplaceExternalTools(_ context.Context, loop, _ string, _ uint64, defs []tool.Definition) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.refuse; err != nil {
		r.refuse = nil
		return err
	}
	r.installs++
	r.toolsets[loop] = defs
	return nil
}

// names lists the tools that a loop has.
func (r *rig) names(loop string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := []string{}
	for _, d := range r.toolsets[loop] {
		out = append(out, d.Name)
	}
	return out
}

func (r *rig) codes() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, n := range r.notices {
		out = append(out, n.Code)
	}
	return out
}

// of lists the events of one kind.
func of[T event.Event](r *rig) []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []T
	for _, ev := range r.events {
		if e, ok := ev.(T); ok {
			out = append(out, e)
		}
	}
	return out
}

// path lists the states of a binding as they were published.
func (r *rig) path(binding string) []string {
	var out []string
	for _, e := range of[*event.BindingChanged](r) {
		if e.Binding == binding {
			out = append(out, e.State)
		}
	}
	return out
}

func (r *rig) status(name string) integration.Binding {
	for _, b := range r.m.Status() {
		if b.Name == name {
			return b
		}
	}
	return integration.Binding{}
}

// server makes a fake server with tools and returns its binding.
func (r *rig) server(name string, tools ...string) Binding {
	srv := &clienttest.Server{}
	srv.Tools(tools...)
	r.mu.Lock()
	r.servers[name] = srv
	r.mu.Unlock()
	return r.bind(name)
}

// bind makes a binding to an existing fake server.
func (r *rig) bind(name string) Binding {
	return Binding{Name: name, Server: client.Definition{
		Transport: clienttest.Transport{Settings: []transport.Setting{{Key: "name", Value: name}}}, Elicitation: true,
	}}
}

// connect finds the fake server by the version that start gave its definition.
func (r *rig) connect(ctx context.Context, opt protocol.Options) (client.Session, error) {
	r.mu.Lock()
	srv := r.servers[opt.ClientVersion]
	r.mu.Unlock()
	return srv.Connect(ctx, opt)
}

// start makes a started Manager of the bindings.
func (r *rig) start(edit func(*Deps), bindings ...Binding) error {
	r.make(edit, bindings...)
	return r.m.Start(r.t.Context())
}

func (r *rig) make(edit func(*Deps), bindings ...Binding) {
	r.t.Helper()
	deps := Deps{SessionID: "S", Gates: r, Events: r, Reporter: r, connect: r.connect}
	if edit != nil {
		edit(&deps)
	}
	m, err := NewManager(named(bindings), deps)
	if err != nil {
		r.t.Fatal(err)
	}
	r.m = m
}

// named lets the connector know which server a definition means.
func named(bindings []Binding) []Binding {
	out := slices.Clone(bindings)
	for i := range out {
		if out[i].Server.Version == "" {
			out[i].Server.Version = out[i].Name
		}
	}
	return out
}

// bubble runs f in fake time with a rig whose Manager is closed at the end and
// must then have left nothing open.
func bubble(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, servers: map[string]*clienttest.Server{}, toolsets: map[string][]tool.Definition{}}
		defer func() {
			if r.m == nil {
				return
			}
			if err := r.m.Close(context.Background()); err != nil {
				t.Error(err)
			}
			for name, srv := range r.servers {
				if n := srv.Open(); n != 0 {
					t.Errorf("%d sessions of %s are left open", n, name)
				}
			}
		}()
		f(t, r)
	})
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// def finds one of the tools that a loop may use.
func (r *rig) def(name string) tool.Definition {
	r.t.Helper()
	for _, d := range r.m.SessionTools("main", "main") {
		if d.Name == name {
			return d
		}
	}
	r.t.Fatalf("no tool %s", name)
	return tool.Definition{}
}

func (r *rig) prepare(name, args string) tool.Prepared {
	r.t.Helper()
	p, err := r.def(name).Handler.Prepare(r.t.Context(), json.RawMessage(args))
	if err != nil {
		r.t.Fatal(err)
	}
	return p
}

// hang waits for the context, as a server that never answers makes a call do.
func hang(ctx context.Context, _ protocol.CallRequest) (*protocol.Result, error) {
	<-ctx.Done()
	return nil, &protocol.Error{Class: protocol.ClassCancelled, Op: "tools/call", Message: "cancelled", Sent: true}
}
