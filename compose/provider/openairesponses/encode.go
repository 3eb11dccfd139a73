package openairesponses

import (
	"encoding/base64"
	"encoding/json"

	"github.com/looprig/looprig/compose/provider/internal/upstream"
	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/model"
)

type request struct {
	Model           string     `json:"model"`
	Input           []any      `json:"input"`
	Tools           []tool     `json:"tools,omitempty"`
	MaxOutputTokens int        `json:"max_output_tokens,omitempty"`
	Temperature     *float64   `json:"temperature,omitempty"`
	Reasoning       *reasoning `json:"reasoning,omitempty"`
	Include         []string   `json:"include,omitempty"`
	Store           bool       `json:"store"`
	Stream          bool       `json:"stream,omitempty"`
}

type reasoning struct {
	Effort  string `json:"effort,omitempty"`
	Summary string `json:"summary,omitempty"`
}

type tool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	// Strict is always said: the format's own default rewrites schemas.
	Strict bool `json:"strict"`
}

// message is an item of the input that somebody says.
type message struct {
	Role string `json:"role"`
	// Content is a string or a list of parts.
	Content any `json:"content"`
}

type part struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
}

type functionCall struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type functionOutput struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	// Output is a string or a list of parts.
	Output any `json:"output"`
}

// encode makes the body of a request.
func encode(cfg upstream.Config, rules upstream.ToolRules, req model.Request) ([]byte, error) {
	if len(req.StopSequences) > 0 {
		return nil, &model.Error{Code: "invalid_request", Message: "the Responses format has no stop sequences"}
	}
	schemas, err := rules.Tools(req.Tools)
	if err != nil {
		return nil, err
	}
	out := request{
		Model: cfg.Model, Temperature: req.Temperature, MaxOutputTokens: cfg.Limit(req.MaxTokens, 0), Stream: !cfg.NoStream,
	}
	system := "system"
	if upstream.Reasons(cfg.Model) {
		system, out.Include = "developer", []string{"reasoning.encrypted_content"}
		out.Temperature = nil // such models take none
		if cfg.Effort != "" {
			out.Reasoning = &reasoning{Effort: cfg.Effort, Summary: "auto"}
		}
	}
	for i, t := range req.Tools {
		out.Tools = append(out.Tools, tool{Type: "function", Name: t.Name, Description: t.Description, Parameters: schemas[i]})
	}
	if req.System != "" {
		out.Input = append(out.Input, message{system, req.System})
	}
	w := writer{cfg: cfg, ids: upstream.NewIDs(cfg.Origin())}
	for _, m := range upstream.Paired(req.Messages) {
		out.Input = append(out.Input, w.items(m)...)
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

func (w *writer) items(m content.Message) []any {
	switch m.Role {
	case content.RoleAssistant:
		return w.assistant(m.Blocks)
	case content.RoleTool:
		var out []any
		for _, b := range m.Blocks {
			out = append(out, functionOutput{"function_call_output", w.ids.Result(b), w.output(b)})
		}
		return out
	case content.RoleUser:
	}
	parts := partsOf(upstream.Parts(m.Blocks, !w.cfg.NoImages))
	if len(parts) == 0 {
		return nil
	}
	return []any{message{"user", parts}}
}

// assistant gives the model its own message back, item by item. Reasoning goes
// back only where it came encrypted: nothing else can be read without what the
// endpoint stored, and it stores nothing.
func (w *writer) assistant(blocks []content.Block) []any {
	var out []any
	for _, b := range blocks {
		switch b.Kind {
		case content.KindReasoning:
			var item json.RawMessage
			if upstream.StateOf(b, w.cfg.Origin(), &item) {
				out = append(out, item)
			}
		case content.KindText:
			if b.Text != "" {
				out = append(out, message{"assistant", []part{{Type: "output_text", Text: b.Text}}})
			}
		case content.KindToolUse:
			id, _ := w.ids.Use(b)
			args := string(b.JSON)
			if args == "" {
				args = "{}"
			}
			out = append(out, functionCall{"function_call", id, b.Name, args})
		case content.KindImage, content.KindAudio, content.KindResource, content.KindResourceLink,
			content.KindToolResult, content.KindStructured, content.KindUnknown:
		}
	}
	return out
}

func (w *writer) output(b content.Block) any {
	parts := upstream.Parts(b.Blocks, !w.cfg.NoImages)
	said := upstream.JoinText(parts)
	if b.IsError {
		said = "Error: " + said
	}
	for _, p := range parts {
		if p.Data != nil {
			return partsOf(parts)
		}
	}
	if said == "" {
		return upstream.NoOutput
	}
	return said
}

func partsOf(parts []upstream.Part) []part {
	var out []part
	for _, p := range parts {
		if p.Data != nil {
			out = append(out, part{Type: "input_image", ImageURL: "data:" + p.MIME + ";base64," + base64.StdEncoding.EncodeToString(p.Data)})
			continue
		}
		out = append(out, part{Type: "input_text", Text: p.Text})
	}
	return out
}
