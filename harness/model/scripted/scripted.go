// Package scripted is a model that replays declared replies, one per step, so
// that tests and examples run deterministically. Replies may be kept apart by
// loop. It must not import the session or a script's syntax.
package scripted

import (
	"context"
	"encoding/json"
	"iter"
	"strconv"
	"sync"

	"github.com/looprig/looprig/harness/model"
)

// Name is what configuration calls the model.
const Name = "scripted"

// Reply is one message of the model: text, calls or both.
type Reply struct {
	Say  string
	Call []Call
}

// Call is one tool use, by model-facing name. Empty arguments mean {}.
type Call struct {
	Tool string
	Args json.RawMessage
}

// Config holds the replies. Those of a loop that has its own are consumed by
// that loop alone; all other loops share Replies.
type Config struct {
	Replies []Reply
	ByLoop  map[string][]Reply
}

// Client replays the replies of a Config. It is safe for concurrent use.
type Client struct {
	mu     sync.Mutex
	shared []Reply
	byLoop map[string][]Reply
	calls  int
}

var _ model.Client = (*Client)(nil)

// New makes a client. It keeps no reference to the configuration's slices.
func New(c Config) *Client {
	out := &Client{shared: append([]Reply(nil), c.Replies...), byLoop: map[string][]Reply{}}
	for loop, replies := range c.ByLoop {
		out.byLoop[loop] = append([]Reply(nil), replies...)
	}
	return out
}

// Info names the model.
func (*Client) Info() model.Info { return model.Info{Name: Name, Display: "scripted replies"} }

// Unused counts the replies that no step has consumed: those of each loop that
// has its own by its name, the shared ones by "". Loops without any are absent.
func (c *Client) Unused() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]int{}
	if len(c.shared) > 0 {
		out[""] = len(c.shared)
	}
	for loop, left := range c.byLoop {
		if len(left) > 0 {
			out[loop] = len(left)
		}
	}
	return out
}

// take consumes the next reply of a loop and numbers its calls.
func (c *Client) take(loop string) (Reply, int, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var r Reply
	if own, has := c.byLoop[loop]; has {
		if len(own) == 0 {
			return Reply{}, 0, false
		}
		r, c.byLoop[loop] = own[0], own[1:]
	} else {
		if len(c.shared) == 0 {
			return Reply{}, 0, false
		}
		r, c.shared = c.shared[0], c.shared[1:]
	}
	first := c.calls
	c.calls += len(r.Call)
	return r, first, true
}

// Stream yields the next reply. It fails with the code no_reply when there is
// none left.
func (c *Client) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(model.Chunk{}, err)
			return
		}
		r, first, ok := c.take(req.Loop)
		if !ok {
			yield(model.Chunk{}, &model.Error{Code: "no_reply", Message: "the script has no reply left for this step"})
			return
		}
		for _, chunk := range chunks(r, first) {
			if !yield(chunk, nil) {
				return
			}
		}
	}
}

func chunks(r Reply, first int) []model.Chunk {
	var out []model.Chunk
	if r.Say != "" {
		out = append(out, model.Chunk{Kind: model.ChunkText, Text: r.Say})
	}
	for i, call := range r.Call {
		args := call.Args
		if len(args) == 0 {
			args = json.RawMessage("{}")
		}
		out = append(out, model.Chunk{Kind: model.ChunkToolUse, ToolUse: &model.ToolUse{
			ID: "scripted-" + strconv.Itoa(first+i+1), Name: call.Tool, Args: args,
		}})
	}
	stop := "end"
	if len(r.Call) > 0 {
		stop = "tool_use"
	}
	return append(out, model.Chunk{Kind: model.ChunkStop, Stop: stop})
}
