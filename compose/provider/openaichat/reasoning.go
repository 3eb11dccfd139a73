package openaichat

import (
	"encoding/json"
)

// The names under which endpoints give reasoning and want it back.
const (
	fieldContent = "reasoning_content"
	fieldPlain   = "reasoning"
	fieldDetails = "reasoning_details"
)

// reasoningState is what is kept with a block of reasoning.
type reasoningState struct {
	Field string `json:"field"`
	// Details are the parts of reasoning_details, pieces of one part joined.
	Details []json.RawMessage `json:"details,omitempty"`
}

func (s reasoningState) into(m *message, text string) {
	switch s.Field {
	case fieldContent:
		m.ReasoningContent += text
	case fieldPlain:
		m.Reasoning += text
	case fieldDetails:
		m.ReasoningDetails = append(m.ReasoningDetails, s.Details...)
	}
}

// reasoning gathers what a message reasons.
type reasoning struct {
	field   string
	pending bool
	details []map[string]any
}

// add takes a piece and returns its text. Several names may carry the same text;
// the first of them that is set counts.
func (r *reasoning) add(m *delta, thought string) string {
	var plain string
	if json.Unmarshal(m.Reasoning, &plain) != nil {
		plain = "" // an object, as in another format
	}
	text := plain
	switch {
	case m.ReasoningContent != "":
		r.field, text = fieldContent, m.ReasoningContent
	case thought != "":
		text = thought
	case plain != "" && r.field == "":
		r.field = fieldPlain
	}
	for _, raw := range m.ReasoningDetails {
		var d map[string]any
		if json.Unmarshal(raw, &d) != nil {
			continue
		}
		r.detail(d)
		r.pending = true
		if r.field != fieldContent {
			r.field = fieldDetails
		}
	}
	if text == "" && r.field == fieldDetails {
		text = detailText(m.ReasoningDetails)
	}
	r.pending = r.pending || text != ""
	return text
}

// detailText is the text of details that came without any other spelling.
func detailText(details []json.RawMessage) string {
	var out string
	for _, raw := range details {
		var d struct{ Text, Summary string }
		if json.Unmarshal(raw, &d) == nil {
			out += d.Text + d.Summary
		}
	}
	return out
}

// detail joins a piece to the part that it continues.
func (r *reasoning) detail(d map[string]any) {
	if n := len(r.details); n > 0 {
		last := r.details[n-1]
		if last["type"] == d["type"] && last["index"] == d["index"] && compatible(last["id"], d["id"]) {
			for k, v := range d {
				piece, isText := v.(string)
				before, had := last[k].(string)
				grows := k == "text" || k == "summary" || k == "data"
				switch {
				case isText && had && grows:
					last[k] = before + piece
				case v != nil || last[k] == nil:
					last[k] = v
				}
			}
			return
		}
	}
	r.details = append(r.details, d)
}

func compatible(a, b any) bool { return a == nil || b == nil || a == b }

// take ends a block of reasoning and returns what is to be kept of it, nil where
// there was none.
func (r *reasoning) take() *reasoningState {
	if !r.pending || r.field == "" {
		r.pending = false
		return nil
	}
	s := &reasoningState{Field: r.field}
	if r.field == fieldDetails {
		for _, d := range r.details {
			if raw, err := json.Marshal(d); err == nil {
				s.Details = append(s.Details, raw)
			}
		}
	}
	r.pending, r.details = false, nil
	return s
}
