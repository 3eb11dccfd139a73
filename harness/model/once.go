package model

import "context"

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
	reply, _, err := OnceUsing(ctx, c, req)
	return reply, err
}
