//go:build integration

package compose_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/looprig/looprig/compose"
	"github.com/looprig/looprig/compose/answers"
	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/compose/headless"
	"github.com/looprig/looprig/compose/provider"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/session"
)

// modelKey must be in a request's header and nowhere else.
const modelKey = "sk-canary-5e1f0c9a77"

// modelServer is a Chat Completions endpoint that calls add once and then says
// what came back.
type modelServer struct {
	URL  string
	mu   sync.Mutex
	auth []string
	asks []string
}

func serveModel(t *testing.T) *modelServer {
	t.Helper()
	m := &modelServer{}
	srv := httptest.NewServer(http.HandlerFunc(m.serve))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	m.URL = srv.URL + "/v1"
	return m
}

func (m *modelServer) serve(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/models") {
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"tiny"}]}`)
		return
	}
	body, _ := io.ReadAll(r.Body)
	m.mu.Lock()
	m.auth, m.asks = append(m.auth, r.Header.Get("Authorization")), append(m.asks, string(body))
	m.mu.Unlock()
	if r.Header.Get("Authorization") == "Bearer wrong" {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":{"message":"no such key"}}`)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	delta, finish := `{"role":"assistant","content":"the sum is 5"}`, "stop"
	if strings.Contains(string(body), "please add") && !strings.Contains(string(body), `"role":"tool"`) {
		delta = `{"role":"assistant","tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"mcp__web__add","arguments":"{\"a\":2,\"b\":3}"}}]}`
		finish = "tool_calls"
	}
	for _, choice := range []string{`{"index":0,"delta":` + delta + `}`, `{"index":0,"delta":{},"finish_reason":"` + finish + `"}`} {
		fmt.Fprintf(w, "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"model\":\"tiny\",\"choices\":[%s]}\n\n", choice)
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

func (m *modelServer) seen() (auth, asks []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.auth...), append([]string(nil), m.asks...)
}

func writeConfig(t *testing.T, home, yaml string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
}

// prompted runs one prompt without a person and gives the run's events.
func prompted(t *testing.T, home, text string, change func(*compose.Options)) (events string, err error) {
	t.Helper()
	script, err := headless.Prompt(text)
	if err != nil {
		t.Fatal(err)
	}
	opt := compose.Options{
		Home: home, Env: []string{"HOME=" + home}, Mode: compose.ModeHeadless, Version: "test", Tofu: true, FindModel: true,
		Locals: []provider.Local{}, Policy: config.Policy{Allow: []config.Rule{{Tool: "mcp:web:*"}}},
	}
	change(&opt)
	script.Model = opt.Model
	opt.Answers = answers.New(gate.AnswererScript, script.File, nil)
	a, err := compose.Open(t.Context(), opt)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	w, err := headless.WriteEvents(a.Session, &out, false, func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	if err = a.Start(t.Context()); err == nil {
		err = headless.Run(t.Context(), headless.Options{Script: script, Session: a.Session, Port: a.Port, Reader: a.Port, Define: a.Port.Define, Settle: a.Port.Settle, Answers: opt.Answers})
	}
	if closing := a.Session.Close(t.Context(), session.CloseInfo{Reason: "test"}); closing != nil {
		t.Error(closing)
	}
	if waiting := w.Wait(t.Context()); waiting != nil {
		t.Error(waiting)
	}
	if closing := a.Close(session.CloseInfo{Reason: "test"}); closing != nil {
		t.Error(closing)
	}
	return out.String(), err
}

func TestModelAnswersAndCalls(t *testing.T) {
	t.Parallel()
	tools, srv := serveDemo(t), serveModel(t)
	home := homeWith(t, entryOf(tools.URL))
	writeConfig(t, home, "model: mine\nproviders:\n  mine: {kind: openai-chat, baseUrl: '"+srv.URL+"', model: tiny, keyEnv: MINE_KEY}\n")
	keyed := func(o *compose.Options) { o.Env = append(o.Env, "MINE_KEY="+modelKey) }
	said, err := prompted(t, home, "hello", keyed)
	if err != nil || !strings.Contains(said, `"model":"mine"`) || !strings.Contains(said, "the sum is 5") || strings.Contains(said, "tool.started") {
		t.Fatalf("%v\n%s", err, said)
	}
	called, err := prompted(t, home, "please add", keyed)
	if err != nil || !strings.Contains(called, `"tool":"mcp:web:add"`) || !strings.Contains(called, "the sum is 5") {
		t.Fatalf("%v\n%s", err, called)
	}
	auth, asks := srv.seen()
	if len(asks) != 3 || !strings.Contains(asks[1], "mcp__web__add") || !strings.Contains(asks[2], `"role":"tool"`) {
		t.Errorf("asked %d times: %q", len(asks), asks)
	}
	for _, a := range auth {
		if a != "Bearer "+modelKey {
			t.Errorf("sent %q", a)
		}
	}
	kept := said + called + strings.Join(asks, "")
	err = filepath.WalkDir(home, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		src, err := os.ReadFile(path)
		kept += string(src)
		return err
	})
	if err != nil || strings.Contains(kept, modelKey) {
		t.Errorf("%v; the key is kept somewhere: %t", err, strings.Contains(kept, modelKey))
	}
}

func TestFailingModelSaysWhatToDo(t *testing.T) {
	t.Parallel()
	srv := serveModel(t)
	home := homeWith(t, `{"mcpServers": {"off": {"url": "http://127.0.0.1:1/", "enabled": false}}}`)
	writeConfig(t, home, "model: mine\nproviders:\n  mine: {kind: openai-chat, baseUrl: '"+srv.URL+"', model: tiny, keyEnv: MINE_KEY}\n")
	said, err := prompted(t, home, "hello", func(o *compose.Options) {
		o.Env = append(o.Env, "MINE_KEY=wrong", "ANTHROPIC_API_KEY=never")
	})
	if err == nil || !strings.Contains(err.Error(), "MINE_KEY") || !strings.Contains(err.Error(), "looprig models") {
		t.Errorf("%v\n%s", err, said)
	}
	if strings.Contains(said, "anthropic") {
		t.Errorf("another model was asked: %s", said)
	}
	for what, change := range map[string]func(*compose.Options){
		"set MINE_KEY": func(*compose.Options) {},
		"set GROQ_API": func(o *compose.Options) { o.Model = "groq" },
		"is not known": func(o *compose.Options) { o.Model = "nonesuch/x" },
		"did you mean": func(o *compose.Options) { o.Model = "opnai" },
	} {
		if _, err := prompted(t, home, "hello", change); exit.Of(err) != exit.Usage || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	writeConfig(t, home, "providers: {openai: {}, groq: {}}\n")
	if _, err := prompted(t, home, "hello", func(*compose.Options) {}); exit.Of(err) != exit.Usage || !strings.Contains(err.Error(), "several providers") {
		t.Errorf("%v", err)
	}
}

func TestModelIsFound(t *testing.T) {
	t.Parallel()
	srv := serveModel(t)
	home := homeWith(t, `{"mcpServers": {"off": {"url": "http://127.0.0.1:1/", "enabled": false}}}`)
	here := func(o *compose.Options) { o.Locals = []provider.Local{{Name: "near", BaseURL: srv.URL}} }
	said, err := prompted(t, home, "hello", here)
	if err != nil || !strings.Contains(said, `"model":"near/tiny"`) || !strings.Contains(said, "model_found") || !strings.Contains(said, "the sum is 5") {
		t.Errorf("%v\n%s", err, said)
	}
	_, err = prompted(t, home, "hello", func(o *compose.Options) {
		here(o)
		o.Env = append(o.Env, "LOOPRIG_MODELS_PROBE=false")
	})
	var none *exit.Error
	if !errors.As(err, &none) || none.Code != exit.Usage {
		t.Fatalf("%v", err)
	}
	for _, fix := range []string{"three ways on", "ANTHROPIC_API_KEY", "looprig call", "--script"} {
		if !strings.Contains(none.Hint, fix) {
			t.Errorf("the hint has no %q: %s", fix, none.Hint)
		}
	}
	a := openApp(t, home, compose.ModeInteractive, func(o *compose.Options) { o.FindModel, o.Locals = true, []provider.Local{} })
	if m := a.Session.Loops()[0].Model; m != "operator" {
		t.Errorf("with a person and without a model: %s", m)
	}
}

// Commands that need no model look for none, whatever is configured.
func TestModelIsNotLookedForUnasked(t *testing.T) {
	t.Parallel()
	srv := serveModel(t)
	home := homeWith(t, `{"mcpServers": {"off": {"url": "http://127.0.0.1:1/", "enabled": false}}}`)
	writeConfig(t, home, "model: nonesuch\n")
	a := openApp(t, home, compose.ModeHeadless, func(o *compose.Options) {
		o.Locals = []provider.Local{{Name: "near", BaseURL: srv.URL}}
	})
	if m := a.Session.Loops()[0].Model; m != "operator" {
		t.Errorf("%s", m)
	}
	if _, asks := srv.seen(); len(asks) > 0 {
		t.Errorf("asked: %q", asks)
	}
}

func TestListModels(t *testing.T) {
	t.Parallel()
	srv := serveModel(t)
	home := homeWith(t, `{"mcpServers": {"off": {"url": "http://127.0.0.1:1/", "enabled": false}}}`)
	writeConfig(t, home, "model: mine\nproviders:\n  keyless: {kind: openai-chat, baseUrl: '"+srv.URL+"', model: tiny, keyEnv: UNSET_KEY}\n"+
		"  mine: {kind: openai-chat, baseUrl: '"+srv.URL+"', model: tiny, keyCommand: ["+shell(t)+", -c, 'echo "+modelKey+"']}\n")
	list, err := compose.ListModels(context.Background(), compose.Options{
		Home: home, Env: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, Locals: []provider.Local{{Name: "gone", BaseURL: "http://127.0.0.1:1/v1"}},
	})
	if err != nil || list.WantedFault != nil || list.Wanted != "mine" {
		t.Fatalf("%v %+v", err, list)
	}
	printed, err := json.Marshal(list)
	if err != nil || strings.Contains(string(printed), modelKey) {
		t.Errorf("%v: %s", err, printed)
	}
	got := map[string]compose.ModelEndpoint{}
	for _, e := range list.Endpoints {
		got[e.Name] = e
	}
	if e := got["mine"]; !e.Reachable || !e.Used || len(e.Models) != 1 {
		t.Errorf("%+v", e)
	}
	for name, why := range map[string]string{"keyless": "set UNSET_KEY", "gone": "cannot be reached", "openai": "OPENAI_API_KEY"} {
		if e := got[name]; e.Reachable || e.Used || !strings.Contains(e.Reason, why) {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func shell(t *testing.T) string {
	t.Helper()
	const sh = "/bin/sh"
	if _, err := os.Stat(sh); err != nil {
		t.Skip("there is no shell here")
	}
	return sh
}
