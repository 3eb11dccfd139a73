//go:build external

package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/looprig/looprig/mcpadapter/catalog"
	"github.com/looprig/looprig/mcpadapter/client"
	"github.com/looprig/looprig/mcpadapter/transport"
)

// The waits for what a server does by itself, and between two looks.
const (
	probeWait = 10 * time.Second
	startWait = 90 * time.Second
	lookEvery = 10 * time.Millisecond
)

// rig is a client with a record of what the server sent unasked.
type rig struct {
	*client.Client

	mu       sync.Mutex
	asked    map[string]int // questions by kind
	updated  map[string]int // resources
	logs     int
	progress int
	newest   uint64 // generation
}

// connect starts a client of a server; revision "" finds the revision out.
func connect(t *testing.T, tr transport.Transport, revision string) (*rig, error) {
	t.Helper()
	r := &rig{asked: map[string]int{}, updated: map[string]int{}}
	def := client.Definition{
		Name: "peer", Transport: tr, Revision: revision, Version: "conformance", StartTimeout: startWait,
		Elicitation: true, Sampling: &client.SamplingPolicy{}, Roots: []string{os.TempDir()}, LogLevel: "debug",
	}
	c, err := client.New(def, client.Deps{
		Elicit: func(ctx context.Context, req client.ElicitRequest) (client.ElicitResult, error) {
			r.count(r.asked, req.Mode)
			if req.Mode == "url" {
				return client.ElicitResult{Action: "accept"}, nil
			}
			return acceptDefaults(ctx, req)
		},
		Sample: func(ctx context.Context, req client.SampleRequest) (client.SampleResult, error) {
			r.count(r.asked, "sample")
			return reply(ctx, req)
		},
		Observer: client.Observer{
			Updated: func(uri string) { r.count(r.updated, uri) },
			Log: func(string, string, json.RawMessage) {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.logs++
			},
			Candidate: func(_, next *catalog.Generation) {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.newest = next.Number
			},
		},
	})
	if err != nil {
		return nil, err
	}
	r.Client = c
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), startWait)
	defer cancel()
	c.Start()
	if err := c.WaitAttempt(ctx, 0); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *rig) count(m map[string]int, key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m[key]++
}

// await polls until a condition, asked under the lock, holds.
func (r *rig) await(ctx context.Context, limit time.Duration, what string, holds func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		r.mu.Lock()
		ok := holds()
		r.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: not within %s", what, limit)
		case <-time.After(lookEvery):
		}
	}
}

// use calls a tool and returns its whole result.
func (r *rig) use(ctx context.Context, name, args string) (string, error) {
	reply, err := r.Invoke(ctx, client.Invocation{
		ID: "call-" + name, Name: name, Args: json.RawMessage(args),
		Progress: func(client.Progress) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.progress++
		},
	})
	switch {
	case err != nil:
		return "", err
	case reply.Result.IsError:
		return "", errors.New("the tool reports an error: " + string(reply.Result.Raw))
	}
	return string(reply.Result.Raw), nil
}
