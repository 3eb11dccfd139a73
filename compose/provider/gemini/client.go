// Package gemini speaks Google's generateContent format, at the Gemini API and
// at Vertex AI. A model's signatures of its thoughts are kept with the blocks
// that they came with and go back with them; calls have an id only where the
// model gave one; numbers in arguments stay as they were written.
package gemini

import (
	"context"
	"iter"
	"net/http"
	"net/url"

	"github.com/looprig/looprig/compose/provider/internal/upstream"
	"github.com/looprig/looprig/harness/model"
)

// DefaultBaseURL is the Gemini API. Vertex AI has none: its base URL names the
// project and place and ends in "/publishers/google".
const DefaultBaseURL = "https://generativelanguage.googleapis.com/v1beta"

const maxNameBytes = 64

// Client is one Gemini model.
type Client struct {
	up    *upstream.Client
	rules upstream.ToolRules
}

var (
	_ model.Client      = (*Client)(nil)
	_ model.ToolChecker = (*Client)(nil)
)

// New makes a client. It fails with an *upstream.ConfigError.
func New(cfg upstream.Config) (*Client, error) {
	auth := upstream.Header("x-goog-api-key")
	if cfg.Kind == upstream.GeminiVertex {
		auth = upstream.Bearer
	} else if cfg.BaseURL == "" {
		cfg.BaseURL = DefaultBaseURL
	}
	up, err := upstream.New(cfg, auth)
	if err != nil {
		return nil, err
	}
	return &Client{up: up, rules: upstream.ToolRules{
		Provider: "Gemini", NameBytes: maxNameBytes, NameMore: ".:", NameLetter: true, RootCombiners: true, LoneRef: true,
	}}, nil
}

// Info describes the model.
func (c *Client) Info() model.Info { return c.up.Config().Info() }

// CheckTool says whether the model can be given a tool.
func (c *Client) CheckTool(t model.Tool) error { return c.rules.Check(t) }

// Stream asks for the next message.
func (c *Client) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	cfg := c.up.Config()
	ask := func(ctx context.Context) (*http.Response, error) {
		body, err := encode(cfg, c.rules, req)
		if err != nil {
			return nil, err
		}
		verb := ":streamGenerateContent?alt=sse"
		if cfg.NoStream {
			verb = ":generateContent"
		}
		return c.up.Post(ctx, "/models/"+url.PathEscape(cfg.Model)+verb, body)
	}
	return upstream.Stream(ctx, c.up, ask, &decoder{origin: cfg.Origin()})
}
