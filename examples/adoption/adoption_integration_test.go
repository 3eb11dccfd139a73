//go:build integration

package adoption_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/harness/journal/sqlite"
	"github.com/looprig/looprig/harness/model/operator"
	"github.com/looprig/looprig/harness/session"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/mcpadapter"
	"github.com/looprig/looprig/mcpadapter/client"
	"github.com/looprig/looprig/mcpadapter/transport/stdio"
)

func TestMain(m *testing.M) {
	if handled, code := stdio.HelperMain(os.Args); handled {
		os.Exit(code)
	}
	if len(os.Args) == 2 && os.Args[1] == "lookup-server" {
		serve(os.Stdin, os.Stdout)
		return
	}
	code := m.Run()
	stdio.CloseHelper()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// serve is a whole MCP server with one tool, in plain JSON-RPC.
func serve(in io.Reader, out io.Writer) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var req struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(lines.Bytes(), &req) != nil || req.ID == nil {
			continue
		}
		results := map[string]string{
			"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"lookup","version":"1"}}`,
			"tools/list": `{"tools":[{"name":"lookup","description":"Looks a word up.","inputSchema":{"type":"object","properties":{"key":{"type":"string"}},"required":["key"]}}]}`,
			"tools/call": `{"content":[{"type":"text","text":"found"}]}`,
			"ping":       `{}`,
		}
		if result, ok := results[req.Method]; ok {
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", req.ID, result)
			continue
		}
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`+"\n", req.ID)
	}
}

type publisher struct{ s *session.Session }

func (p publisher) Publish(ctx context.Context, e event.Event) error { return p.s.Publish(ctx, e) }

func TestAdoption(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	sess := openSession(t, ctx)
	mgr := start(t, ctx, sess)
	adopter, err := mgr.StartAdoption(sess, sess)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = adopter.Close() })
	for _, l := range sess.Loops() {
		if err := adopter.Install(ctx, l.ID, l.Name); err != nil {
			t.Fatal(err)
		}
		wantInstalled(t, sess, l.ID)
	}
	wantState(t, mgr, integration.StateReady)
	if got := call(t, ctx, sess); got.Outcome != tool.OK || got.Text() != "found" {
		t.Errorf("the call ended %s %q", got.Outcome, got.Text())
	}

	if err := mgr.Reconfigure(ctx, mcpadapter.DisableBinding{Name: "words"}); err != nil {
		t.Fatal(err)
	}
	for _, l := range sess.Loops() {
		if err := adopter.Install(ctx, l.ID, l.Name); err != nil {
			t.Fatal(err)
		}
		if n := sess.Tools(l.ID).Len(); n != 0 {
			t.Errorf("loop %s still has %d definitions", l.Name, n)
		}
	}
	wantState(t, mgr, integration.StateDisabled)
	if got := call(t, ctx, sess); got.Outcome != tool.Unavailable {
		t.Errorf("a call of a disabled binding ended %s", got.Outcome)
	}
}

func openSession(t *testing.T, ctx context.Context) *session.Session {
	t.Helper()
	store, err := sqlite.Open(ctx, sqlite.Options{Path: t.TempDir() + "/looprig.db"})
	if err != nil {
		t.Fatal(err)
	}
	sess, err := session.Open(ctx, session.Options{Store: store, Mode: "headless", Loops: []session.LoopConfig{
		{Name: "planner", Model: operator.Client{}}, {Name: "reviewer", Model: operator.Client{}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sess.Close(context.Background(), session.CloseInfo{Reason: "completed"}); err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return sess
}

func start(t *testing.T, ctx context.Context, sess *session.Session) *mcpadapter.Manager {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tr, err := stdio.New(stdio.Config{Command: self, Args: []string{"lookup-server"}})
	if err != nil {
		t.Fatal(err)
	}
	mgr, err := mcpadapter.NewManager([]mcpadapter.Binding{{
		Name: "words", Server: client.Definition{Name: "words", Transport: tr},
		Scope: mcpadapter.ScopeSession, Visibility: mcpadapter.AllLoops(), Required: true,
	}}, mcpadapter.Deps{SessionID: sess.SessionID(), Gates: sess, Events: publisher{sess}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := mgr.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := mgr.Start(ctx); err != nil {
		t.Fatal(err)
	}
	return mgr
}

func wantInstalled(t *testing.T, sess *session.Session, loop string) {
	t.Helper()
	defs := sess.Tools(loop).Definitions()
	if len(defs) != 1 {
		t.Fatalf("loop %s has %d definitions", loop, len(defs))
	}
	d := defs[0]
	if d.Identity != (tool.Identity{Source: mcpadapter.ToolSource, Binding: "words", Name: "lookup"}) || d.Name != "mcp__words__lookup" {
		t.Errorf("loop %s has %s as %s", loop, d.Identity, d.Name)
	}
}

func wantState(t *testing.T, mgr *mcpadapter.Manager, want integration.State) {
	t.Helper()
	status := mgr.Status()
	if len(status) != 1 || status[0].Name != "words" || status[0].State != want {
		t.Errorf("status is %+v, want %s", status, want)
	}
}

func call(t *testing.T, ctx context.Context, sess *session.Session) session.CallResult {
	t.Helper()
	ticket, err := sess.Submit(ctx, session.Input{
		Call:   &session.CallInput{Tool: "words lookup", Args: json.RawMessage(`{"key":"rig"}`)},
		Origin: gate.Answerer{Kind: gate.AnswererScript, ID: "proof"},
	})
	if err != nil {
		t.Fatal(err)
	}
	res, err := sess.AwaitTurn(ctx, ticket)
	if err != nil || len(res.Calls) != 1 {
		t.Fatalf("turn %+v, %v", res, err)
	}
	return res.Calls[0]
}
