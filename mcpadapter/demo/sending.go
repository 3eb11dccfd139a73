package demo

import (
	"context"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// answerKey is the context key of the *answerCopy that wants to see the
// client's answer to an elicitation.
type answerKey struct{}

// answerCopy is the content of an answer as the client sent it. The SDK adds
// the schema's defaults to the content that it hands over, and this server
// reports what was sent.
type answerCopy struct{ content map[string]any }

// watchSending sees every outgoing message: it copies the answers to
// elicitations and notes that a list_changed went out.
func (s *server) watchSending(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		if err != nil {
			return res, err
		}
		switch method {
		case "elicitation/create":
			if c, ok := ctx.Value(answerKey{}).(*answerCopy); ok {
				if r, ok := res.(*mcp.ElicitResult); ok && r != nil {
					c.content = maps.Clone(r.Content)
				}
			}
		case "notifications/tools/list_changed":
			select {
			case s.announced <- struct{}{}:
			default:
			}
		}
		return res, nil
	}
}

// modernRevision is the first revision of the stateless protocol.
const modernRevision = "2026-07-28"

// modern tells whether a request follows the stateless protocol, in which the
// server cannot send requests of its own.
func modern(req *mcp.CallToolRequest) bool { return req.ProtocolVersion() >= modernRevision }
