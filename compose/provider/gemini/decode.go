package gemini

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/looprig/looprig/compose/provider/internal/upstream"
	"github.com/looprig/looprig/harness/model"
)

type answer struct {
	Error      json.RawMessage `json:"error"`
	Candidates []struct {
		Content struct {
			Parts []part `json:"parts"`
		} `json:"content"`
		FinishReason string `json:"finishReason"`
	} `json:"candidates"`
	PromptFeedback struct {
		BlockReason string `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage *usage `json:"usageMetadata"`
}

type usage struct {
	Prompt     int `json:"promptTokenCount"`
	Candidates int `json:"candidatesTokenCount"`
	Thoughts   int `json:"thoughtsTokenCount"`
	Cached     int `json:"cachedContentTokenCount"`
}

type decoder struct {
	origin string
	calls  int
	finish string
	usage  *usage
}

var _ upstream.Decoder = (*decoder)(nil)

// Event takes the data of one event.
func (d *decoder) Event(data []byte, emit upstream.Emit) (bool, error) {
	return false, d.document(data, emit)
}

// Whole takes an answer that is no stream: one document, or a list of them.
func (d *decoder) Whole(data []byte, emit upstream.Emit) error {
	list := []json.RawMessage{data}
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		if err := upstream.Decode(data, &list); err != nil {
			return err
		}
	}
	for _, doc := range list {
		if err := d.document(doc, emit); err != nil {
			return err
		}
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
		d.usage = a.Usage
	}
	if a.PromptFeedback.BlockReason != "" {
		d.finish = a.PromptFeedback.BlockReason
	}
	if len(a.Candidates) == 0 {
		return nil
	}
	for _, p := range a.Candidates[0].Content.Parts {
		if !d.part(p, emit) {
			return upstream.ErrStopped
		}
	}
	if reason := a.Candidates[0].FinishReason; reason != "" {
		d.finish = reason
	}
	return nil
}

func (d *decoder) part(p part, emit upstream.Emit) bool {
	state := upstream.CallState{Signature: p.ThoughtSignature}
	if p.FunctionCall != nil {
		use := model.ToolUse{ID: p.FunctionCall.ID, Name: p.FunctionCall.Name, Args: p.FunctionCall.Args}
		if state.ID = use.ID; use.ID == "" {
			use.ID = fmt.Sprintf("call_%d", d.calls)
		}
		if len(use.Args) == 0 || string(use.Args) == "null" {
			use.Args = json.RawMessage("{}")
		}
		d.calls++
		use.State = upstream.NewState(d.origin, state)
		return emit(model.Chunk{Kind: model.ChunkToolUse, ToolUse: &use})
	}
	c := model.Chunk{Kind: model.ChunkText}
	if p.Thought {
		c.Kind = model.ChunkReasoning
	}
	if p.Text != nil {
		c.Text = *p.Text
	}
	if p.ThoughtSignature != "" {
		c.State = upstream.NewState(d.origin, state)
	}
	return c.Text == "" && c.State == nil || emit(c)
}

// Close emits the usage and the reason of the end.
func (d *decoder) Close(emit upstream.Emit) error {
	stop := upstream.StopEnd
	switch d.finish {
	case "":
		return upstream.Unfinished()
	case "STOP":
		if d.calls > 0 {
			stop = upstream.StopToolUse
		}
	case "MAX_TOKENS":
		stop = upstream.StopMaxTokens
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE", "MISSING_THOUGHT_SIGNATURE":
		return upstream.Broken("the model wrote a call that cannot be read")
	default: // SAFETY, RECITATION, BLOCKLIST, PROHIBITED_CONTENT, SPII, …
		stop = upstream.StopRefusal
	}
	if u := d.usage; u != nil && !emit(model.Chunk{
		Kind: model.ChunkUsage, InputTokens: u.Prompt, OutputTokens: u.Candidates + u.Thoughts,
		CacheReadTokens: u.Cached, ReasoningTokens: u.Thoughts,
	}) {
		return upstream.ErrStopped
	}
	if !emit(model.Chunk{Kind: model.ChunkStop, Stop: stop}) {
		return upstream.ErrStopped
	}
	return nil
}
