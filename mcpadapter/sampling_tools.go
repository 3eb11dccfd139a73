package mcpadapter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/model"
	"github.com/looprig/looprig/internal/safetext"
)

// How a server wants the tools of its request used.
const (
	choiceNone     = "none"
	choiceRequired = "required"
)

// toolUse is a use of a tool as servers read it.
type toolUse struct {
	Type  string          `json:"type"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// toolBlock reads the use of a tool or its result.
func toolBlock(raw json.RawMessage) (b content.Block, ok bool) {
	var in struct {
		Type      string            `json:"type"`
		ID        string            `json:"id"`
		Name      string            `json:"name"`
		Input     json.RawMessage   `json:"input"`
		ToolUseID string            `json:"toolUseId"`
		IsError   bool              `json:"isError"`
		Content   []json.RawMessage `json:"content"`
	}
	if json.Unmarshal(raw, &in) != nil {
		return b, false
	}
	switch in.Type {
	case "tool_use":
		return content.Block{Kind: content.KindToolUse, CallID: in.ID, Name: in.Name, JSON: in.Input}, true
	case "tool_result":
		b = content.Block{Kind: content.KindToolResult, CallID: in.ToolUseID, IsError: in.IsError}
		for _, part := range in.Content {
			inner := mapBlock(part)
			if inner.Kind == content.KindUnknown {
				return b, false
			}
			b.Blocks = append(b.Blocks, inner)
		}
		return b, true
	}
	return b, false
}

// readTools takes the server's tools, unless it says that none is to be used.
func (s *sampling) readTools() error {
	var choice struct {
		Mode string `json:"mode"`
	}
	if s.from.ToolChoice != nil && json.Unmarshal(s.from.ToolChoice, &choice) != nil {
		return fmt.Errorf("its choice of tools is malformed")
	}
	s.choice = choice.Mode
	switch {
	case s.choice == choiceRequired && len(s.tools) == 0:
		return fmt.Errorf("it requires a use of its tools and brings none")
	case s.choice == choiceNone && !s.usedTools():
		s.unused, s.tools = len(s.tools), nil
	}
	for _, raw := range s.tools {
		var t struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			InputSchema json.RawMessage `json:"inputSchema"`
		}
		if json.Unmarshal(raw, &t) != nil || t.Name == "" {
			return fmt.Errorf("one of its tools is malformed")
		}
		s.req.Tools = append(s.req.Tools, model.Tool{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema})
	}
	return nil
}

// usedTools reports whether the messages hold a use of a tool, which model
// servers do not take without the tools.
func (s *sampling) usedTools() bool {
	for _, m := range s.req.Messages {
		for _, b := range m.Blocks {
			if b.Kind == content.KindToolUse {
				return true
			}
		}
	}
	return false
}

// checkUses holds a message to the tools that the server brought. Ids that are
// missing or repeated are replaced: the server answers by them.
func (s *sampling) checkUses(msg *SamplingMessage) error {
	if len(msg.ToolUses) == 0 {
		if s.choice == choiceRequired {
			return fmt.Errorf("the model used none of the tools, one of which the server requires")
		}
		return nil
	}
	if s.choice == choiceNone {
		return fmt.Errorf("the model used a tool, and the server wants none used")
	}
	if limit := s.rt.cfg.Server.Limits.Blocks; len(msg.ToolUses) >= limit {
		return &limitError{"content blocks of the reply", len(msg.ToolUses) + 1, limit, "limits.blocks"}
	}
	brought := map[string]bool{}
	for _, t := range s.req.Tools {
		brought[t.Name] = true
	}
	seen := map[string]bool{}
	uses := make([]model.ToolUse, 0, len(msg.ToolUses))
	for i, u := range msg.ToolUses {
		if !brought[u.Name] {
			return fmt.Errorf("the model used a tool that the server did not bring (%s)", safetext.ToLineN(u.Name, 40))
		}
		args, ok := compactObject(u.Args)
		if !ok {
			return fmt.Errorf("the model used a tool with arguments that are no JSON object")
		}
		for n := i + 1; u.ID == "" || seen[u.ID]; n++ {
			u.ID = fmt.Sprintf("use-%d", n)
		}
		seen[u.ID] = true
		uses = append(uses, model.ToolUse{ID: u.ID, Name: u.Name, Args: args})
	}
	msg.ToolUses = uses
	return nil
}

// compactObject is a JSON object without white space; no arguments are an empty
// one.
func compactObject(raw json.RawMessage) (json.RawMessage, bool) {
	var b bytes.Buffer
	switch {
	case len(raw) == 0:
		return json.RawMessage("{}"), true
	case json.Compact(&b, raw) != nil || b.Bytes()[0] != '{':
		return nil, false
	}
	return b.Bytes(), true
}

// size is how many bytes of text a message holds.
func (m *SamplingMessage) size() int {
	n := len(m.Text)
	for _, u := range m.ToolUses {
		n += len(u.Name) + len(u.Args)
	}
	return n
}

// shown is a message as a person approves it: the text, and each use of a tool
// on a line of its own.
func (m *SamplingMessage) shown() string {
	parts := []string{}
	if m.Text != "" {
		parts = append(parts, m.Text)
	}
	for _, u := range m.ToolUses {
		parts = append(parts, "[uses the server's tool "+u.Name+" with "+string(u.Args)+"]")
	}
	return strings.Join(parts, "\n")
}
