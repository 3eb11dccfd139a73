//go:build integration

package protocol_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/looprig/looprig/mcpadapter/internal/fixture"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
	"github.com/looprig/looprig/mcpadapter/transport/stdio"
)

// expectation is what a scenario does to the calls of its tools, by name; the
// class "" is success. A scenario that is not here only has to end in time.
type expectation struct {
	set     map[string]string
	connect protocol.Class
	tools   map[string]protocol.Class
}

var expected = map[string]expectation{
	"basic":            {tools: map[string]protocol.Class{"alpha": "", "beta": "", "mutate": "", "form": ""}},
	"forms":            {set: map[string]string{"state": "odd"}, tools: map[string]protocol.Class{"ask": "", "confirm": "", "url": ""}},
	"noise":            {set: map[string]string{"count": "3"}},
	"bigframe":         {tools: map[string]protocol.Class{"big": protocol.ClassOverLimit, "quick": ""}},
	"mute":             {connect: protocol.ClassTimeout},
	"exit-on-discover": {},
	"crash-in-call":    {tools: map[string]protocol.Class{"crash": protocol.ClassLost}},
	"dup-keys":         {tools: map[string]protocol.Class{"call": protocol.ClassMalformed}},
	"string-ids":       {set: map[string]string{"kind": "float"}, tools: map[string]protocol.Class{"call": protocol.ClassProtocol}},
	"mrtr-null":        {set: map[string]string{"kind": "request"}, tools: map[string]protocol.Class{"ask": protocol.ClassProtocol}},
	"stall":            {tools: map[string]protocol.Class{"quick": "", "stall": protocol.ClassTimeout}},
	"slow-start":       {set: map[string]string{"ms": "700"}},
}

func TestEveryScenarioEndsInTime(t *testing.T) {
	bin := fixture.Build(t)
	for _, name := range fixture.ScenarioNames() {
		for _, era := range []string{"legacy", "modern", "both"} {
			if name == "exit-on-discover" && era == "modern" {
				continue // such a server cannot be used at all
			}
			t.Run(name+"/"+era, func(t *testing.T) {
				t.Parallel()
				e := expected[name]
				args := []string{"--scenario", name, "--set", "era=" + era}
				for k, v := range e.set {
					args = append(args, "--set", k+"="+v)
				}
				runScenario(t, bin, args, e)
			})
		}
	}
}

func runScenario(t *testing.T, bin string, args []string, e expectation) {
	t.Helper()
	dialer, err := stdio.New(stdio.Config{Command: bin, Args: args})
	if err != nil {
		t.Fatal(err)
	}
	// Long for what answers, on a busy machine too, and brief for what never does.
	probe, whole := 5*time.Second, 20*time.Second
	if e.connect == protocol.ClassTimeout {
		probe, whole = time.Second, 2*time.Second
	}
	ctx, cancel := context.WithTimeout(context.Background(), whole)
	defer cancel()
	s, err := protocol.Connect(ctx, protocol.Options{
		Dialer: dialer, ClientVersion: "test", ProbeTimeout: probe,
		Wire: wire.Options{FrameBytes: 1 << 20, NoiseLines: 100, CloseGrace: 100 * time.Millisecond},
		Handlers: protocol.Handlers{
			Elicit: func(context.Context, protocol.ElicitRequest) (protocol.ElicitResult, error) {
				return protocol.ElicitResult{Action: "accept", Content: json.RawMessage(`{}`)}, nil
			},
			ListChanged: func(protocol.Family, bool) {},
		},
	})
	if err != nil {
		check(t, "connect", err, e.connect)
		var pe *protocol.Error
		if errors.As(err, &pe) {
			<-pe.Cleanup
		}
		return
	}
	defer func() {
		start := time.Now()
		if err := s.Close(); err != nil || time.Since(start) > 5*time.Second {
			t.Errorf("close: %v after %v", err, time.Since(start))
		}
	}()
	if e.connect != "" {
		t.Fatalf("connected, want %s", e.connect)
	}
	names := listAll(ctx, t, s)
	for name, want := range e.tools {
		if !names[name] && len(names) > 0 {
			t.Errorf("there is no tool %s among %v", name, names)
			continue
		}
		wait := 20 * time.Second
		if want == protocol.ClassTimeout {
			wait = time.Second
		}
		check(t, name, call(s, name, wait), want)
	}
	for name := range names {
		if _, done := e.tools[name]; !done {
			var pe *protocol.Error
			if err := call(s, name, 2*time.Second); err != nil && !errors.As(err, &pe) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func call(s *protocol.Session, name string, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	_, err := s.CallTool(ctx, protocol.CallRequest{ID: name, Name: name, Progress: func(protocol.Progress) {}})
	return err
}

// listAll reads one page of each family, and of the tools a few more.
func listAll(ctx context.Context, t *testing.T, s *protocol.Session) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, fam := range []protocol.Family{protocol.Tools, protocol.Prompts, protocol.Resources, protocol.Templates} {
		cursor := ""
		for range 3 {
			page, err := s.List(ctx, fam, cursor)
			if err != nil {
				t.Logf("%s: %v", fam, err)
				break
			}
			for _, raw := range page.Items {
				var item struct{ Name string }
				if json.Unmarshal(raw, &item) == nil && fam == protocol.Tools {
					names[item.Name] = true
				}
			}
			if cursor = page.NextCursor; cursor == "" {
				break
			}
		}
	}
	return names
}

func check(t *testing.T, what string, err error, want protocol.Class) {
	t.Helper()
	if got := protocol.ClassOf(err); got != want || err != nil && got == "" {
		t.Errorf("%s: class %q (%s), want %q", what, got, fmt.Sprint(err), want)
	}
}
