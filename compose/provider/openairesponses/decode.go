package openairesponses

import (
	"encoding/json"
	"strings"

	"github.com/looprig/looprig/compose/provider/internal/upstream"
	"github.com/looprig/looprig/harness/model"
)

type event struct {
	Type     string          `json:"type"`
	Delta    string          `json:"delta"`
	Item     json.RawMessage `json:"item"`
	Response *response       `json:"response"`
}

type response struct {
	Status     string            `json:"status"`
	Error      json.RawMessage   `json:"error"`
	Output     []json.RawMessage `json:"output"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Usage *struct {
		Input   int `json:"input_tokens"`
		Output  int `json:"output_tokens"`
		InputIn struct {
			Cached int `json:"cached_tokens"`
		} `json:"input_tokens_details"`
		OutputIn struct {
			Reasoning int `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	} `json:"usage"`
}

type item struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Encrypted string `json:"encrypted_content"`
	Summary   []struct {
		Text string `json:"text"`
	} `json:"summary"`
	Content []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	} `json:"content"`
}

type decoder struct {
	origin  string
	calls   int
	refused bool
	// text and thought say that the item under way was shown by its deltas.
	text, thought bool
	ended         bool
}

var _ upstream.Decoder = (*decoder)(nil)

// Event takes the data of one event.
func (d *decoder) Event(data []byte, emit upstream.Emit) (bool, error) {
	if strings.TrimSpace(string(data)) == "[DONE]" {
		return true, d.Close(emit)
	}
	var e event
	if err := upstream.Decode(data, &e); err != nil {
		return false, err
	}
	switch e.Type {
	case "response.output_text.delta":
		d.text = true
		return false, say(emit, model.ChunkText, e.Delta)
	case "response.refusal.delta":
		d.text, d.refused = true, true
		return false, say(emit, model.ChunkText, e.Delta)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		d.thought = true
		return false, say(emit, model.ChunkReasoning, e.Delta)
	case "response.reasoning_summary_part.added":
		if d.thought {
			return false, say(emit, model.ChunkReasoning, "\n\n")
		}
	case "response.output_item.done":
		return false, d.item(e.Item, emit)
	case "response.completed", "response.incomplete", "response.failed":
		if e.Response == nil {
			return false, upstream.Broken("the answer ends without its last part")
		}
		return true, d.end(*e.Response, emit)
	case "error":
		return false, upstream.ParseComplaint(data).Failure(0, nil)
	}
	return false, nil
}

// Whole takes an answer that is no stream.
func (d *decoder) Whole(data []byte, emit upstream.Emit) error {
	var r response
	if err := upstream.Decode(data, &r); err != nil {
		return err
	}
	for _, raw := range r.Output {
		if err := d.item(raw, emit); err != nil {
			return err
		}
	}
	return d.end(r, emit)
}

// Close is the end of a stream that did not say how it ended.
func (d *decoder) Close(upstream.Emit) error {
	if d.ended {
		return nil
	}
	return upstream.Unfinished()
}

func say(emit upstream.Emit, kind model.ChunkKind, text string) error {
	if text != "" && !emit(model.Chunk{Kind: kind, Text: text}) {
		return upstream.ErrStopped
	}
	return nil
}

// item takes a whole item; its text only where no delta showed it.
func (d *decoder) item(raw json.RawMessage, emit upstream.Emit) error {
	var it item
	if err := upstream.Decode(raw, &it); err != nil {
		return err
	}
	shown, thought := d.text, d.thought
	d.text, d.thought = false, false
	switch it.Type {
	case "message":
		for _, c := range it.Content {
			d.refused = d.refused || c.Refusal != ""
			if shown {
				continue
			}
			if err := say(emit, model.ChunkText, c.Text+c.Refusal); err != nil {
				return err
			}
		}
	case "reasoning":
		return d.reasoned(raw, it, thought, emit)
	case "function_call":
		d.calls++
		args := it.Arguments
		if strings.TrimSpace(args) == "" {
			args = "{}"
		}
		use := model.ToolUse{
			ID: it.CallID, Name: it.Name, Args: json.RawMessage(args),
			State: upstream.NewState(d.origin, upstream.CallState{ID: it.CallID}),
		}
		if !emit(model.Chunk{Kind: model.ChunkToolUse, ToolUse: &use}) {
			return upstream.ErrStopped
		}
	}
	return nil
}

// reasoned ends a block of reasoning. An encrypted item is kept whole, less its
// status, which the endpoint does not take back.
func (d *decoder) reasoned(raw json.RawMessage, it item, shown bool, emit upstream.Emit) error {
	if !shown {
		var parts []string
		for _, s := range it.Summary {
			parts = append(parts, s.Text)
		}
		for _, c := range it.Content {
			parts = append(parts, c.Text)
		}
		if err := say(emit, model.ChunkReasoning, strings.Join(parts, "\n\n")); err != nil {
			return err
		}
	}
	if it.Encrypted == "" {
		return nil
	}
	var kept map[string]json.RawMessage
	if err := upstream.Decode(raw, &kept); err != nil {
		return err
	}
	delete(kept, "status")
	if string(kept["content"]) == "null" || string(kept["content"]) == "[]" {
		delete(kept, "content")
	}
	if !emit(model.Chunk{Kind: model.ChunkReasoning, State: upstream.NewState(d.origin, kept)}) {
		return upstream.ErrStopped
	}
	return nil
}

func (d *decoder) end(r response, emit upstream.Emit) error {
	d.ended = true
	if r.Status == "failed" || len(r.Error) > 0 && string(r.Error) != "null" {
		said := upstream.ParseComplaint([]byte(`{"error":` + string(r.Error) + `}`))
		return said.Failure(0, nil)
	}
	if r.Status != "completed" && r.Status != "incomplete" {
		return upstream.Unfinished()
	}
	if u := r.Usage; u != nil && !emit(model.Chunk{
		Kind: model.ChunkUsage, InputTokens: u.Input, OutputTokens: u.Output,
		CacheReadTokens: u.InputIn.Cached, ReasoningTokens: u.OutputIn.Reasoning,
	}) {
		return upstream.ErrStopped
	}
	stop := upstream.StopEnd
	switch {
	case r.Incomplete.Reason == "content_filter" || d.refused:
		stop = upstream.StopRefusal
	case r.Status == "incomplete":
		stop = upstream.StopMaxTokens
	case d.calls > 0:
		stop = upstream.StopToolUse
	}
	if !emit(model.Chunk{Kind: model.ChunkStop, Stop: stop}) {
		return upstream.ErrStopped
	}
	return nil
}
