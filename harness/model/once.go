package model

import (
	"context"
	"fmt"
	"strings"
)

// MaxReplyBytes bounds the text of a Reply.
const MaxReplyBytes = 1 << 20

// Reply is one message of a model that calls nothing.
type Reply struct {
	Text string
	// Stop is why the message ended: "end", "max_tokens", "refusal".
	Stop string
	// InputTokens and OutputTokens are 0 where the model does not say.
	InputTokens, OutputTokens int
}

// Once asks for one message outside of any loop, for a server that wants the
// model: Request.Sampling is set. Reasoning is left out of the reply. It asks
// once: whoever wants to try again looks at Error.Retryable. It fails with a
// *Error, also for a request with tools and for a message that calls one or is
// larger than MaxReplyBytes, or with the error of ctx.
func Once(ctx context.Context, c Client, req Request) (Reply, error) {
	if len(req.Tools) > 0 {
		return Reply{}, &Error{Code: "invalid_request", Message: "a message outside of a loop is asked for without tools"}
	}
	req.Sampling = true
	out := Reply{Stop: "end"}
	var text strings.Builder
	for chunk, err := range c.Stream(ctx, req) {
		if err != nil {
			return Reply{}, err
		}
		switch chunk.Kind {
		case ChunkText:
			text.WriteString(chunk.Text)
		case ChunkToolUse:
			return Reply{}, &Error{Code: "no_reply", Message: "the model called a tool where none is offered"}
		case ChunkUsage:
			out.InputTokens += chunk.InputTokens
			out.OutputTokens += chunk.OutputTokens
		case ChunkStop:
			out.Stop = chunk.Stop
		case ChunkReasoning:
		}
		if text.Len() > MaxReplyBytes {
			return Reply{}, &Error{Code: "no_reply", Message: fmt.Sprintf("the model's reply is over the limit of %d bytes", MaxReplyBytes)}
		}
	}
	if err := ctx.Err(); err != nil {
		return Reply{}, err
	}
	out.Text = text.String()
	return out, nil
}
