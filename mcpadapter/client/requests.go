package client

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/looprig/looprig/mcpadapter/internal/protocol"
)

// Completion are a server's suggestions, raw.
type Completion = protocol.Completion

// CompleteRequest asks for a Completion.
type CompleteRequest = protocol.CompleteRequest

// ReadResource reads a resource and returns the raw result.
func (c *Client) ReadResource(ctx context.Context, uri string) (out json.RawMessage, err error) {
	if err := c.checkURI("resources/read", uri); err != nil {
		return nil, err
	}
	err = c.do(ctx, "resources/read", "", nil, func(ctx context.Context, s Session, _ *clock) (err error) {
		out, err = s.ReadResource(ctx, uri)
		return err
	})
	return out, err
}

// GetPrompt gets a prompt; args is a JSON object of strings or nil.
func (c *Client) GetPrompt(ctx context.Context, name string, args json.RawMessage) (out json.RawMessage, err error) {
	if n, limit := len(args), c.def.Limits.ArgumentBytes; n > limit {
		return nil, overLimit("prompts/get", "the arguments are too large", n, limit, "limits.argumentBytes")
	}
	err = c.do(ctx, "prompts/get", "", nil, func(ctx context.Context, s Session, _ *clock) (err error) {
		out, err = s.GetPrompt(ctx, name, args)
		return err
	})
	return out, err
}

// Complete asks for values of an argument of a prompt or template. A server
// without completions fails with an *Error of class "unsupported" or "remote".
func (c *Client) Complete(ctx context.Context, req CompleteRequest) (out Completion, err error) {
	const op = "completion/complete"
	asked := len(req.Value)
	for k, v := range req.Known {
		asked += len(k) + len(v)
	}
	if limit := c.def.Limits.ArgumentBytes; asked > limit {
		return out, overLimit(op, "the arguments are too large", asked, limit, "limits.argumentBytes")
	}
	err = c.do(ctx, op, "", nil, func(ctx context.Context, s Session, _ *clock) (err error) {
		out, err = s.Complete(ctx, req)
		return err
	})
	if err != nil {
		return Completion{}, err
	}
	size := 0
	for _, v := range out.Values {
		size += len(v)
	}
	if n := len(out.Values); n > protocol.MaxCompletions {
		return Completion{}, overLimit(op, "too many values", n, protocol.MaxCompletions, "fixed")
	}
	if limit := c.def.Limits.CompletionBytes; size > limit {
		return Completion{}, overLimit(op, "the values are too large", size, limit, "limits.completionBytes")
	}
	return out, nil
}

// Call sends one raw request. It refuses tools/call, so that it is no way round
// policy, and the methods of the handshake.
func (c *Client) Call(ctx context.Context, method string, params json.RawMessage) (out json.RawMessage, err error) {
	switch method {
	case "tools/call", "initialize", "server/discover", "subscriptions/listen":
		return nil, &protocol.Error{Class: protocol.ClassConfig, Op: method, Message: "not available as a raw request"}
	}
	err = c.do(ctx, method, "", nil, func(ctx context.Context, s Session, _ *clock) (err error) {
		out, err = s.Request(ctx, method, params)
		return err
	})
	return out, err
}

// Notify sends one raw notification. Methods of requests are refused: a server
// might serve one that has no id.
func (c *Client) Notify(ctx context.Context, method string, params json.RawMessage) error {
	if !strings.HasPrefix(method, "notifications/") {
		return &protocol.Error{Class: protocol.ClassConfig, Op: method, Message: "no notification"}
	}
	return c.do(ctx, method, "", nil, func(ctx context.Context, s Session, _ *clock) error {
		return s.Notify(ctx, method, params)
	})
}
