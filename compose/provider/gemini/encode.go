package gemini

import (
	"encoding/json"
	"strings"

	"github.com/looprig/looprig/compose/provider/internal/upstream"
	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/model"
)

// noSignature is what Google documents for calls that another model made: newer
// models refuse a call without a signature.
const noSignature = "skip_thought_signature_validator"

type request struct {
	Contents          []turn    `json:"contents"`
	SystemInstruction *turn     `json:"systemInstruction,omitempty"`
	Tools             []toolSet `json:"tools,omitempty"`
	GenerationConfig  *settings `json:"generationConfig,omitempty"`
}

type turn struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts"`
}

type part struct {
	Text             *string           `json:"text,omitempty"`
	InlineData       *inlineData       `json:"inlineData,omitempty"`
	FunctionCall     *functionCall     `json:"functionCall,omitempty"`
	FunctionResponse *functionResponse `json:"functionResponse,omitempty"`
	ThoughtSignature string            `json:"thoughtSignature,omitempty"`
	Thought          bool              `json:"thought,omitempty"`
}

type inlineData struct {
	MIMEType string `json:"mimeType"`
	Data     []byte `json:"data"`
}

type functionCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

type functionResponse struct {
	ID       string            `json:"id,omitempty"`
	Name     string            `json:"name"`
	Response map[string]string `json:"response"`
}

type toolSet struct {
	FunctionDeclarations []declaration `json:"functionDeclarations"`
}

type declaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parametersJsonSchema"`
}

type settings struct {
	MaxOutputTokens int       `json:"maxOutputTokens,omitempty"`
	Temperature     *float64  `json:"temperature,omitempty"`
	StopSequences   []string  `json:"stopSequences,omitempty"`
	ThinkingConfig  *thinking `json:"thinkingConfig,omitempty"`
}

type thinking struct {
	IncludeThoughts bool   `json:"includeThoughts"`
	ThinkingLevel   string `json:"thinkingLevel,omitempty"`
	ThinkingBudget  int    `json:"thinkingBudget,omitempty"`
}

// encode makes the body of a request.
func encode(cfg upstream.Config, rules upstream.ToolRules, req model.Request) ([]byte, error) {
	schemas, err := rules.Tools(req.Tools)
	if err != nil {
		return nil, err
	}
	out := request{GenerationConfig: settingsOf(cfg, req)}
	if req.System != "" {
		out.SystemInstruction = &turn{"user", []part{{Text: &req.System}}}
	}
	var set toolSet
	for i, t := range req.Tools {
		set.FunctionDeclarations = append(set.FunctionDeclarations, declaration{t.Name, t.Description, schemas[i]})
	}
	if len(req.Tools) > 0 {
		out.Tools = []toolSet{set}
	}
	w := writer{cfg: cfg, ids: upstream.NewIDs(cfg.Origin())}
	for _, m := range upstream.Paired(req.Messages) {
		if t := w.turn(m); len(t.Parts) > 0 {
			out.Contents = append(out.Contents, t)
		}
	}
	body, err := json.Marshal(out)
	if err != nil {
		return nil, &model.Error{Code: "invalid_request", Message: "the request cannot be encoded", Err: err}
	}
	return body, nil
}

func settingsOf(cfg upstream.Config, req model.Request) *settings {
	s := settings{MaxOutputTokens: cfg.Limit(req.MaxTokens, 0), Temperature: req.Temperature, StopSequences: req.StopSequences}
	if cfg.Effort != "" || cfg.ThinkingTokens > 0 {
		s.ThinkingConfig = &thinking{true, strings.ToUpper(cfg.Effort), cfg.ThinkingTokens}
	}
	if s.MaxOutputTokens == 0 && s.Temperature == nil && s.StopSequences == nil && s.ThinkingConfig == nil {
		return nil
	}
	return &s
}

// writer goes through a history once, from its beginning.
type writer struct {
	cfg upstream.Config
	ids *upstream.IDs
}

func (w *writer) turn(m content.Message) turn {
	switch m.Role {
	case content.RoleAssistant:
		return turn{"model", w.assistant(m.Blocks)}
	case content.RoleTool:
		return turn{"user", w.results(m.Blocks)}
	case content.RoleUser:
	}
	return turn{"user", partsOf(upstream.Parts(m.Blocks, !w.cfg.NoImages))}
}

// assistant gives the model its own message back, with its signatures. Its
// thoughts do not go back: the signatures stand for them.
func (w *writer) assistant(blocks []content.Block) []part {
	var out []part
	calls := 0
	for _, b := range blocks {
		var s upstream.CallState
		own := upstream.StateOf(b, w.cfg.Origin(), &s)
		switch b.Kind {
		case content.KindText:
			if b.Text != "" || s.Signature != "" {
				out = append(out, part{Text: &b.Text, ThoughtSignature: s.Signature})
			}
		case content.KindToolUse:
			id, _ := w.ids.Use(b)
			if !own && calls == 0 && strings.HasPrefix(upstream.Bare(w.cfg.Model), "gemini-3") {
				s.Signature = noSignature
			}
			calls++
			out = append(out, part{
				FunctionCall:     &functionCall{id, b.Name, upstream.Arguments(b)},
				ThoughtSignature: s.Signature,
			})
		case content.KindReasoning, content.KindImage, content.KindAudio, content.KindResource, content.KindResourceLink,
			content.KindToolResult, content.KindStructured, content.KindUnknown:
		}
	}
	return out
}

// results answers the calls of one message in one turn; images stand behind the
// answers, in the same turn.
func (w *writer) results(blocks []content.Block) []part {
	var out, images []part
	for _, b := range blocks {
		key := "result"
		if b.IsError {
			key = "error"
		}
		var text []upstream.Part
		for _, p := range upstream.Parts(b.Blocks, !w.cfg.NoImages) {
			if p.Data != nil {
				text = append(text, upstream.Part{Text: "[image, shown behind the results]"})
				images = append(images, partsOf([]upstream.Part{{Text: "[image in the result of " + b.Name + "]"}, p})...)
				continue
			}
			text = append(text, p)
		}
		said := upstream.JoinText(text)
		if said == "" {
			said = upstream.NoOutput
		}
		out = append(out, part{FunctionResponse: &functionResponse{w.ids.Result(b), b.Name, map[string]string{key: said}}})
	}
	return append(out, images...)
}

func partsOf(parts []upstream.Part) []part {
	var out []part
	for _, p := range parts {
		if p.Data != nil {
			out = append(out, part{InlineData: &inlineData{p.MIME, p.Data}})
			continue
		}
		out = append(out, part{Text: &p.Text})
	}
	return out
}
