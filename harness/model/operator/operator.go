// Package operator is the model of a session in which nobody infers: the person
// in the terminal, or the script, chooses the calls. Calls do not come here (an
// operator's call is a turn that invokes no model); whatever else was said is
// answered with a hint on what can be done. It must not import the session.
package operator

import (
	"context"
	"iter"

	"github.com/looprig/looprig/harness/model"
)

// Name is what configuration calls the model.
const Name = "operator"

// Hint is the answer to everything that is not a call. It names no server: which
// ones are bound is not known here.
const Hint = "No model configured: you choose the calls. Try `/tools`, `/call SERVER TOOL`, `/mcp add`, `/help`."

// Client is the operator as a model.
type Client struct{}

var _ model.Client = Client{}

// Info names the operator.
func (Client) Info() model.Info { return model.Info{Name: Name, Display: "you (no key)", Person: true} }

// Stream answers with the hint. A server's request fails with the code no_reply:
// the person writes such replies, in the gate.
func (Client) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(model.Chunk{}, err)
			return
		}
		if req.Sampling {
			yield(model.Chunk{}, &model.Error{Code: "no_reply", Message: "there is no model: a person writes the reply"})
			return
		}
		if yield(model.Chunk{Kind: model.ChunkText, Text: Hint}, nil) {
			yield(model.Chunk{Kind: model.ChunkStop, Stop: "end"}, nil)
		}
	}
}
