package anthropic

import (
	"encoding/json"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/looprig/looprig/compose/provider/internal/upstream"
	"github.com/looprig/looprig/harness/model"
)

// decoder reads one message, block by block.
type decoder struct {
	origin string
	block  block
	stop   sdk.StopReason
	use    bool
	usage  model.Chunk
}

// block is the one under way.
type block struct {
	kind      string
	id, name  string
	args      strings.Builder
	given     json.RawMessage
	signature string
	redacted  string
}

func (d *decoder) event(e sdk.MessageStreamEventUnion, emit upstream.Emit) (done bool, err error) {
	switch e.Type {
	case "message_start":
		d.count(e.Message.Usage.InputTokens, e.Message.Usage.OutputTokens, e.Message.Usage.CacheReadInputTokens, e.Message.Usage.CacheCreationInputTokens)
	case "content_block_start":
		b := e.ContentBlock
		d.block = block{kind: b.Type, id: b.ID, name: b.Name, signature: b.Signature, redacted: b.Data, given: json.RawMessage(b.JSON.Input.Raw())}
		return false, d.say(b.Text, b.Thinking, emit)
	case "content_block_delta":
		d.block.args.WriteString(e.Delta.PartialJSON)
		d.block.signature += e.Delta.Signature
		return false, d.say(e.Delta.Text, e.Delta.Thinking, emit)
	case "content_block_stop":
		return false, d.close(emit)
	case "message_delta":
		d.count(e.Usage.InputTokens, e.Usage.OutputTokens, e.Usage.CacheReadInputTokens, e.Usage.CacheCreationInputTokens)
		if e.Delta.StopReason != "" {
			d.stop = e.Delta.StopReason
		}
	case "message_stop":
		return true, d.end(emit)
	}
	return false, nil
}

// whole takes a message that was not streamed.
func (d *decoder) whole(m *sdk.Message, emit upstream.Emit) error {
	for _, b := range m.Content {
		d.block = block{kind: b.Type, id: b.ID, name: b.Name, signature: b.Signature, redacted: b.Data, given: b.Input}
		if err := d.say(b.Text, b.Thinking, emit); err != nil {
			return err
		}
		if err := d.close(emit); err != nil {
			return err
		}
	}
	d.stop = m.StopReason
	d.count(m.Usage.InputTokens, m.Usage.OutputTokens, m.Usage.CacheReadInputTokens, m.Usage.CacheCreationInputTokens)
	return d.end(emit)
}

func (d *decoder) say(text, thinking string, emit upstream.Emit) error {
	if text != "" && !emit(model.Chunk{Kind: model.ChunkText, Text: text}) {
		return upstream.ErrStopped
	}
	if thinking != "" && !emit(model.Chunk{Kind: model.ChunkReasoning, Text: thinking}) {
		return upstream.ErrStopped
	}
	return nil
}

// close ends a block.
func (d *decoder) close(emit upstream.Emit) error {
	b := &d.block
	var c model.Chunk
	switch b.kind {
	case "thinking", "redacted_thinking":
		if b.signature == "" && b.redacted == "" {
			return nil
		}
		c = model.Chunk{Kind: model.ChunkReasoning, State: upstream.NewState(d.origin, thoughtState{b.signature, b.redacted})}
	case "tool_use":
		args := json.RawMessage(b.args.String())
		if len(args) == 0 {
			args = b.given
		}
		if len(args) == 0 || string(args) == "null" {
			args = json.RawMessage("{}")
		}
		d.use = true
		c = model.Chunk{Kind: model.ChunkToolUse, ToolUse: &model.ToolUse{
			ID: b.id, Name: b.name, Args: args, State: upstream.NewState(d.origin, upstream.CallState{ID: b.id}),
		}}
	default:
		return nil
	}
	if !emit(c) {
		return upstream.ErrStopped
	}
	return nil
}

// count takes totals so far; an endpoint may leave out those that it gave
// before.
func (d *decoder) count(in, out, read, written int64) {
	u := &d.usage
	u.CacheReadTokens = max(u.CacheReadTokens, int(read))
	u.CacheWriteTokens = max(u.CacheWriteTokens, int(written))
	u.InputTokens = max(u.InputTokens, int(in+read+written))
	u.OutputTokens = max(u.OutputTokens, int(out))
}

func (d *decoder) end(emit upstream.Emit) error {
	stop := upstream.StopEnd
	switch d.stop {
	case "":
		return upstream.Unfinished()
	case sdk.StopReasonToolUse:
		stop = upstream.StopToolUse
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		stop = upstream.StopMaxTokens
	case sdk.StopReasonRefusal:
		stop = upstream.StopRefusal
	case sdk.StopReasonEndTurn, sdk.StopReasonStopSequence, sdk.StopReasonPauseTurn:
		if d.use {
			stop = upstream.StopToolUse
		}
	}
	d.usage.Kind = model.ChunkUsage
	if !emit(d.usage) || !emit(model.Chunk{Kind: model.ChunkStop, Stop: stop}) {
		return upstream.ErrStopped
	}
	return nil
}
