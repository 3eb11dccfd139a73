//go:build integration

package compose_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/looprig/looprig/compose"
	"github.com/looprig/looprig/compose/answers"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/form"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/harness/session"
	"github.com/looprig/looprig/mcpadapter/demo"
)

// endpoint is the demo behind a counter of connections.
type endpoint struct {
	URL     string
	reached atomic.Int64
	header  atomic.Pointer[string] // X-Key of the newest request
}

func serveDemo(t *testing.T) *endpoint {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		_ = demo.ServeHTTP(ctx, "127.0.0.1:0", demo.Options{}, func(u string) { ready <- u })
	}()
	target, err := url.Parse(<-ready)
	if err != nil {
		t.Fatal(err)
	}
	e := &endpoint{}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
		r.Out.Host = target.Host
	}}
	front := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("X-Key")
		e.header.Store(&key)
		proxy.ServeHTTP(w, r)
	}))
	front.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			e.reached.Add(1)
		}
	}
	front.Start()
	e.URL = front.URL + target.Path
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
		cancel()
		<-ended
	})
	return e
}

func homeWith(t *testing.T, mcp string) string {
	t.Helper()
	home := t.TempDir()
	writeMCP(t, home, mcp)
	return home
}

func writeMCP(t *testing.T, home, mcp string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(home, "mcp.json"), []byte(mcp), 0o600); err != nil {
		t.Fatal(err)
	}
}

func openApp(t *testing.T, home, mode string, change ...func(*compose.Options)) *compose.App {
	t.Helper()
	opt := compose.Options{Home: home, Env: []string{"HOME=" + home, "KEY=k0"}, Mode: mode, Version: "test"}
	for _, f := range change {
		f(&opt)
	}
	a, err := compose.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(session.CloseInfo{Reason: "test"}); err != nil {
			t.Error(err)
		}
	})
	return a
}

// await polls until something holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("%s did not come", what)
}

func state(a *compose.App, name string) integration.State {
	for _, b := range a.Port.Bindings() {
		if b.Name == name {
			return b.State
		}
	}
	return ""
}

func onlyGate(t *testing.T, a *compose.App) gate.Envelope {
	t.Helper()
	await(t, "a gate", func() bool { return len(a.Session.Gates()) == 1 })
	return a.Session.Gates()[0]
}

func answer(t *testing.T, a *compose.App, env gate.Envelope, action gate.Action) {
	t.Helper()
	err := a.Session.RespondGate(t.Context(), env.ID, gate.Response{
		Action: action, Answerer: gate.Answerer{Kind: gate.AnswererPerson, ID: "test"}, Fingerprint: env.Prompt.Fingerprint,
	})
	if err != nil {
		t.Fatal(err)
	}
}

func entryOf(u string) string { return `{"mcpServers": {"web": {"url": "` + u + `"}}}` }

// An address is not contacted before somebody accepted it, nor after it was
// refused.
func TestNothingIsContactedBeforeTrust(t *testing.T) {
	t.Parallel()
	srv := serveDemo(t)
	home := homeWith(t, entryOf(srv.URL))
	a := openApp(t, home, compose.ModeInteractive)
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	env := onlyGate(t, a)
	if env.Kind != gate.KindUntrustedServer || env.Private.URL != srv.URL || state(a, "web") != integration.StateUntrusted {
		t.Errorf("gate %+v, state %s", env, state(a, "web"))
	}
	if n := srv.reached.Load(); n != 0 {
		t.Fatalf("reached %d times before the answer", n)
	}
	answer(t, a, env, gate.ActionRefuse)
	await(t, "the refusal", func() bool { return len(a.Session.Gates()) == 0 && state(a, "web") == integration.StateUntrusted })

	// Neither a restart of looprig nor --tofu takes a refusal back.
	for _, tofu := range []bool{false, true} {
		b := openApp(t, home, compose.ModeHeadless, func(o *compose.Options) { o.Tofu, o.Answers = tofu, answers.New(gate.AnswererScript, "s", nil) })
		if err := b.Start(t.Context()); exit.Of(err) != exit.GateRefused {
			t.Errorf("tofu %t: %v", tofu, err)
		}
	}
	if n := srv.reached.Load(); n != 0 {
		t.Fatalf("reached %d times though it was refused", n)
	}

	// The operator may think again: the same question, and then it is reached.
	done := make(chan error, 1)
	go func() {
		done <- a.Port.Apply(t.Context(), integration.Change{Op: integration.OpReconnect, Binding: "web", By: "test"})
	}()
	answer(t, a, onlyGate(t, a), gate.ActionAccept)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if srv.reached.Load() == 0 || state(a, "web") != integration.StateReady {
		t.Errorf("reached %d times, %s", srv.reached.Load(), state(a, "web"))
	}
}

// What an operator switched off or refused stays so, whatever somebody writes
// into mcp.json meanwhile, and another address under an accepted name is asked
// about.
func TestEditingTheFileRevivesNothing(t *testing.T) {
	t.Parallel()
	srv, other := serveDemo(t), serveDemo(t)
	home := homeWith(t, entryOf(srv.URL))
	a := openApp(t, home, compose.ModeInteractive)
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	answer(t, a, onlyGate(t, a), gate.ActionAccept)
	await(t, "ready", func() bool { return state(a, "web") == integration.StateReady })
	if err := a.Port.Apply(t.Context(), integration.Change{Op: integration.OpDisable, Binding: "web", By: "test"}); err != nil {
		t.Fatal(err)
	}
	before := srv.reached.Load()

	// Behind the operator's back: enabled again, and somewhere else.
	writeMCP(t, home, `{"mcpServers": {"web": {"url": "`+other.URL+`", "enabled": true, "required": true}}}`)
	// A change that is saved reads and writes the file.
	saved := a.Port.Apply(t.Context(), integration.Change{
		Op: integration.OpAdd, Kind: "http", Save: true, By: "test", Values: json.RawMessage(`{"name": "more", "url": "` + srv.URL + `", "scope": "session"}`),
	})
	if saved != nil {
		t.Fatal(saved)
	}
	if state(a, "web") != integration.StateDisabled || other.reached.Load() != 0 {
		t.Errorf("web is %s, the other address was reached %d times", state(a, "web"), other.reached.Load())
	}
	if srv.reached.Load() == before {
		t.Error("the server that was added is not reached: the count shows nothing")
	}
	// The next run finds another address under the accepted name: never by
	// itself, not even with --tofu, and never for a server that is required.
	b := openApp(t, home, compose.ModeHeadless, func(o *compose.Options) { o.Tofu, o.Answers = true, answers.New(gate.AnswererScript, "s", nil) })
	if err := b.Start(t.Context()); exit.Of(err) != exit.Integrity {
		t.Errorf("the changed address: %v", err)
	}
	if n := other.reached.Load(); n != 0 {
		t.Errorf("the other address was reached %d times", n)
	}
	// Disabled in the file, it is not even asked about.
	writeMCP(t, home, `{"mcpServers": {"web": {"url": "`+other.URL+`", "enabled": false}}}`)
	c := openApp(t, home, compose.ModeHeadless, func(o *compose.Options) { o.Answers = answers.New(gate.AnswererScript, "s", nil) })
	if err := c.Start(t.Context()); err != nil || state(c, "web") != integration.StateDisabled || other.reached.Load() != 0 {
		t.Errorf("disabled: %v, %s, reached %d times", err, state(c, "web"), other.reached.Load())
	}
}

// The add form shows the whole address, pins it with its confirmation, and never
// gives a header's value back.
func TestTheFormOfAnAddress(t *testing.T) {
	t.Parallel()
	srv := serveDemo(t)
	home := homeWith(t, `{"mcpServers": {}}`)
	a := openApp(t, home, compose.ModeInteractive)
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	change := integration.Change{
		Op: integration.OpAdd, Kind: "http", Save: true, By: "test",
		Values: json.RawMessage(`{"name": "web", "url": "` + srv.URL + `", "headers": "X-Key=s3cret-${KEY} X-Team=a", "scope": "session"}`),
	}
	shown, err := a.Port.Preview(t.Context(), change)
	if err != nil || srv.reached.Load() != 0 {
		t.Fatalf("preview: %v, reached %d times", err, srv.reached.Load())
	}
	text, err := json.Marshal(shown)
	if err != nil || !strings.Contains(string(text), srv.URL) || !strings.Contains(string(text), "x-key x-team") || strings.Contains(string(text), "s3cret") || len(shown.Warnings) != 1 {
		t.Errorf("shown: %s", text)
	}
	if err := a.Port.Apply(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	if got := srv.header.Load(); state(a, "web") != integration.StateReady || got == nil || *got != "s3cret-k0" {
		t.Errorf("web is %s, X-Key was %v", state(a, "web"), got)
	}
	kind, values, ok := a.Port.Current("web")
	if !ok || kind != "http" || strings.Contains(string(values), "s3cret") || !strings.Contains(string(values), "X-Key X-Team") {
		t.Errorf("current: %s %s", kind, values)
	}
	// A name alone keeps its value; what the form does not ask about stays.
	writeMCPKey(t, home)
	b := openApp(t, home, compose.ModeInteractive)
	if err := b.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	replace := integration.Change{
		Op: integration.OpReplace, Binding: "web", Kind: "http", Save: true, By: "test",
		Values: json.RawMessage(`{"name": "web", "url": "` + srv.URL + `", "headers": "X-Key", "scope": "session"}`),
	}
	if err := b.Port.Apply(t.Context(), replace); err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile(filepath.Join(home, "mcp.json"))
	if err != nil || !strings.Contains(string(src), "s3cret-${KEY}") || strings.Contains(string(src), "X-Team") || !strings.Contains(string(src), `"requestTimeout"`) {
		t.Errorf("%v\n%s", err, src)
	}
	// Faults are the form's fields'.
	change.Values = json.RawMessage(`{"name": "plain", "url": "http://mcp.invalid/", "scope": "session"}`)
	if _, err := a.Port.Preview(t.Context(), change); err == nil || !strings.Contains(err.Error(), "url") {
		t.Errorf("plain HTTP: %v", err)
	}
}

// What cannot run leads the person to the field of the form that is to blame.
func TestAPreviewNamesTheFieldAtFault(t *testing.T) {
	t.Parallel()
	a := openApp(t, t.TempDir(), compose.ModeInteractive)
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ kind, values, field string }{
		"program":     {"stdio", `{"name": "p", "command": "no-such-program-anywhere", "scope": "session"}`, "command"},
		"folder":      {"stdio", `{"name": "p", "command": "sh", "cwd": "/no/such/folder", "scope": "session"}`, "cwd"},
		"environment": {"stdio", `{"name": "p", "command": "sh", "env": "A=b\u0000", "scope": "session"}`, "env"},
		"address":     {"http", `{"name": "p", "url": "https://h.invalid/` + strings.Repeat("a", 9000) + `", "scope": "session"}`, "url"},
		"header":      {"http", `{"name": "p", "url": "https://h.invalid/", "headers": "X-A=b\u0001", "scope": "session"}`, "headers"},
		"sse header":  {"sse", `{"name": "p", "url": "https://h.invalid/", "headers": "Host=b", "scope": "session"}`, "headers"},
	} {
		_, err := a.Port.Preview(t.Context(), integration.Change{Op: integration.OpAdd, Kind: tc.kind, By: "test", Values: json.RawMessage(tc.values)})
		var faults form.Errors
		if !errors.As(err, &faults) || faults.Field(tc.field) == "" {
			t.Errorf("%s: %v (%T)", name, err, err)
		}
	}
}

// writeMCPKey adds a setting to the saved entry that no form asks about.
func writeMCPKey(t *testing.T, home string) {
	t.Helper()
	path := filepath.Join(home, "mcp.json")
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	writeMCP(t, home, strings.Replace(string(src), `"url"`, `"requestTimeout": "9s", "url"`, 1))
}

// What the interface reads and watches comes through the port.
func TestReadingAndWatchingThroughThePort(t *testing.T) {
	t.Parallel()
	srv := serveDemo(t)
	a := openApp(t, homeWith(t, entryOf(srv.URL)), compose.ModeHeadless, func(o *compose.Options) { o.Tofu = true })
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := a.Port.Read(t.Context(), "web", "demo://readme")
	if err != nil || len(got.Content) != 1 || !strings.Contains(got.Content[0].Text, "Demo server") {
		t.Errorf("read: %+v, %v", got, err)
	}
	prompt, err := a.Port.Prompt(t.Context(), "web", "greet", map[string]string{"who": "Ada"})
	if err != nil || len(prompt.Messages) == 0 {
		t.Errorf("prompt: %+v, %v", prompt, err)
	}
	done, err := a.Port.Complete(t.Context(), integration.CompleteRequest{Binding: "web", Kind: "prompt", Name: "greet", Argument: "who", Value: "A"})
	if err != nil || len(done.Values) == 0 {
		t.Errorf("complete: %+v, %v", done, err)
	}
	if err := a.Port.Subscribe(t.Context(), "web", "demo://log"); err != nil {
		t.Error(err)
	}
	if err := a.Port.Unsubscribe(t.Context(), "web", "demo://log"); err != nil {
		t.Error(err)
	}
	if len(a.Port.Trace("web")) == 0 {
		t.Error("nothing is traced")
	}
}

// A server that wants a token ends a run that needs it with the code for that,
// and with the way to give one.
func TestAnEndpointThatWantsAToken(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(closed.Close)
	home := homeWith(t, `{"mcpServers": {"web": {"url": "`+closed.URL+`/s3cret-path", "headers": {"Authorization": "Bearer s3cret-token"}, "startupTimeout": "10s"}}}`)
	a := openApp(t, home, compose.ModeHeadless, func(o *compose.Options) { o.Tofu, o.Only = true, "web" })
	err := a.Start(t.Context())
	var e *exit.Error
	if !errors.As(err, &e) || e.Code != exit.Auth || !strings.Contains(e.Hint, "Authorization") {
		t.Errorf("%v: %+v", err, e)
	}
	if strings.Contains(err.Error()+e.Hint, "s3cret") {
		t.Errorf("a secret is in %v", err)
	}
}

// An address that is none of the transport that its entry names ends a run that
// needs it with advice to look at both.
func TestAnEndpointOfTheOtherTransport(t *testing.T) {
	t.Parallel()
	demo := serveDemo(t) // answers a GET without a session with 400
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html>hello</html>"))
	}))
	t.Cleanup(page.Close)
	older := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // takes a GET alone
		w.WriteHeader(http.StatusMethodNotAllowed)
	}))
	t.Cleanup(older.Close)
	for name, entry := range map[string]string{
		"sse against http": `"type": "sse", "url": "` + demo.URL + `"`,
		"http against sse": `"url": "` + older.URL + `/sse"`,
		"a web page":       `"url": "` + page.URL + `"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := homeWith(t, `{"mcpServers": {"web": {`+entry+`, "startupTimeout": "10s"}}}`)
			a := openApp(t, home, compose.ModeHeadless, func(o *compose.Options) { o.Tofu, o.Only = true, "web" })
			err := a.Start(t.Context())
			var e *exit.Error
			if !errors.As(err, &e) || e.Code != exit.Unreachable || e.Class != "endpoint" || !strings.Contains(e.Hint, `"type"`) {
				t.Errorf("%v: %+v", err, e)
			}
		})
	}
}
