package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"strings"

	"github.com/looprig/looprig/harness/model"
)

// The values of model.Chunk.Stop.
const (
	StopEnd       = "end"
	StopToolUse   = "tool_use"
	StopMaxTokens = "max_tokens"
	StopRefusal   = "refusal"
)

// Emit hands a chunk to whoever reads the stream; false means that nobody does
// any more.
type Emit func(model.Chunk) bool

// ErrStopped ends a reader whose consumer is gone.
var ErrStopped = errors.New("nobody reads the stream any more")

// Decoder makes chunks of one answer.
type Decoder interface {
	// Event takes the data of one event; done says that the message is complete
	// and nothing of interest follows.
	Event(data []byte, emit Emit) (done bool, err error)
	// Whole takes an answer that is no stream.
	Whole(data []byte, emit Emit) error
	// Close emits what is left at the end of a stream, or says that the message
	// is not complete.
	Close(emit Emit) error
}

// Stream asks and decodes: the whole of a provider that speaks JSON over HTTP.
func Stream(ctx context.Context, c *Client, ask func(context.Context) (*http.Response, error), d Decoder) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		gone := false
		emit := func(c model.Chunk) bool {
			gone = gone || !yield(c, nil)
			return !gone
		}
		err := run(ctx, ask, d, emit)
		if err != nil && !gone {
			yield(model.Chunk{}, c.Clean(Ended(ctx, err)))
		}
	}
}

func run(ctx context.Context, ask func(context.Context) (*http.Response, error), d Decoder, emit Emit) error {
	resp, err := ask(ctx)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if !Streams(resp) {
		raw, err := Whole(resp)
		if err != nil {
			return err
		}
		return d.Whole(raw, emit)
	}
	for ev, err := range Events(resp.Body) {
		if err != nil {
			if ctx.Err() == nil && d.Close(emit) == nil {
				return nil // all of the message came before the failure
			}
			return err
		}
		if done, err := d.Event(ev.Data, emit); err != nil || done {
			return err
		}
	}
	return d.Close(emit)
}

// Ended is the error of a stream: the cause of the context where that ended, a
// *model.Error otherwise.
func Ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, ok := errors.AsType[*model.Error](err); ok {
		return err
	}
	return Broken("the answer cannot be read")
}

// Decode reads one JSON document of an endpoint.
func Decode(data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return Broken("the answer has a part that is no JSON of the expected form")
	}
	return nil
}

// Bare is the model's name without what a router puts before it, in lower case.
func Bare(name string) string {
	return strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
}

// Reasons says whether a model of OpenAI's reasons, by its name: such models
// have other names for the bound of a message and for the system's role.
func Reasons(name string) bool {
	b := Bare(name)
	if len(b) > 1 && b[0] == 'o' && b[1] >= '1' && b[1] <= '9' {
		return true
	}
	return strings.HasPrefix(b, "gpt-oss") || strings.HasPrefix(b, "gpt-5") || strings.HasPrefix(b, "gpt-6")
}
