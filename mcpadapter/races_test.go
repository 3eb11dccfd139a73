package mcpadapter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/mcpadapter/client"
	"github.com/looprig/looprig/mcpadapter/client/clienttest"
	"github.com/looprig/looprig/mcpadapter/demo"
)

// fleet counts the servers that run.
type fleet struct{ live, started atomic.Int64 }

// binding is one of the fleet: sound, slow to answer, dead on arrival, or one
// that dies soon.
func (f *fleet) binding(name string, kind int) Binding {
	serve := func(ctx context.Context, in io.Reader, out io.Writer) error {
		f.live.Add(1)
		f.started.Add(1)
		defer f.live.Add(-1)
		switch kind {
		case 1:
			return demo.Serve(ctx, in, out, demo.Options{Delay: 5 * time.Millisecond})
		case 2:
			return errors.New("dead on arrival")
		case 3:
			ctx, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
			defer cancel()
			return demo.Run(ctx, in, out)
		case 4:
			<-ctx.Done() // never says a word
			return ctx.Err()
		}
		return demo.Run(ctx, in, out)
	}
	return Binding{Name: name, Server: client.Definition{
		Name: name, Revision: []string{"auto", "2025-11-25", "2026-07-28"}[kind%3], Transport: clienttest.Pipe{Serve: serve}, Roots: []string{"/"}, Elicitation: true,
		Sampling: &client.SamplingPolicy{Approve: client.ApproveAuto}, LogLevel: "info", StartTimeout: 5 * time.Second,
	}}
}

// randomOperation is a random change of one of the names.
func randomOperation(rng *rand.Rand, name string, b Binding) Operation {
	switch rng.IntN(6) {
	case 0:
		return AddBinding{b}
	case 1:
		return RemoveBinding{name}
	case 2:
		return EnableBinding{name}
	case 3:
		return DisableBinding{name}
	default:
		return ReplaceBinding{name, b}
	}
}

// 200 rounds of changes that race with dials, with calls and with each other
// leave no server, no goroutine and no deadlock behind.
func TestRandomReconfiguration(t *testing.T) {
	t.Parallel()
	const rounds, workers = 200, 4
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	f := &fleet{}
	names := []string{"a", "b", "c", "d", "e"}
	var bindings []Binding
	for i, n := range names {
		bindings = append(bindings, f.binding(n, i))
	}
	r := live(t, func(d *Deps) { d.Sampling = &sampler{} }, bindings...)
	a, err := r.m.StartAdoption(r, r)
	r.must(err)
	r.must(a.Install(t.Context(), "main", "main"))
	ctx, stop := context.WithTimeout(t.Context(), 90*time.Second)
	defer stop()
	var left atomic.Int64
	left.Store(rounds)
	var changing, using sync.WaitGroup
	for w := range workers {
		changing.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(w)))
			for left.Add(-1) >= 0 {
				name := names[rng.IntN(len(names))]
				// How long somebody waits for the outcome differs as well.
				wait, cancel := context.WithTimeout(ctx, time.Duration(rng.IntN(30))*time.Millisecond)
				if rng.IntN(7) == 0 {
					_ = r.m.Reconnect(wait, name) // what is not there cannot be reconnected
				} else {
					_ = r.m.Reconfigure(wait, randomOperation(rng, name, f.binding(name, rng.IntN(5)))) // many of them do not apply
				}
				cancel()
			}
		})
	}
	done := make(chan struct{})
	for w := range workers {
		using.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(100+w)))
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				case <-time.After(time.Millisecond):
				}
				r.use(ctx, rng, names[rng.IntN(len(names))], fmt.Sprint("c", w, "-", n))
			}
		})
	}
	changing.Wait()
	close(done)
	using.Wait()
	if ctx.Err() != nil {
		t.Fatal("the rounds did not end: something waits for ever")
	}
	// What is configured now still works.
	r.must(r.m.Reconfigure(ctx, AddBinding{f.binding("last", 0)}))
	r.must(r.m.Wait(ctx, "last"))
	r.must(r.m.Close(context.Background()))
	if n := f.live.Load(); n != 0 {
		t.Errorf("%d of %d servers are left", n, f.started.Load())
	}
}

// use does one of the things that somebody does meanwhile. Failures are fine,
// hanging is not.
func (r *rig) use(ctx context.Context, rng *rand.Rand, name, id string) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	switch rng.IntN(6) {
	case 0, 1:
		for _, d := range r.m.SessionTools("main", "main") {
			if d.Name != "mcp__"+name+"__add" {
				continue
			}
			if p, err := d.Handler.Prepare(ctx, []byte(`{"a":1,"b":2}`)); err == nil && p.Check(ctx) == nil {
				p.Invoke(ctx, tool.Call{ID: id})
			}
		}
	case 2:
		_, _ = r.m.Read(ctx, name, "demo://readme")
	case 3:
		_ = r.m.Subscribe(ctx, name, "demo://log")
	case 4:
		_, _ = r.m.Complete(ctx, integration.CompleteRequest{Binding: name, Kind: "prompt", Name: "greet", Argument: "style"})
	default:
		r.m.Status()
		r.m.Catalog(name, 0)
		r.m.Trace(name)
		r.m.Logs(name)
		r.m.ConfigDigest()
	}
}
