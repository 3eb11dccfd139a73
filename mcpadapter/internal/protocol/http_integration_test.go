//go:build integration

package protocol_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/looprig/looprig/mcpadapter/internal/protocol"
	"github.com/looprig/looprig/mcpadapter/internal/wire"
	"github.com/looprig/looprig/mcpadapter/transport/sse"
	"github.com/looprig/looprig/mcpadapter/transport/streamhttp"
)

// askingServer is a real server whose tool asks for a message of the model and
// for the roots, and one whose arguments travel in headers, which the server
// checks.
// Its names are plain: the SDK compares the header of a name without decoding
// it, so that others, which have to be encoded, are refused.
func askingServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "asking", Version: "1"}, &mcp.ServerOptions{
		CompletionHandler: func(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			known := ""
			if req.Params.Context != nil {
				known = req.Params.Context.Arguments["a"]
			}
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{req.Params.Argument.Value + "x" + known}}}, nil
		},
	})
	s.AddTool(&mcp.Tool{Name: "ask", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if len(req.Params.InputResponses) == 2 {
			m, _ := json.Marshal(req.Params.InputResponses["model"])
			r, _ := json.Marshal(req.Params.InputResponses["roots"])
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(m) + string(r)}}}, nil
		}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{
			"model": &mcp.CreateMessageParams{MaxTokens: 10, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "capital?"}}}},
			"roots": &mcp.ListRootsParams{},
		}}, nil
	})
	s.AddTool(&mcp.Tool{Name: "mirrored", InputSchema: json.RawMessage(
		`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"}}}`,
	)}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(req.Params.Arguments)}}}, nil
	})
	s.AddPrompt(&mcp.Prompt{Name: "greet"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "prompted"}}}}, nil
	})
	return s
}

func TestRequestsOverEachHTTPTransport(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		kind      string
		stateless bool
		revision  string
	}{
		{"http", true, protocol.Revision20260728},
		{"http", false, protocol.Revision20251125}, {"http", false, protocol.Revision20250618}, {"http", false, protocol.Revision20250326},
		{"sse", false, protocol.Revision20251125}, {"sse", false, protocol.Revision20241105},
	} {
		t.Run(tc.kind+"/"+tc.revision, func(t *testing.T) {
			t.Parallel()
			server := askingServer()
			var handler http.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: tc.stateless})
			if tc.kind == "sse" {
				handler = mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return server }, nil)
			}
			endpoint := httptest.NewServer(handler)
			t.Cleanup(func() {
				endpoint.CloseClientConnections()
				endpoint.Close()
			})
			exercise(t, dialTo(t, tc.kind, endpoint.URL), tc.revision)
		})
	}
}

func dialTo(t *testing.T, kind, url string) wire.Dialer {
	t.Helper()
	if kind == "sse" {
		d, err := sse.New(sse.Config{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		return d.Dialer()
	}
	d, err := streamhttp.New(streamhttp.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	return d.Dialer()
}

func exercise(t *testing.T, dialer wire.Dialer, revision string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	s, err := protocol.Connect(ctx, protocol.Options{
		Dialer: dialer, Revision: revision, Roots: []protocol.Root{{URI: "file:///home/u"}},
		Handlers: protocol.Handlers{Sample: func(_ context.Context, req protocol.SampleRequest) (protocol.SampleResult, error) {
			text, _ := json.Marshal(fmt.Sprint(len(req.Messages), " Paris"))
			return protocol.SampleResult{Model: "m", Content: []json.RawMessage{[]byte(`{"type":"text","text":` + string(text) + `}`)}}, nil
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
	if s.Info().Revision != revision {
		t.Fatalf("%+v", s.Info())
	}
	res, err := s.CallTool(ctx, protocol.CallRequest{ID: "c", Name: "ask"})
	if err != nil || !strings.Contains(string(res.Raw), "1 Paris") || !strings.Contains(string(res.Raw), "file:///home/u") {
		t.Fatalf("%+v, %v", res, err)
	}
	for _, before := range []bool{true, false} { // unknown headers are asked for once
		res, err = s.CallTool(ctx, protocol.CallRequest{ID: "c", Name: "mirrored", Args: json.RawMessage(`{"region":" süd\n","n":-4}`)})
		if err != nil || !strings.Contains(string(res.Raw), "süd") {
			t.Fatalf("first %v: %+v, %v", before, res, err)
		}
	}
	if raw, err := s.GetPrompt(ctx, "greet", nil); err != nil || !strings.Contains(string(raw), "prompted") {
		t.Fatalf("%s, %v", raw, err)
	}
	want := "vx"
	if revision >= protocol.Revision20250618 {
		want = "vxk"
	}
	c, err := s.Complete(ctx, protocol.CompleteRequest{Prompt: "greet", Argument: "b", Value: "v", Known: map[string]string{"a": "k"}})
	if err != nil || len(c.Values) != 1 || c.Values[0] != want {
		t.Fatalf("%+v, %v", c, err)
	}
	if err := s.Ping(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.SetRoots(ctx, []protocol.Root{}); err != nil {
		t.Fatal(err)
	}
}
