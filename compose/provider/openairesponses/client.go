// Package openairesponses speaks OpenAI's Responses format. Nothing is stored at
// the endpoint: each request carries the whole history, and with it the
// encrypted reasoning of models that reason, so that they can go on thinking
// where they were.
package openairesponses

import (
	"context"
	"fmt"
	"iter"
	"net/http"

	"github.com/looprig/looprig/compose/provider/internal/upstream"
	"github.com/looprig/looprig/harness/model"
)

// DefaultBaseURL is OpenAI's own endpoint.
const DefaultBaseURL = "https://api.openai.com/v1"

const maxTools = 128

// Client is one model behind a Responses endpoint.
type Client struct {
	up    *upstream.Client
	rules upstream.ToolRules
}

var (
	_ model.Client      = (*Client)(nil)
	_ model.ToolChecker = (*Client)(nil)
	_ model.ToolLimiter = (*Client)(nil)
)

// New makes a client. It fails with an *upstream.ConfigError.
func New(cfg upstream.Config) (*Client, error) {
	if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBaseURL
	}
	up, err := upstream.New(cfg, upstream.Bearer)
	if err != nil {
		return nil, err
	}
	return &Client{up: up, rules: upstream.ToolRules{Provider: "OpenAI", NameBytes: 64, RootProperties: true}}, nil
}

// Info describes the model.
func (c *Client) Info() model.Info { return c.up.Config().Info() }

// CheckTool says whether the model can be given a tool.
func (c *Client) CheckTool(t model.Tool) error { return c.rules.Check(t) }

// MaxTools is how many tools a request may have.
func (c *Client) MaxTools() int { return maxTools }

// Stream asks for the next message. StopSequences are refused: the format has
// none.
func (c *Client) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	cfg := c.up.Config()
	ask := func(ctx context.Context) (*http.Response, error) {
		if len(req.Tools) > maxTools {
			return nil, &model.Error{Code: "invalid_request", Message: fmt.Sprintf("OpenAI takes at most %d tools, there are %d", maxTools, len(req.Tools))}
		}
		body, err := encode(cfg, c.rules, req)
		if err != nil {
			return nil, err
		}
		return c.up.Post(ctx, "/responses", body)
	}
	return upstream.Stream(ctx, c.up, ask, &decoder{origin: cfg.Origin()})
}
