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
// that loop alone; all other loops share Replies. Servers that ask for a message
// of the model consume Sampling, and nothing else.
type Config struct {
	Replies  []Reply
	ByLoop   map[string][]Reply
	Sampling []Reply
}

// UnusedSampling is what Unused calls the replies to servers.
const UnusedSampling = "sampling:"

// Client replays the replies of a Config. It is safe for concurrent use.
type Client struct {
	mu       sync.Mutex
	shared   []Reply
	byLoop   map[string][]Reply
	sampling []Reply
	calls    int
}

var _ model.Client = (*Client)(nil)

// New makes a client. It keeps no reference to the configuration's slices.
func New(c Config) *Client {
	out := &Client{shared: append([]Reply(nil), c.Replies...), sampling: append([]Reply(nil), c.Sampling...), byLoop: map[string][]Reply{}}
	for loop, replies := range c.ByLoop {
		out.byLoop[loop] = append([]Reply(nil), replies...)
	}
	return out
}

// Info names the model.
func (*Client) Info() model.Info { return model.Info{Name: Name, Display: "scripted replies"} }

// Unused counts the replies that no step has consumed: those of each loop that
// has its own by its name, the shared ones by "", those to servers by
// UnusedSampling. What has none left is absent.
func (c *Client) Unused() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]int{}
	if len(c.shared) > 0 {
		out[""] = len(c.shared)
	}
	if len(c.sampling) > 0 {
		out[UnusedSampling] = len(c.sampling)
	}
	for loop, left := range c.byLoop {
		if len(left) > 0 {
			out[loop] = len(left)
		}
	}
	return out
}

// take consumes the next reply for a request and numbers its calls.
func (c *Client) take(req model.Request) (Reply, int, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := c.shared
	own, has := c.byLoop[req.Loop]
	switch {
	case req.Sampling:
		left = c.sampling
	case has:
		left = own
	}
	if len(left) == 0 {
		return Reply{}, 0, false
	}
	r := left[0]
	switch {
	case req.Sampling:
		c.sampling = left[1:]
	case has:
		c.byLoop[req.Loop] = left[1:]
	default:
		c.shared = left[1:]
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
		r, first, ok := c.take(req)
		if !ok {
			yield(model.Chunk{}, &model.Error{Code: "no_reply", Message: exhausted(req)})
			return
		}
		for _, chunk := range chunks(r, first) {
			if !yield(chunk, nil) {
				return
			}
		}
	}
}

func exhausted(req model.Request) string {
	if req.Sampling {
		return "the script has no reply left for a server that asks the model"
	}
	return "the script has no reply left for this step"
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
