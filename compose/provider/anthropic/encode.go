package anthropic

import (
	"encoding/base64"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/looprig/looprig/compose/provider/internal/upstream"
	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/model"
)

// thoughtState is what is kept with a block of reasoning.
type thoughtState struct {
	Signature string `json:"signature,omitempty"`
	Redacted  string `json:"redacted,omitempty"`
}

// encode makes the parameters of a request, and options for what must not go
// through the SDK's own fields.
func encode(cfg upstream.Config, rules upstream.ToolRules, req model.Request) (sdk.MessageNewParams, []option.RequestOption, error) {
	schemas, err := rules.Tools(req.Tools)
	if err != nil {
		return sdk.MessageNewParams{}, nil, err
	}
	p := sdk.MessageNewParams{
		Model:         sdk.Model(cfg.Model),
		MaxTokens:     int64(cfg.Limit(req.MaxTokens, upstream.DefaultMaxTokens+cfg.ThinkingTokens)),
		StopSequences: req.StopSequences,
	}
	if req.System != "" {
		p.System = []sdk.TextBlockParam{{Text: req.System}}
	}
	for i, t := range req.Tools {
		tool := sdk.ToolParam{Name: t.Name, InputSchema: param.Override[sdk.ToolInputSchemaParam](schemas[i])}
		if t.Description != "" {
			tool.Description = param.NewOpt(t.Description)
		}
		p.Tools = append(p.Tools, sdk.ToolUnionParam{OfTool: &tool})
	}
	w := writer{cfg: cfg, ids: upstream.NewIDs(cfg.Origin())}
	for _, m := range upstream.Paired(req.Messages) {
		blocks := w.blocks(m)
		switch {
		case len(blocks) == 0:
		case m.Role == content.RoleAssistant:
			p.Messages = append(p.Messages, sdk.NewAssistantMessage(blocks...))
		default:
			p.Messages = append(p.Messages, sdk.NewUserMessage(blocks...))
		}
	}
	return p, options(cfg, req), nil
}

// options are set on the body itself: with the SDK's fields for thinking it
// writes warnings to stderr, which belongs to the interface.
func options(cfg upstream.Config, req model.Request) []option.RequestOption {
	var out []option.RequestOption
	switch {
	case req.Temperature != nil: // which thinking does not go with
		return append(out, option.WithJSONSet("temperature", *req.Temperature))
	case cfg.ThinkingTokens > 0:
		out = append(out, option.WithJSONSet("thinking", map[string]any{"type": "enabled", "budget_tokens": cfg.ThinkingTokens}))
	case cfg.Effort != "":
		out = append(out,
			option.WithJSONSet("thinking", map[string]any{"type": "adaptive"}),
			option.WithJSONSet("output_config", map[string]any{"effort": cfg.Effort}))
	}
	return out
}

// writer goes through a history once, from its beginning.
type writer struct {
	cfg upstream.Config
	ids *upstream.IDs
}

func (w *writer) blocks(m content.Message) []sdk.ContentBlockParamUnion {
	var out []sdk.ContentBlockParamUnion
	switch m.Role {
	case content.RoleAssistant:
		return w.assistant(m.Blocks)
	case content.RoleTool:
		for _, b := range m.Blocks {
			out = append(out, w.result(b))
		}
		return out
	case content.RoleUser:
	}
	for _, p := range upstream.Parts(m.Blocks, !w.cfg.NoImages) {
		if p.Data != nil {
			out = append(out, sdk.NewImageBlockBase64(p.MIME, base64.StdEncoding.EncodeToString(p.Data)))
			continue
		}
		out = append(out, sdk.NewTextBlock(p.Text))
	}
	return out
}

// assistant gives the model its own message back. Thinking without a signature
// of this very model does not go back: the endpoint would refuse it.
func (w *writer) assistant(blocks []content.Block) []sdk.ContentBlockParamUnion {
	var out []sdk.ContentBlockParamUnion
	for _, b := range blocks {
		switch b.Kind {
		case content.KindReasoning:
			var s thoughtState
			switch own := upstream.StateOf(b, w.cfg.Origin(), &s); {
			case own && s.Redacted != "":
				out = append(out, sdk.NewRedactedThinkingBlock(s.Redacted))
			case own && s.Signature != "":
				out = append(out, sdk.NewThinkingBlock(s.Signature, b.Text))
			}
		case content.KindText:
			if b.Text != "" {
				out = append(out, sdk.NewTextBlock(b.Text))
			}
		case content.KindToolUse:
			id, _ := w.ids.Use(b)
			out = append(out, sdk.NewToolUseBlock(id, upstream.Arguments(b), b.Name))
		case content.KindImage, content.KindAudio, content.KindResource, content.KindResourceLink,
			content.KindToolResult, content.KindStructured, content.KindUnknown:
		}
	}
	return out
}

func (w *writer) result(b content.Block) sdk.ContentBlockParamUnion {
	r := sdk.ToolResultBlockParam{ToolUseID: w.ids.Result(b)}
	if b.IsError {
		r.IsError = param.NewOpt(true)
	}
	for _, p := range upstream.Parts(b.Blocks, !w.cfg.NoImages) {
		if p.Data != nil {
			image := sdk.NewImageBlockBase64(p.MIME, base64.StdEncoding.EncodeToString(p.Data)).OfImage
			r.Content = append(r.Content, sdk.ToolResultBlockParamContentUnion{OfImage: image})
			continue
		}
		r.Content = append(r.Content, sdk.ToolResultBlockParamContentUnion{OfText: &sdk.TextBlockParam{Text: p.Text}})
	}
	if len(r.Content) == 0 {
		r.Content = []sdk.ToolResultBlockParamContentUnion{{OfText: &sdk.TextBlockParam{Text: upstream.NoOutput}}}
	}
	return sdk.ContentBlockParamUnion{OfToolResult: &r}
}
