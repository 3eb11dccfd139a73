//go:build integration

package demo

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveHTTP serves a demo for one test and returns its URL.
func serveHTTP(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	url, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- ServeHTTP(ctx, "127.0.0.1:0", Options{}, func(u string) { url <- u }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("ServeHTTP = %v", err)
		}
	})
	select {
	case u := <-url:
		return u
	case <-time.After(10 * time.Second):
		t.Fatal("the server is not ready")
		return ""
	}
}

// connectHTTP connects a client that answers as the script says.
func connectHTTP(t *testing.T, url, revision string, sc script) *peer {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	p := &peer{
		changed: make(chan struct{}, 100), completed: make(chan string, 10),
		updated: make(chan string, 100), logged: make(chan string, 100),
	}
	web := &http.Client{Transport: &http.Transport{}}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, p.options(sc))
	var err error
	p.ClientSession, err = client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: web},
		&mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Close()
		cancel()
		web.CloseIdleConnections()
	})
	return p
}

func TestServeHTTP(t *testing.T) {
	t.Parallel()
	eachEra(t, func(t *testing.T, revision string) {
		p := connectHTTP(t, serveHTTP(t), revision, script{
			sample: "a loop",
			elicit: func(*mcp.ElicitParams) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ada"}}, nil
			},
		})
		if got := p.InitializeResult().ProtocolVersion; got != revision {
			t.Fatalf("negotiated %s", got)
		}
		want(t, p.call(t, "add", map[string]any{"a": 2, "b": 3}), "5", false)
		want(t, p.call(t, "think", nil), "the model said: a loop", false)
		if got := structured(t, p.call(t, "ask-name", nil)); !strings.Contains(got, `"name":"Ada"`) {
			t.Errorf("the form gave %s", got)
		}
		p.call(t, "evolve", nil)
		receive(t, p.changed, "list_changed")
		if revision == modernRevision {
			return
		}
		if err := p.Subscribe(t.Context(), &mcp.SubscribeParams{URI: logURI}); err != nil {
			t.Fatal(err)
		}
		p.call(t, "echo", map[string]any{"text": "x"})
		if got := receive(t, p.updated, "resource update"); got != logURI {
			t.Errorf("updated %q", got)
		}
	})
}

// A tool in the middle of its work does not keep the server from stopping.
func TestServeHTTPStopsWhileToolsRun(t *testing.T) {
	t.Parallel()
	eachEra(t, func(t *testing.T, revision string) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		url, ended := make(chan string, 1), make(chan error, 1)
		go func() { ended <- ServeHTTP(ctx, "127.0.0.1:0", Options{}, func(u string) { url <- u }) }()
		p := connectHTTP(t, <-url, revision, script{})
		called := make(chan struct{})
		go func() {
			defer close(called)
			params := &mcp.CallToolParams{Name: "slow", Arguments: map[string]any{"steps": 100, "seconds": 30}}
			params.SetProgressToken("p")
			_, _ = p.CallTool(ctx, params)
		}()
		for running := false; !running; time.Sleep(time.Millisecond) {
			p.mu.Lock()
			running = len(p.progress) > 0
			p.mu.Unlock()
		}
		stopped := time.Now()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("ServeHTTP = %v", err)
		}
		if took := time.Since(stopped); took > httpCloseTimeout/2 {
			t.Errorf("it took %s to stop", took)
		}
		<-called
	})
}

func TestServeHTTPRefusesWebPages(t *testing.T) {
	t.Parallel()
	url := serveHTTP(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Origin", "https://evil.example")
	req.Header.Set("Content-Type", "application/json")
	web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := web.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("a page of another origin got status %d", res.StatusCode)
	}
}

// In the stateless era a subscription is a stream of its own.
func TestServeHTTPSubscriptionOfTheModernEra(t *testing.T) {
	t.Parallel()
	url := serveHTTP(t)
	web := &http.Client{Transport: &http.Transport{}, Timeout: 20 * time.Second}
	t.Cleanup(web.CloseIdleConnections)
	post := func(method, name, members string) *bufio.Scanner {
		body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + members + `,"_meta":{` +
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},` +
			`"io.modelcontextprotocol/clientCapabilities":{}}}}`
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"MCP-Protocol-Version": modernRevision, "Mcp-Method": method, "Mcp-Name": name,
		} {
			req.Header.Set(k, v)
		}
		res, err := web.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = res.Body.Close() })
		return bufio.NewScanner(res.Body)
	}
	until := func(s *bufio.Scanner, want string) {
		t.Helper()
		for s.Scan() {
			if strings.Contains(s.Text(), want) {
				return
			}
		}
		t.Fatalf("no %s came: %v", want, s.Err())
	}
	listen := post("subscriptions/listen", "", `"notifications":{"resourceSubscriptions":["`+logURI+`"]}`)
	until(listen, "notifications/subscriptions/acknowledged")
	until(post("tools/call", "echo", `"name":"echo","arguments":{"text":"hello"}`), "hello")
	until(listen, "notifications/resources/updated")
}
