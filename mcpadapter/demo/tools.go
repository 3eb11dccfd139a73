package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// handler is a tool after its arguments were decoded.
type handler[In, Out any] = mcp.ToolHandlerFor[In, Out]

// register adds a tool whose calls are recorded and, when the options say so,
// delayed.
func register[In, Out any](s *server, t *mcp.Tool, h handler[In, Out]) {
	mcp.AddTool(s.sdk, t, func(ctx context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		// A retry of a multi-round-trip call is the same call.
		if req.Params.RequestState == "" {
			level := mcp.LoggingLevel("info")
			if t.Name == "fail" {
				level = "warning"
			}
			s.record(ctx, req.Session, level, "called "+t.Name)
		}
		if err := s.sleep(ctx, s.opt.Delay); err != nil {
			var none Out
			return nil, none, err
		}
		return h(ctx, req, in)
	})
}

func text(format string, args ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
}

func no() *bool { f := false; return &f }

// harmless are the annotations of a tool that changes nothing anywhere.
func harmless() *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: no(), OpenWorldHint: no()}
}

type addIn struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

type addOut struct {
	Sum float64 `json:"sum"`
}

func (s *server) addTools() {
	register(s, &mcp.Tool{
		Name: "add", Title: "Add", Description: "Adds two numbers.",
		InputSchema: json.RawMessage(addSchema), OutputSchema: json.RawMessage(sumSchema),
		Annotations: harmless(),
	}, add)
	register(s, &mcp.Tool{
		Name: "echo", Title: "Echo", Description: "Returns the text that it is given.",
		InputSchema: json.RawMessage(echoSchema), Annotations: harmless(),
	}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		Text string `json:"text"`
	}) (*mcp.CallToolResult, any, error) {
		return text("%s", in.Text), nil, nil
	})
	register(s, &mcp.Tool{
		Name: "slow", Title: "Slow", Description: "Works for some seconds and reports progress. It can be cancelled.",
		InputSchema: json.RawMessage(slowSchema), Annotations: harmless(),
	}, s.slow)
	register(s, &mcp.Tool{
		Name: "fail", Title: "Fail", Description: "Always ends with an error.",
		InputSchema: json.RawMessage(failSchema), Annotations: harmless(),
	}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		Message string `json:"message"`
	}) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New(in.Message)
	})
	register(s, &mcp.Tool{
		Name: "big-result", Title: "Big result", Description: "Returns a text of exactly the given size, in numbered lines.",
		InputSchema: json.RawMessage(bigSchema), Annotations: harmless(),
	}, func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		Kilobytes int `json:"kilobytes"`
	}) (*mcp.CallToolResult, any, error) {
		return text("%s", bigText(in.Kilobytes)), nil, nil
	})
}

func add(_ context.Context, _ *mcp.CallToolRequest, in addIn) (*mcp.CallToolResult, addOut, error) {
	out := addOut{Sum: in.A + in.B}
	return text("%s", strconv.FormatFloat(out.Sum, 'g', -1, 64)), out, nil
}

type slowIn struct {
	Seconds float64 `json:"seconds"`
	Steps   int     `json:"steps"`
}

func (s *server) slow(ctx context.Context, req *mcp.CallToolRequest, in slowIn) (*mcp.CallToolResult, any, error) {
	step := time.Duration(in.Seconds * float64(time.Second) / float64(in.Steps))
	token := req.Params.GetProgressToken()
	for i := 1; i <= in.Steps; i++ {
		if err := s.sleep(ctx, step); err != nil {
			return nil, nil, fmt.Errorf("cancelled in step %d of %d", i, in.Steps)
		}
		if token == nil {
			continue
		}
		err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token,
			Progress:      float64(i),
			Total:         float64(in.Steps),
			Message:       fmt.Sprintf("step %d of %d", i, in.Steps),
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return text("done after %d steps", in.Steps), nil, nil
}

// bigText is n KiB of numbered lines of 64 bytes.
func bigText(n int) string {
	const line = 64
	var b strings.Builder
	b.Grow(n << 10)
	for i := range n << 10 / line {
		head := fmt.Sprintf("line %06d ", i+1)
		b.WriteString(head)
		b.WriteString(strings.Repeat(".", line-1-len(head)))
		b.WriteByte('\n')
	}
	return b.String()
}
