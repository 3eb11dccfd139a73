package mcpadapter

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/mcpadapter/client"
	"github.com/looprig/looprig/mcpadapter/client/clienttest"
	"github.com/looprig/looprig/mcpadapter/demo"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
)

// live is a rig whose servers speak the real protocol, in real time.
func live(t *testing.T, edit func(*Deps), bindings ...Binding) *rig {
	t.Helper()
	r := &rig{t: t, servers: map[string]*clienttest.Server{}, toolsets: map[string][]tool.Definition{}}
	r.make(func(d *Deps) {
		d.connect = nil
		if edit != nil {
			edit(d)
		}
	}, bindings...)
	t.Cleanup(func() { _ = r.m.Close(context.Background()) })
	r.must(r.m.Start(t.Context()))
	return r
}

// until waits for cond.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	end := time.Now().Add(20 * time.Second)
	for !cond() {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// The whole path of every request of a person and of sampling, in both eras of
// the protocol.
func TestEveryRequestInBothEras(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{protocol.Revision20250618, protocol.Revision20251125, protocol.Revision20260728} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			m := &sampler{write: func(_ context.Context, req SamplingRequest) (SamplingMessage, error) {
				return SamplingMessage{Text: "because of " + content.PlainText(req.Messages[0].Blocks), Model: "m", Stop: "end"}, nil
			}}
			answer := func(context.Context, gate.Request) (gate.Response, error) { return allow(gate.ActionRun, ""), nil }
			r := live(t, func(d *Deps) { d.Sampling = m }, Binding{Name: "demo", Server: client.Definition{
				Transport: clienttest.Pipe{Serve: demo.Run}, Revision: revision, LogLevel: "debug",
				Roots: []string{t.TempDir()}, Sampling: &client.SamplingPolicy{},
			}})
			r.mu.Lock()
			r.answer = answer
			r.mu.Unlock()
			ctx := t.Context()
			r.must(r.m.Wait(ctx, "demo"))

			res := r.prepare("mcp__demo__think", `{"question":"why?"}`).Invoke(ctx, tool.Call{ID: "c1", Loop: "main", Turn: "t1"})
			if got := content.PlainText(res.Content); res.Outcome != tool.OK || got != "the model said: because of why?" {
				t.Errorf("think: %s %q %s", res.Outcome, got, res.Reason)
			}
			r.mu.Lock()
			gates := slices.Clone(r.gates)
			r.mu.Unlock()
			if len(gates) != 2 || gates[0].Prompt.Sampling.System != "Answer in one sentence." || gates[1].Prompt.Sampling.Reply != "because of why?" {
				t.Errorf("gates %+v", gates)
			} else if known := gates[0].Subject.Call == "c1"; known != (revision == protocol.Revision20260728) {
				t.Errorf("the gate's subject is %+v", gates[0].Subject)
			}
			if r.status("demo").SamplingTokens == 0 {
				t.Error("no tokens are counted")
			}

			got, err := r.m.Read(ctx, "demo", "demo://readme")
			if err != nil || len(got.Content) != 1 || got.Content[0].MIME != "text/markdown" || got.Content[0].Text == "" {
				t.Errorf("read: %+v %v", got, err)
			}
			var re *RequestError
			if _, err := r.m.Read(ctx, "demo", "demo://nothing"); !errors.As(err, &re) || re.Class != protocol.ClassRemote {
				t.Errorf("read nothing: %v", err)
			}
			prompt, err := r.m.Prompt(ctx, "demo", "greet", map[string]string{"who": "Ada"})
			if err != nil || len(prompt.Messages) == 0 || !strings.Contains(content.PlainText(prompt.Content), "Ada") {
				t.Errorf("prompt: %+v %v", prompt, err)
			}
			c, err := r.m.Complete(ctx, integration.CompleteRequest{Binding: "demo", Kind: "prompt", Name: "greet", Argument: "style", Value: "f"})
			if err != nil || !slices.Contains(c.Values, "formal") {
				t.Errorf("complete: %+v %v", c, err)
			}

			trace := r.m.Trace("demo")
			if !slices.ContainsFunc(trace, func(f integration.Frame) bool { return f.Sent && strings.Contains(string(f.Data), `"resources/read"`) }) ||
				!slices.ContainsFunc(trace, func(f integration.Frame) bool { return !f.Sent && strings.Contains(string(f.Data), `"text/markdown"`) }) {
				t.Errorf("%d frames in the trace", len(trace))
			}

			r.must(r.m.Subscribe(ctx, "demo", "demo://log"))
			updates := func() int { return len(of[*event.ResourceUpdated](r)) }
			call := func() { r.prepare("mcp__demo__add", `{"a":1,"b":2}`).Invoke(ctx, tool.Call{ID: "c2"}) }
			call() // once: the subscription is in force when Subscribe returns
			until(t, "an update", func() bool { return updates() > 0 })
			before := updates()
			r.must(r.m.Reconnect(ctx, "demo"))
			until(t, "the gap counts as a change", func() bool { return updates() > before })
			before = updates()
			call()
			until(t, "an update after the reconnect", func() bool { return updates() > before })
		})
	}
}
