// Package openaichat speaks the Chat Completions format: OpenAI's own endpoint
// and every compatible one (Ollama, LM Studio, llama.cpp, vLLM, OpenRouter,
// Groq, …) through a base URL. The format is a habit more than a standard, so
// the reader takes every spelling that was met: reasoning in reasoning_content,
// reasoning or reasoning_details, content as text or parts, calls with and
// without an index, a whole document in the place of a stream.
package openaichat

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

const (
	vendorHost          = "api.openai.com"
	maxVendorTools      = 128
	maxVendorDescribing = 1024
)

// Client is one model behind a Chat Completions endpoint.
type Client struct {
	up    *upstream.Client
	rules upstream.ToolRules
	max   int
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
	c := &Client{up: up, rules: upstream.ToolRules{Provider: "the Chat Completions format", NameBytes: 64, RootProperties: true}}
	if up.Base().Hostname() == vendorHost {
		c.rules.Provider, c.rules.DescriptionBytes, c.max = "OpenAI", maxVendorDescribing, maxVendorTools
	}
	return c, nil
}

// Info describes the model.
func (c *Client) Info() model.Info { return c.up.Config().Info() }

// CheckTool says whether the model can be given a tool.
func (c *Client) CheckTool(t model.Tool) error { return c.rules.Check(t) }

// MaxTools is how many tools a request may have, 0 for no limit.
func (c *Client) MaxTools() int { return c.max }

// Stream asks for the next message.
func (c *Client) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	cfg := c.up.Config()
	ask := func(ctx context.Context) (*http.Response, error) {
		if c.max > 0 && len(req.Tools) > c.max {
			return nil, &model.Error{Code: "invalid_request", Message: fmt.Sprintf("%s takes at most %d tools, there are %d", c.rules.Provider, c.max, len(req.Tools))}
		}
		body, err := encode(cfg, c.rules, req)
		if err != nil {
			return nil, err
		}
		return c.up.Post(ctx, "/chat/completions", body)
	}
	return upstream.Stream(ctx, c.up, ask, newDecoder(cfg.Origin()))
}
