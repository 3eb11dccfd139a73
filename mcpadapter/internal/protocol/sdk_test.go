package protocol

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

// sdkConn is a wire.Conn over one end of the SDK's in-memory transport.
type sdkConn struct {
	c    mcp.Connection
	once sync.Once
	gone chan struct{}
	stop func()
}

func (c *sdkConn) Read(ctx context.Context) (wire.Frame, error) {
	msg, err := c.c.Read(ctx)
	if err != nil {
		return wire.Frame{}, err
	}
	data, err := jsonrpc.EncodeMessage(msg)
	return wire.Frame{Data: data}, err
}

func (c *sdkConn) Write(ctx context.Context, o wire.Outgoing) error {
	frame := o.Frame
	msg, err := jsonrpc.DecodeMessage(frame)
	if err != nil {
		return err
	}
	return c.c.Write(ctx, msg)
}

func (c *sdkConn) Forget(int64) {}

func (c *sdkConn) Close() error {
	c.once.Do(func() {
		close(c.gone)
		_ = c.c.Close()
		c.stop()
	})
	return nil
}
func (c *sdkConn) Done() <-chan struct{}         { return c.gone }
func (c *sdkConn) Diagnostics() wire.Diagnostics { return wire.Diagnostics{} }

// sdkDialer connects to a real SDK server in this process.
type sdkDialer struct {
	t      testing.TB
	server *mcp.Server
}

func (d sdkDialer) Origin() string { return "sdk" }
func (d sdkDialer) Kind() string   { return "stdio" }

func (d sdkDialer) Dial(ctx context.Context, _ wire.Options) (wire.Conn, error) {
	here, there := mcp.NewInMemoryTransports()
	ss, err := d.server.Connect(context.WithoutCancel(ctx), there, nil)
	if err != nil {
		return nil, err
	}
	c, err := here.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &sdkConn{c: c, gone: make(chan struct{}), stop: func() { _ = ss.Close() }}, nil
}

type addIn struct{ A, B int }

func sdkServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "real", Version: "1"}, &mcp.ServerOptions{
		Instructions: "add things",
		SubscribeHandler: func(context.Context, *mcp.SubscribeRequest) error {
			return nil
		},
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	mcp.AddTool(s, &mcp.Tool{Name: "add"}, func(_ context.Context, _ *mcp.CallToolRequest, in addIn) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(in.A + in.B)}}}, nil, nil
	})
	s.AddTool(&mcp.Tool{Name: "ask", InputSchema: json.RawMessage(`{"type":"object"}`)}, askTool)
	s.AddPrompt(&mcp.Prompt{Name: "p"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "prompted"}}}}, nil
	})
	s.AddResource(&mcp.Resource{URI: "mem:x", Name: "x"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "mem:x", Text: "body"}}}, nil
	})
	return s
}

// askTool asks for a name: in a result on 2026-07-28; the SDK turns the same
// result into elicitation/create on the older revisions.
func askTool(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if r, ok := req.Params.InputResponses["who"].(*mcp.ElicitResult); ok {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprint(r.Action, " ", r.Content["name"], " ", req.Params.RequestState)}}}, nil
	}
	return &mcp.CallToolResult{
		InputRequests: mcp.InputRequestMap{"who": &mcp.ElicitParams{
			Message:         "name?",
			RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`),
		}},
		RequestState: "kept",
	}, nil
}

func TestInteropWithTheSDKServer(t *testing.T) {
	t.Parallel()
	for _, rev := range []string{RevisionAuto, Revision20260728, Revision20251125, Revision20250618, Revision20250326, Revision20241105} {
		t.Run(rev, func(t *testing.T) {
			t.Parallel()
			server := sdkServer()
			changes := make(chan Family, 16)
			s, err := Connect(short(t), Options{
				Dialer: sdkDialer{t, server}, Revision: rev, ClientVersion: "test",
				Handlers: Handlers{
					Elicit:      accept(`{"name":"Ada"}`),
					ListChanged: func(fam Family, declared bool) { changes <- fam },
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			want := rev
			if rev == RevisionAuto {
				want = Revision20260728
			}
			if info := s.Info(); info.Revision != want || info.ServerName != "real" || info.Instructions != "add things" {
				t.Fatalf("%+v", info)
			}
			exerciseSDK(t, s, rev >= Revision20250618 || rev == RevisionAuto)
			// The stream of the modern era may open after the change.
			eventually(t, "tools changed", func() bool {
				server.AddTool(&mcp.Tool{Name: fmt.Sprint("t", time.Now().UnixNano()), InputSchema: json.RawMessage(`{"type":"object"}`)}, askTool)
				select {
				case fam := <-changes:
					return fam == Tools
				case <-time.After(30 * time.Millisecond):
					return false
				}
			})
		})
	}
}

func exerciseSDK(t *testing.T, s *Session, asks bool) {
	t.Helper()
	for fam, n := range map[Family]int{Tools: 2, Prompts: 1, Resources: 1, Templates: 0} {
		page, err := s.List(short(t), fam, "")
		if err != nil || len(page.Items) != n {
			t.Fatalf("%s: %d items, %v", fam, len(page.Items), err)
		}
	}
	res, err := s.CallTool(short(t), CallRequest{Name: "add", Args: json.RawMessage(`{"A":2,"B":3}`)})
	if err != nil || len(res.Content) != 1 || !contains(res.Raw, `"text":"5"`) {
		t.Fatalf("%+v, %v", res, err)
	}
	if asks {
		res, err = s.CallTool(short(t), CallRequest{ID: "c", Name: "ask"})
		if err != nil || !contains(res.Raw, "accept Ada kept") {
			t.Fatalf("%s, %v", res.rawText(), err)
		}
	}
	raw, err := s.GetPrompt(short(t), "p", nil)
	if err != nil || !contains(raw, "prompted") {
		t.Fatalf("%s, %v", raw, err)
	}
	raw, err = s.ReadResource(short(t), "mem:x")
	if err != nil || !contains(raw, "body") {
		t.Fatalf("%s, %v", raw, err)
	}
	if err := s.Subscribe(short(t), "mem:x"); err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(short(t)); err != nil {
		t.Fatal(err)
	}
	_, err = s.CallTool(short(t), CallRequest{Name: "none"})
	wantClass(t, err, ClassRemote)
}

func (r *Result) rawText() string {
	if r == nil {
		return ""
	}
	return string(r.Raw)
}

func contains(raw json.RawMessage, part string) bool {
	return len(raw) > 0 && strings.Contains(string(raw), part)
}

// pipeDialer connects to an SDK server over newline-delimited JSON in memory.
type pipeDialer struct{ server *mcp.Server }

func (pipeDialer) Origin() string { return "pipe" }
func (pipeDialer) Kind() string   { return "stdio" }

func (d pipeDialer) Dial(ctx context.Context, _ wire.Options) (wire.Conn, error) {
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	ss, err := d.server.Connect(context.WithoutCancel(ctx), &mcp.IOTransport{Reader: toServer, Writer: fromServer}, nil)
	if err != nil {
		return nil, err
	}
	return newPipeConn(toClient, fromClient, func() { _ = ss.Close() }), nil
}
