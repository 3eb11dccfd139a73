//go:build integration

package streamhttp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/looprig/looprig/mcpadapter/internal/protocol"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
	"github.com/looprig/looprig/mcpadapter/transport/streamhttp"
)

type echoInput struct {
	Text string `json:"text"`
}

// sdkServer runs a server of the SDK behind its HTTP handler.
func sdkServer(t *testing.T, opts *mcp.StreamableHTTPOptions) (*mcp.Server, *httptest.Server, *seen) {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, &mcp.ServerOptions{HasTools: true})
	mcp.AddTool(server, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, in echoInput) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, opts)
	record := &seen{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		record.add(r)
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return server, s, record
}

// seen records the requests that a server got.
type seen struct {
	mu   sync.Mutex
	list []string
}

func (s *seen) add(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, r.Method+" "+r.Header.Get("Mcp-Protocol-Version")+" "+r.Header.Get("Mcp-Method")+" "+r.Header.Get("Mcp-Name"))
}

func (s *seen) has(t *testing.T, want string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		s.mu.Lock()
		all := strings.Join(s.list, "\n")
		s.mu.Unlock()
		if strings.Contains(all, want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no request %q in\n%s", want, all)
		}
	}
}

func TestSDKServers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		opts     mcp.StreamableHTTPOptions
		revision string
		want     string
	}{
		{"sessions, probed", mcp.StreamableHTTPOptions{}, protocol.RevisionAuto, protocol.Revision20251125},
		{"sessions, JSON", mcp.StreamableHTTPOptions{JSONResponse: true}, protocol.RevisionAuto, protocol.Revision20251125},
		{"sessions, resumable", mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)}, protocol.Revision20251125, protocol.Revision20251125},
		{"2025-06-18", mcp.StreamableHTTPOptions{}, protocol.Revision20250618, protocol.Revision20250618},
		{"2025-03-26", mcp.StreamableHTTPOptions{}, protocol.Revision20250326, protocol.Revision20250326},
		{"stateless, probed", mcp.StreamableHTTPOptions{Stateless: true}, protocol.RevisionAuto, protocol.Revision20260728},
		{"stateless, JSON", mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}, protocol.Revision20260728, protocol.Revision20260728},
		{"stateless, older", mcp.StreamableHTTPOptions{Stateless: true}, protocol.Revision20251125, protocol.Revision20251125},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server, endpoint, record := sdkServer(t, &c.opts)
			transport, err := streamhttp.New(streamhttp.Config{URL: endpoint.URL + "/mcp"})
			if err != nil {
				t.Fatal(err)
			}
			changed := make(chan protocol.Family, 16)
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			s, err := protocol.Connect(ctx, protocol.Options{
				Dialer: transport, Revision: c.revision, Wire: wire.Options{},
				Handlers: protocol.Handlers{ListChanged: func(f protocol.Family, _ bool) {
					select {
					case changed <- f:
					default:
					}
				}},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			if got := s.Info().Revision; got != c.want {
				t.Fatalf("revision %s, want %s", got, c.want)
			}
			for range 3 {
				result, err := s.CallTool(ctx, protocol.CallRequest{ID: "c", Name: "echo", Args: json.RawMessage(`{"text":"grüße"}`)})
				if err != nil || len(result.Content) != 1 || !strings.Contains(string(result.Content[0]), "grüße") {
					t.Fatalf("%+v, %v", result, err)
				}
			}
			stateless := strings.HasPrefix(c.name, "stateless")
			switch {
			case c.want == protocol.Revision20260728:
				record.has(t, "POST 2026-07-28 tools/call echo")
				record.has(t, "POST 2026-07-28 subscriptions/listen ")
			case !stateless:
				record.has(t, "GET")
			}
			if stateless && c.want != protocol.Revision20260728 {
				return // such a server has no way to tell
			}
			// The stream may not be ready for a first change yet.
			for deadline := time.Now().Add(10 * time.Second); ; {
				mcp.AddTool(server, &mcp.Tool{Name: "new"}, func(context.Context, *mcp.CallToolRequest, echoInput) (*mcp.CallToolResult, any, error) {
					return nil, nil, nil
				})
				select {
				case <-changed:
					return
				case <-time.After(100 * time.Millisecond):
				}
				if time.Now().After(deadline) {
					t.Fatal("a change of the listing was not heard of")
				}
			}
		})
	}
}

// TestSDKSessionEnds: a server that forgets a session ends the connection with
// the reason that makes the client start afresh; a new one works.
func TestSDKSessionEnds(t *testing.T) {
	t.Parallel()
	server, endpoint, _ := sdkServer(t, &mcp.StreamableHTTPOptions{})
	transport, err := streamhttp.New(streamhttp.Config{URL: endpoint.URL})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	connect := func() *protocol.Session {
		s, err := protocol.Connect(ctx, protocol.Options{Dialer: transport, Revision: protocol.Revision20251125})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	s := connect()
	for session := range server.Sessions() {
		_ = session.Close()
	}
	if err := s.Ping(ctx); protocol.ClassOf(err) != protocol.ClassLost || !strings.Contains(err.Error(), wire.ReasonSessionExpired) {
		t.Fatalf("%v", err)
	}
	<-s.Done()
	if err := connect().Ping(ctx); err != nil {
		t.Fatal(err)
	}
}

// TestOAuthChallenge: a 401 is the class of failure that starts a login.
func TestOAuthChallenge(t *testing.T) {
	t.Parallel()
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="https://x"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer endpoint.Close()
	transport, err := streamhttp.New(streamhttp.Config{URL: endpoint.URL})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_, err = protocol.Connect(ctx, protocol.Options{Dialer: transport})
	if protocol.ClassOf(err) != protocol.ClassAuth {
		t.Fatalf("%v", err)
	}
}
