package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/model"
	"github.com/looprig/looprig/internal/safetext"
)

// The waits between two attempts of a step.
const (
	firstRetryWait = time.Second
	maxRetryWait   = time.Minute
)

// message is one whole answer of a model.
type message struct {
	blocks []content.Block
	uses   []toolUse
	stop   string
	usage  event.Usage
}

// toolUse is a call that a model asked for, under the session's own id.
type toolUse struct {
	id   string
	name string
	args []byte
}

// step asks the model for its next message, and again while it fails before
// its first chunk in a way that may pass.
func (t *turn) step() (message, error) {
	wait, squeezed := firstRetryWait, false
	for attempt := 0; ; attempt++ {
		msg, began, err := t.ask()
		if overflows(err) && !began && t.ctx.Err() == nil {
			if squeezed {
				return message{}, overflowFailure(err)
			}
			if err := t.squeeze(err); err != nil {
				return message{}, err
			}
			squeezed = true
			continue
		}
		if err == nil {
			msg.usage = t.priced(msg.usage)
			t.s.used.add(t.model.Info().Name, "", msg.usage)
			t.usage = sumOf(t.usage, msg.usage)
			return msg, t.s.hub.emit(nil, &event.MessageCompleted{
				Header: t.head(), Step: t.steps, Role: content.RoleAssistant, Content: msg.blocks, Usage: msg.usage, Stop: msg.stop,
			})
		}
		if t.ctx.Err() != nil {
			return message{}, context.Cause(t.ctx)
		}
		failed, typed := errors.AsType[*model.Error](err)
		if !typed || !failed.Retryable || began || attempt >= t.s.o.Limits.ModelRetries {
			return message{}, modelFailure(err)
		}
		if failed.RetryAfter > 0 {
			wait = failed.RetryAfter
		}
		wait = min(wait, maxRetryWait)
		if err := t.tellRetry(failed, attempt+1, wait); err != nil {
			return message{}, err
		}
		if err := t.pause(wait); err != nil {
			return message{}, err
		}
		wait *= 2
	}
}

// tellRetry says that a step is tried again, why and when.
func (t *turn) tellRetry(f *model.Error, attempt int, wait time.Duration) error {
	why := safetext.ToLineN(f.Message, maxReasonBytes)
	return t.s.hub.emit(nil, &event.Notice{Header: t.head(), Code: "model_retry", Level: "warn", Text: fmt.Sprintf(
		"the model failed (%s: %s); attempt %d of %d follows in %s", f.Code, why, attempt+1, t.s.o.Limits.ModelRetries+1, wait.Round(time.Millisecond),
	)})
}

func modelFailure(err error) error {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	return &failure{CodeModelError, err.Error()}
}

// pause waits, or ends with the turn.
func (t *turn) pause(d time.Duration) error {
	due := make(chan struct{})
	stop := t.s.o.Clock.AfterFunc(d, func() { close(due) })
	defer stop()
	select {
	case <-due:
		return nil
	case <-t.ctx.Done():
		return context.Cause(t.ctx)
	}
}

// ask streams one message. began says that a chunk has been shown.
func (t *turn) ask() (msg message, began bool, err error) {
	req := model.Request{Loop: t.loop.name, System: t.systemText(), Messages: t.delimited(), Tools: t.offered()}
	c := collector{t: t, limit: t.s.o.Limits.MessageBytes}
	for chunk, err := range t.model.Stream(t.ctx, req) {
		if err != nil {
			return message{}, began, err
		}
		began = true
		if err := c.add(chunk); err != nil {
			return message{}, began, err
		}
	}
	if t.ctx.Err() != nil {
		return message{}, began, context.Cause(t.ctx)
	}
	return c.whole(), began, nil
}

// collector joins chunks to a message and shows them as they come.
type collector struct {
	t     *turn
	limit int
	size  int
	kind  content.Kind // of the text that is being joined
	text  strings.Builder
	msg   message
}

func (c *collector) add(chunk model.Chunk) error {
	switch chunk.Kind {
	case model.ChunkText:
		c.join(content.KindText, chunk)
	case model.ChunkReasoning:
		c.join(content.KindReasoning, chunk)
	case model.ChunkToolUse:
		if chunk.ToolUse != nil {
			c.use(*chunk.ToolUse)
		}
	case model.ChunkUsage:
		addUsage(&c.msg.usage, chunk)
	case model.ChunkStop:
		c.msg.stop = chunk.Stop
	}
	if c.size > c.limit {
		return &failure{CodeModelError, fmt.Sprintf("the model's message is over the limit of %d bytes", c.limit)}
	}
	if calls := c.t.s.o.Limits.CallsPerTurn; len(c.msg.uses) > calls {
		return &failure{CodeLimitCalls, fmt.Sprintf("the model asked for more than %d calls in one message (limits.toolCalls)", calls)}
	}
	return nil
}

// join appends a piece to the block of its kind. State ends the block, which is
// kept for the provider's sake even where it has no text.
func (c *collector) join(kind content.Kind, chunk model.Chunk) {
	if chunk.Text == "" && chunk.State == nil {
		return
	}
	if c.kind != kind {
		c.flush(nil)
		c.kind = kind
	}
	if chunk.Text != "" {
		c.text.WriteString(chunk.Text)
		c.size += len(chunk.Text)
		// A delta is a courtesy: that it cannot be encoded loses nothing.
		_ = c.t.s.hub.ephemeral(&event.ModelDelta{Header: c.t.head(), Step: c.t.steps, Kind: string(kind), Text: chunk.Text})
	}
	if chunk.State != nil {
		c.size += len(chunk.State.Data)
		c.flush(chunk.State)
	}
}

func (c *collector) use(u model.ToolUse) {
	c.flush(nil)
	x := toolUse{id: nextID("c", &c.t.s.calls), name: u.Name, args: asJSON(u.Args)}
	c.size += len(u.Name) + len(u.Args)
	if u.State != nil {
		c.size += len(u.State.Data)
	}
	c.msg.uses = append(c.msg.uses, x)
	c.msg.blocks = append(c.msg.blocks, content.Block{
		Kind: content.KindToolUse, CallID: x.id, Name: x.name, JSON: x.args, State: u.State,
	})
}

// flush ends the open block.
func (c *collector) flush(state *content.State) {
	if c.text.Len() > 0 || state != nil {
		c.msg.blocks = append(c.msg.blocks, content.Block{Kind: c.kind, Text: c.text.String(), State: state})
		c.text.Reset()
	}
	c.kind = ""
}

func (c *collector) whole() message {
	c.flush(nil)
	return c.msg
}
