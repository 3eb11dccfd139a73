package openaichat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/looprig/looprig/compose/provider/internal/upstream"
	"github.com/looprig/looprig/harness/model"
)

// maxCalls bounds the calls of one message.
const maxCalls = 1024

type answer struct {
	Error   json.RawMessage `json:"error"`
	Choices []struct {
		Delta        *delta `json:"delta"`
		Message      *delta `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *usage `json:"usage"`
}

// delta is a piece of a message, or all of it.
type delta struct {
	Content          json.RawMessage   `json:"content"`
	Refusal          string            `json:"refusal"`
	ReasoningContent string            `json:"reasoning_content"`
	Reasoning        json.RawMessage   `json:"reasoning"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details"`
	ToolCalls        []callDelta       `json:"tool_calls"`
}

type callDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	PromptIn   struct {
		Cached  int `json:"cached_tokens"`
		Written int `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionIn struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// call is a tool call that is being written.
type call struct {
	index int
	id    string
	name  string
	args  strings.Builder
}

type decoder struct {
	origin  string
	think   reasoning
	calls   []*call
	usage   usage
	finish  string
	refused bool
	spoke   bool
}

func newDecoder(origin string) *decoder { return &decoder{origin: origin} }

var _ upstream.Decoder = (*decoder)(nil)

// Event takes the data of one event.
func (d *decoder) Event(data []byte, emit upstream.Emit) (bool, error) {
	if bytes.Equal(bytes.TrimSpace(data), []byte("[DONE]")) {
		return true, d.Close(emit)
	}
	return false, d.document(data, emit)
}

// Whole takes an answer that is no stream.
func (d *decoder) Whole(data []byte, emit upstream.Emit) error {
	if err := d.document(data, emit); err != nil {
		return err
	}
	return d.Close(emit)
}

func (d *decoder) document(data []byte, emit upstream.Emit) error {
	var a answer
	if err := upstream.Decode(data, &a); err != nil {
		return err
	}
	if len(a.Error) > 0 && string(a.Error) != "null" {
		return upstream.ParseComplaint(data).Failure(0, nil)
	}
	if a.Usage != nil {
		d.usage = *a.Usage
	}
	if len(a.Choices) == 0 {
		return nil
	}
	choice := a.Choices[0]
	for _, m := range []*delta{choice.Delta, choice.Message} {
		if m == nil {
			continue
		}
		if err := d.delta(m, emit); err != nil {
			return err
		}
	}
	if choice.FinishReason != "" {
		d.finish = choice.FinishReason
	}
	if choice.FinishReason == "error" {
		return upstream.Broken("the endpoint reported an error in its answer")
	}
	return nil
}

func (d *decoder) delta(m *delta, emit upstream.Emit) error {
	thought, said := textOf(m.Content)
	if text := d.think.add(m, thought); text != "" && !emit(model.Chunk{Kind: model.ChunkReasoning, Text: text}) {
		return upstream.ErrStopped
	}
	if m.Refusal != "" {
		d.refused = true
		said += m.Refusal
	}
	if said != "" {
		if err := d.closeThought(emit); err != nil {
			return err
		}
		d.spoke = true
		if !emit(model.Chunk{Kind: model.ChunkText, Text: said}) {
			return upstream.ErrStopped
		}
	}
	for _, c := range m.ToolCalls {
		if err := d.call(c); err != nil {
			return err
		}
	}
	return nil
}

// closeThought ends a block of reasoning that text follows. Details may still
// come; they then go into a block without text.
func (d *decoder) closeThought(emit upstream.Emit) error {
	s := d.think.take()
	if s == nil {
		return nil
	}
	if !emit(model.Chunk{Kind: model.ChunkReasoning, State: upstream.NewState(d.origin, s)}) {
		return upstream.ErrStopped
	}
	return nil
}

// call joins the pieces of a call. A piece belongs to the call of its index,
// unless it brings another id; without an index, to the last one.
func (d *decoder) call(c callDelta) error {
	var at *call
	for _, x := range d.calls {
		if c.Index == nil || x.index == *c.Index {
			at = x
		}
	}
	if at == nil || c.ID != "" && at.id != "" && c.ID != at.id || c.Index == nil && c.Function.Name != "" && c.ID == "" {
		if len(d.calls) >= maxCalls {
			return upstream.Broken(fmt.Sprintf("the message has more than %d calls", maxCalls))
		}
		at = &call{index: len(d.calls)}
		if c.Index != nil {
			at.index = *c.Index
		}
		d.calls = append(d.calls, at)
	}
	if c.ID != "" {
		at.id = c.ID
	}
	if at.name == "" {
		at.name = c.Function.Name
	}
	at.args.WriteString(argsOf(c.Function.Arguments))
	return nil
}

// argsOf is the text of arguments, which some endpoints send as the object.
func argsOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// textOf reads content that is a string, or parts of which some are thoughts.
func textOf(raw json.RawMessage) (thought, said string) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", ""
	}
	if json.Unmarshal(raw, &said) == nil {
		return "", said
	}
	var parts []struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return "", ""
	}
	for _, p := range parts {
		if p.Type == "thinking" {
			_, inner := textOf(p.Thinking)
			thought += inner
			continue
		}
		said += p.Text
	}
	return thought, said
}

// Close emits the calls, the usage and the reason of the end.
func (d *decoder) Close(emit upstream.Emit) error {
	if d.finish == "" {
		return upstream.Unfinished()
	}
	if err := d.closeThought(emit); err != nil {
		return err
	}
	for i, c := range d.calls {
		args := c.args.String()
		if strings.TrimSpace(args) == "" {
			args = "{}"
		}
		use := model.ToolUse{ID: c.id, Name: c.name, Args: json.RawMessage(args)}
		if use.ID == "" {
			use.ID = fmt.Sprintf("call_%d", i)
		} else {
			use.State = upstream.NewState(d.origin, upstream.CallState{ID: c.id})
		}
		if !emit(model.Chunk{Kind: model.ChunkToolUse, ToolUse: &use}) {
			return upstream.ErrStopped
		}
	}
	// Most count reasoning into the completion, some beside it; the total tells.
	out := max(d.usage.Completion, d.usage.Total-d.usage.Prompt)
	if d.usage != (usage{}) && !emit(model.Chunk{
		Kind: model.ChunkUsage, InputTokens: d.usage.Prompt, OutputTokens: out, CacheReadTokens: d.usage.PromptIn.Cached,
		CacheWriteTokens: d.usage.PromptIn.Written, ReasoningTokens: d.usage.CompletionIn.Reasoning,
	}) {
		return upstream.ErrStopped
	}
	if !emit(model.Chunk{Kind: model.ChunkStop, Stop: d.stop()}) {
		return upstream.ErrStopped
	}
	return nil
}

func (d *decoder) stop() string {
	switch {
	case d.finish == "content_filter" || d.refused:
		return upstream.StopRefusal
	case d.finish == "length":
		return upstream.StopMaxTokens
	case len(d.calls) > 0:
		return upstream.StopToolUse
	}
	return upstream.StopEnd
}
