// Package anthropic speaks the Messages format through Anthropic's own SDK, at
// Anthropic, at Vertex AI and at compatible endpoints. The SDK is given its
// transport, key and address from here and nothing else: it reads no variable
// and no profile, retries nothing, traces nothing. Thinking goes back with its
// signature, redacted thinking as it came.
package anthropic

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/looprig/looprig/compose/provider/internal/upstream"
	"github.com/looprig/looprig/harness/model"
)

// DefaultBaseURL is Anthropic's own endpoint. The SDK adds the version, so a
// base URL has none. Vertex AI has no default: its base URL names the project
// and place and ends in "/publishers/anthropic".
const DefaultBaseURL = "https://api.anthropic.com"

const (
	vertexVersion    = "vertex-2023-10-16"
	maxNameBytes     = 64
	maxPropertyBytes = 64
	// wholeTimeout bounds an answer that is not streamed.
	wholeTimeout = time.Hour
)

// Client is one Claude model.
type Client struct {
	up       *upstream.Client
	rules    upstream.ToolRules
	messages sdk.MessageService
	options  []option.RequestOption
}

var (
	_ model.Client      = (*Client)(nil)
	_ model.ToolChecker = (*Client)(nil)
)

// New makes a client. It fails with an *upstream.ConfigError.
func New(cfg upstream.Config) (*Client, error) {
	vertex := cfg.Kind == upstream.AnthropicVertex
	auth := upstream.Header("X-Api-Key")
	if vertex {
		auth = upstream.Bearer
	} else {
		if cfg.BaseURL == "" {
			cfg.BaseURL = DefaultBaseURL
		}
		cfg.BaseURL = strings.TrimSuffix(strings.TrimRight(cfg.BaseURL, "/"), "/v1")
	}
	up, err := upstream.New(cfg, auth)
	if err != nil {
		return nil, err
	}
	c := &Client{up: up, rules: upstream.ToolRules{Provider: "Anthropic", NameBytes: maxNameBytes, PropertyBytes: maxPropertyBytes}}
	c.options = []option.RequestOption{
		option.WithBaseURL(up.Base().String() + "/"),
		option.WithHTTPClient(doer{up, vertex}),
		option.WithMaxRetries(0),
		option.WithoutOpenTelemetry(),
	}
	if vertex {
		c.options = append(c.options, option.WithJSONDel("model"), option.WithJSONSet("anthropic_version", vertexVersion))
	}
	c.messages = sdk.NewMessageService(c.options...)
	return c, nil
}

// doer is the SDK's way to the network.
type doer struct {
	up     *upstream.Client
	vertex bool
}

// Do sends a request. Vertex AI has the model and the way of answering in its
// path, where the SDK has neither.
func (d doer) Do(req *http.Request) (*http.Response, error) {
	if d.vertex {
		verb := ":streamRawPredict"
		if d.up.Config().NoStream {
			verb = ":rawPredict"
		}
		u := d.up.Base()
		at, err := url.Parse(u.String() + "/models/" + url.PathEscape(d.up.Config().Model) + verb)
		if err != nil {
			return nil, &model.Error{Code: "invalid_request", Message: "the model's name makes no address", Err: err}
		}
		req.URL = at
	}
	for name := range req.Header {
		if strings.HasPrefix(strings.ToLower(name), "x-stainless") {
			req.Header.Del(name) // what machine this is concerns nobody
		}
	}
	return d.up.Do(req)
}

// Info describes the model.
func (c *Client) Info() model.Info { return c.up.Config().Info() }

// CheckTool says whether the model can be given a tool.
func (c *Client) CheckTool(t model.Tool) error { return c.rules.Check(t) }

// Stream asks for the next message.
func (c *Client) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		gone := false
		emit := func(chunk model.Chunk) bool {
			gone = gone || !yield(chunk, nil)
			return !gone
		}
		if err := c.run(ctx, req, emit); err != nil && !gone {
			yield(model.Chunk{}, c.up.Clean(upstream.Ended(ctx, failureOf(err))))
		}
	}
}

func (c *Client) run(ctx context.Context, req model.Request, emit upstream.Emit) error {
	cfg := c.up.Config()
	params, extra, err := encode(cfg, c.rules, req)
	if err != nil {
		return err
	}
	d := decoder{origin: cfg.Origin()}
	if cfg.NoStream {
		// Else the SDK refuses what it expects to take long.
		extra = append(extra, option.WithRequestTimeout(wholeTimeout))
		msg, err := c.messages.New(ctx, params, extra...)
		if err != nil {
			return err
		}
		return d.whole(msg, emit)
	}
	stream := c.messages.NewStreaming(ctx, params, extra...)
	defer stream.Close()
	for stream.Next() {
		if done, err := d.event(stream.Current(), emit); err != nil || done {
			return err
		}
	}
	if err := stream.Err(); err != nil {
		return err
	}
	return upstream.Unfinished()
}

// failureOf finds what the client below said, or reads what the endpoint said in
// its stream.
func failureOf(err error) error {
	if _, ok := errors.AsType[*model.Error](err); ok {
		return err
	}
	if said, ok := errors.AsType[*sdk.Error](err); ok {
		return upstream.ParseComplaint([]byte(said.RawJSON())).Failure(0, nil)
	}
	return upstream.Broken("the answer cannot be read")
}
