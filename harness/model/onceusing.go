package model

import (
	"context"
	"fmt"
	"strings"
)

// MaxReplyUses bounds the uses of tools in one Reply.
const MaxReplyUses = 64

// OnceUsing is Once for a request that may bring tools of the server, which the
// host does not run: the uses that the model wrote go back to whoever asked.
// They are as the model wrote them, unchecked but for their number and size:
// without tools in the request there are none, at most MaxReplyUses otherwise,
// and the text and all arguments together have at most MaxReplyBytes.
func OnceUsing(ctx context.Context, c Client, req Request) (Reply, []ToolUse, error) {
	fail := func(format string, args ...any) (Reply, []ToolUse, error) {
		return Reply{}, nil, &Error{Code: "no_reply", Message: fmt.Sprintf(format, args...)}
	}
	req.Sampling = true
	out := Reply{Stop: "end"}
	var text strings.Builder
	var uses []ToolUse
	size := 0
	for chunk, err := range c.Stream(ctx, req) {
		if err != nil {
			return Reply{}, nil, err
		}
		switch chunk.Kind {
		case ChunkText:
			text.WriteString(chunk.Text)
			size += len(chunk.Text)
		case ChunkToolUse:
			switch {
			case len(req.Tools) == 0:
				return fail("the model called a tool where none is offered")
			case len(uses) == MaxReplyUses:
				return fail("the model's reply is over the limit of %d uses of tools", MaxReplyUses)
			}
			uses = append(uses, *chunk.ToolUse)
			size += len(chunk.ToolUse.Args)
		case ChunkUsage:
			out.InputTokens += chunk.InputTokens
			out.OutputTokens += chunk.OutputTokens
		case ChunkStop:
			out.Stop = chunk.Stop
		case ChunkReasoning:
		}
		if size > MaxReplyBytes {
			return fail("the model's reply is over the limit of %d bytes", MaxReplyBytes)
		}
	}
	if err := ctx.Err(); err != nil {
		return Reply{}, nil, err
	}
	out.Text = text.String()
	return out, uses, nil
}
