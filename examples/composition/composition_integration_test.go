//go:build integration

package composition_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/journal/sqlite"
	"github.com/looprig/looprig/harness/model/operator"
	"github.com/looprig/looprig/harness/session"
	"github.com/looprig/looprig/mcpadapter"
	"github.com/looprig/looprig/mcpadapter/client"
	"github.com/looprig/looprig/mcpadapter/demo"
	"github.com/looprig/looprig/mcpadapter/transport/stdio"
)

// TestMain lets the test binary play the two other processes of the example:
// the server, and the guardian that outlives a killed host.
func TestMain(m *testing.M) {
	if handled, code := stdio.HelperMain(os.Args); handled {
		os.Exit(code)
	}
	if len(os.Args) == 2 && os.Args[1] == "some-mcp-server" {
		if err := demo.Run(context.Background(), os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	stdio.CloseHelper()
	os.Exit(code)
}

// events hands the Manager's events to the session's one stream and journal.
type events struct{ s *session.Session }

func (e events) Publish(ctx context.Context, ev event.Event) error { return e.s.Publish(ctx, ev) }

// notices turns out-of-band messages about bindings into events.
type notices struct{ s *session.Session }

func (n notices) Report(msg mcpadapter.Notice) {
	_ = n.s.Publish(context.Background(), &event.Notice{
		Binding: msg.Binding, Code: msg.Code, Level: string(msg.Level), Text: msg.Text,
	})
}

func transport() (*stdio.Transport, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return stdio.New(stdio.Config{Command: self, Args: []string{"some-mcp-server"}})
}

func Example() {
	dir, err := os.MkdirTemp("", "composition")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := run(context.Background(), dir); err != nil {
		fmt.Println(err)
	}
	// Output:
	// planner has mcp__docs__add: true
	// planner has mcp__scratch__add: true
	// reviewer has mcp__docs__add: true
	// reviewer has mcp__scratch__add: false
	// the sum is {"sum":5}, the call ended ok
}

func run(ctx context.Context, dir string) (err error) {
	store, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(dir, "looprig.db")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()

	sess, err := session.Open(ctx, session.Options{
		Store: store, StoreName: "sqlite", App: "composition example", Mode: "headless",
		Loops: []session.LoopConfig{
			{Name: "planner", Model: operator.Client{}},
			{Name: "reviewer", Model: operator.Client{}},
		},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sess.Close(ctx, session.CloseInfo{Reason: "completed"})) }()

	// 1. A binding is a named server definition attached to a scope.
	docs, err := transport()
	if err != nil {
		return err
	}
	scratch, err := transport()
	if err != nil {
		return err
	}
	bindings := []mcpadapter.Binding{
		{
			Name:       "docs",
			Server:     client.Definition{Name: "docs", Transport: docs},
			Scope:      mcpadapter.ScopeSession, // one connection, shared
			Visibility: mcpadapter.AllLoops(),   // by all loops
			Required:   true,                    // without it the session does not come up
		},
		{
			Name:     "scratch",
			Server:   client.Definition{Name: "scratch", Transport: scratch},
			Scope:    mcpadapter.ScopeLoop, // private to one loop
			Loop:     "planner",
			Required: true, // so that the example has something to show
		},
	}

	// 2. The Manager needs somebody to answer gates, to take events, and to be
	// told of notices. Here the session is all three.
	mgr, err := mcpadapter.NewManager(bindings, mcpadapter.Deps{
		SessionID: sess.SessionID(), Gates: sess, Events: events{sess}, Reporter: notices{sess},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, mgr.Close(ctx)) }()

	// 3. Start connects every binding; required failures are a *StartupError.
	if err := mgr.Start(ctx); err != nil {
		var startup *mcpadapter.StartupError
		if errors.As(err, &startup) {
			for _, f := range startup.Failures {
				fmt.Println(f.Binding, f.Class)
			}
		}
		return err
	}

	// 4. Adoption carries loops to new generations at idle boundaries.
	adopter, err := mgr.StartAdoption(sess, sess)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, adopter.Close()) }()

	// 5. Each loop gets its first toolset.
	for _, l := range sess.Loops() {
		if err := adopter.Install(ctx, l.ID, l.Name); err != nil {
			return err
		}
		for _, name := range []string{"mcp__docs__add", "mcp__scratch__add"} {
			_, has := sess.Tools(l.ID).Lookup(name)
			fmt.Printf("%s has %s: %t\n", l.Name, name, has)
		}
	}

	// The operator's call runs through policy, ledger and journal like any other.
	ticket, err := sess.SubmitTo(ctx, "planner", session.Input{
		Call:   &session.CallInput{Tool: "mcp__docs__add", Args: json.RawMessage(`{"a":2,"b":3}`)},
		Origin: gate.Answerer{Kind: gate.AnswererScript, ID: "example"},
	})
	if err != nil {
		return err
	}
	res, err := sess.AwaitTurn(ctx, ticket)
	if err != nil {
		return err
	}
	fmt.Printf("the sum is %s, the call ended %s\n", res.Calls[0].Structured, res.Calls[0].Outcome)
	return nil
}
