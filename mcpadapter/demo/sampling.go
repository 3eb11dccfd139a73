package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// thinkTokens bounds the reply that think asks for.
const thinkTokens = 200

type thinkIn struct {
	Question string `json:"question"`
}

func (s *server) addSampling() {
	register(s, &mcp.Tool{
		Name: "think", Title: "Think", Description: "Asks the client's model a question and returns its reply.",
		InputSchema: json.RawMessage(thinkSchema),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: no()},
	}, think)
}

func think(ctx context.Context, req *mcp.CallToolRequest, in thinkIn) (*mcp.CallToolResult, any, error) {
	if caps := req.ClientCapabilities(); caps == nil || caps.Sampling == nil {
		return nil, nil, errors.New("this client does not offer sampling, so its model cannot be asked")
	}
	p := &mcp.CreateMessageParams{
		Messages:     []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: in.Question}}},
		SystemPrompt: "Answer in one sentence.",
		MaxTokens:    thinkTokens,
	}
	if !modern(req) {
		res, err := req.Session.CreateMessage(ctx, p)
		if err != nil {
			return nil, nil, fmt.Errorf("the model was not asked: %w", err)
		}
		return reply([]mcp.Content{res.Content})
	}
	response, ok := req.Params.InputResponses[question]
	if !ok {
		return &mcp.CallToolResult{
			Content:       []mcp.Content{}, // nil would be sent as null
			InputRequests: mcp.InputRequestMap{question: p}, RequestState: "think",
		}, nil, nil
	}
	if err := checkState(req, "think"); err != nil {
		return nil, nil, err
	}
	res, ok := response.(*mcp.CreateMessageWithToolsResult)
	if !ok {
		return nil, nil, invalidParams("the response to %q is not a sampling result", question)
	}
	return reply(res.Content)
}

func reply(content []mcp.Content) (*mcp.CallToolResult, any, error) {
	var said []string
	for _, c := range content {
		if t, ok := c.(*mcp.TextContent); ok {
			said = append(said, t.Text)
		}
	}
	if len(said) == 0 {
		return nil, nil, errors.New("the model's reply has no text")
	}
	return text("the model said: %s", strings.Join(said, "\n")), nil, nil
}
