package openaichat

import (
	"encoding/base64"
	"encoding/json"

	"github.com/looprig/looprig/compose/provider/internal/upstream"
	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/model"
)

type request struct {
	Model               string         `json:"model"`
	Messages            []message      `json:"messages"`
	Tools               []tool         `json:"tools,omitempty"`
	MaxTokens           int            `json:"max_tokens,omitempty"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
	Temperature         *float64       `json:"temperature,omitempty"`
	Stop                []string       `json:"stop,omitempty"`
	ReasoningEffort     string         `json:"reasoning_effort,omitempty"`
	Stream              bool           `json:"stream,omitempty"`
	StreamOptions       *streamOptions `json:"stream_options,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type message struct {
	Role string `json:"role"`
	// Content is a string or a list of parts.
	Content          any               `json:"content,omitempty"`
	ToolCalls        []toolCall        `json:"tool_calls,omitempty"`
	ToolCallID       string            `json:"tool_call_id,omitempty"`
	ReasoningContent string            `json:"reasoning_content,omitempty"`
	Reasoning        string            `json:"reasoning,omitempty"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details,omitempty"`
}

type toolCall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type tool struct {
	Type     string      `json:"type"`
	Function declaration `json:"function"`
}

type declaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

type part struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	ImageURL *imageURL `json:"image_url,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

// encode makes the body of a request.
func encode(cfg upstream.Config, rules upstream.ToolRules, req model.Request) ([]byte, error) {
	schemas, err := rules.Tools(req.Tools)
	if err != nil {
		return nil, err
	}
	out := request{
		Model: cfg.Model, Temperature: req.Temperature, Stop: req.StopSequences,
		ReasoningEffort: cfg.Effort, Stream: !cfg.NoStream,
	}
	if limit := cfg.Limit(req.MaxTokens, 0); upstream.Reasons(cfg.Model) {
		out.MaxCompletionTokens, out.Temperature = limit, nil // such models take none
	} else {
		out.MaxTokens = limit
	}
	if out.Stream {
		out.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	for i, t := range req.Tools {
		out.Tools = append(out.Tools, tool{"function", declaration{t.Name, t.Description, schemas[i]}})
	}
	if req.System != "" {
		out.Messages = append(out.Messages, message{Role: "system", Content: req.System})
	}
	w := writer{cfg: cfg, ids: upstream.NewIDs(cfg.Origin())}
	for _, m := range upstream.Paired(req.Messages) {
		out.Messages = append(out.Messages, w.message(m)...)
	}
	body, err := json.Marshal(out)
	if err != nil {
		return nil, &model.Error{Code: "invalid_request", Message: "the request cannot be encoded", Err: err}
	}
	return body, nil
}

// writer goes through a history once, from its beginning.
type writer struct {
	cfg upstream.Config
	ids *upstream.IDs
}

func (w *writer) message(m content.Message) []message {
	switch m.Role {
	case content.RoleAssistant:
		return w.assistant(m.Blocks)
	case content.RoleTool:
		return w.results(m.Blocks)
	case content.RoleUser:
	}
	parts := upstream.Parts(m.Blocks, !w.cfg.NoImages)
	if len(parts) == 0 {
		return nil
	}
	return []message{{Role: "user", Content: contentOf(parts)}}
}

// assistant gives the model its own message back, its reasoning under the name
// that the endpoint gave it.
func (w *writer) assistant(blocks []content.Block) []message {
	m := message{Role: "assistant"}
	if text := content.PlainText(blocks); text != "" {
		m.Content = text
	}
	for _, b := range blocks {
		switch b.Kind {
		case content.KindReasoning:
			var s reasoningState
			if upstream.StateOf(b, w.cfg.Origin(), &s) {
				s.into(&m, b.Text)
			}
		case content.KindToolUse:
			id, _ := w.ids.Use(b)
			args := string(b.JSON)
			if args == "" {
				args = "{}"
			}
			m.ToolCalls = append(m.ToolCalls, toolCall{id, "function", function{b.Name, args}})
		case content.KindText, content.KindImage, content.KindAudio, content.KindResource, content.KindResourceLink,
			content.KindToolResult, content.KindStructured, content.KindUnknown:
		}
	}
	if m.Content == nil && len(m.ToolCalls) == 0 {
		return nil
	}
	return []message{m}
}

// results are messages of their own. The format has no place for an image in
// them, so images follow in a message of the user that says where they are from.
func (w *writer) results(blocks []content.Block) []message {
	var out []message
	var images []part
	for _, b := range blocks {
		id := w.ids.Result(b)
		var text []upstream.Part
		for _, p := range upstream.Parts(b.Blocks, !w.cfg.NoImages) {
			if p.Data == nil {
				text = append(text, p)
				continue
			}
			text = append(text, upstream.Part{Text: "[image, shown in the message after the results]"})
			images = append(images, part{Type: "text", Text: "[image in the result of call " + id + "]"}, picture(p))
		}
		said := upstream.JoinText(text)
		if said == "" {
			said = upstream.NoOutput
		}
		if b.IsError {
			said = "Error: " + said
		}
		out = append(out, message{Role: "tool", ToolCallID: id, Content: said})
	}
	if len(images) > 0 {
		out = append(out, message{Role: "user", Content: images})
	}
	return out
}

func contentOf(parts []upstream.Part) any {
	var out []part
	text := true
	for _, p := range parts {
		if p.Data != nil {
			text = false
			out = append(out, picture(p))
			continue
		}
		out = append(out, part{Type: "text", Text: p.Text})
	}
	if text {
		return upstream.JoinText(parts)
	}
	return out
}

func picture(p upstream.Part) part {
	return part{Type: "image_url", ImageURL: &imageURL{"data:" + p.MIME + ";base64," + base64.StdEncoding.EncodeToString(p.Data)}}
}
