package headless

import (
	"encoding/json"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/harness/session"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/mcpadapter/client"
)

// Result is what expectations see of a step.
type Result struct {
	Text       string                `json:"text"`
	Outcome    tool.Outcome          `json:"outcome"`
	Reason     string                `json:"reason,omitempty"`
	IsError    bool                  `json:"is_error"`
	Content    []content.Block       `json:"content"`
	Structured json.RawMessage       `json:"structured"`
	Tools      []ToolResult          `json:"tools"`
	Gates      []GateResult          `json:"gates"`
	Notices    []NoticeResult        `json:"notices"`
	Bindings   []integration.Binding `json:"bindings"`
	Coverage   *event.Coverage       `json:"coverage,omitempty"`
	// Messages and Description are a prompt's; Value is the whole of what read
	// and prompt got, as it was received.
	Messages    []content.Message `json:"messages,omitempty"`
	Description string            `json:"description,omitempty"`
	Value       json.RawMessage   `json:"value,omitempty"`
	// Steps are the results of the steps of a parallel one, in their order.
	Steps      []*Result `json:"steps,omitempty"`
	DurationMS int64     `json:"duration_ms"`

	turnCode string
	class    client.Class // of a request that failed
	// integrity says that what a change would have started is not what was
	// accepted.
	integrity bool
}

// ToolResult is one call of a turn.
type ToolResult struct {
	Name       string          `json:"name"` // model-facing
	Tool       string          `json:"tool"` // identity
	Outcome    tool.Outcome    `json:"outcome"`
	Reason     string          `json:"reason,omitempty"`
	Text       string          `json:"text"`
	Structured json.RawMessage `json:"structured"`
	Args       json.RawMessage `json:"args"`
	Sent       bool            `json:"sent"`
	Rule       string          `json:"rule,omitempty"`
}

// GateResult is one gate that closed during a step.
type GateResult struct {
	Gate    string           `json:"gate"`
	Kind    gate.Kind        `json:"kind"`
	Binding string           `json:"binding,omitempty"`
	Action  gate.Action      `json:"action"`
	Reason  gate.CloseReason `json:"reason"`
	Detail  string           `json:"detail,omitempty"`
}

// NoticeResult is one notice that came during a step.
type NoticeResult struct {
	Binding string `json:"binding,omitempty"`
	Code    string `json:"code"`
	Level   string `json:"level"`
	Text    string `json:"text"`
}

// FromTurn makes the result of a turn: that of its call for an operator's
// call, else that of the whole turn.
func FromTurn(t session.TurnResult, operatorCall bool) *Result {
	res := &Result{Text: t.Text, Outcome: tool.OK, Content: []content.Block{}, Tools: []ToolResult{},
		Gates: []GateResult{}, Notices: []NoticeResult{}, Bindings: []integration.Binding{}, DurationMS: t.Duration.Milliseconds()}
	for _, c := range t.Calls {
		res.Tools = append(res.Tools, ToolResult{
			Name: c.ModelName, Tool: c.Tool.String(), Outcome: c.Outcome, Reason: c.Reason, Text: c.Text(),
			Structured: c.Structured, Args: c.Args, Sent: c.Sent, Rule: c.Decision.Rule,
		})
	}
	switch {
	case operatorCall && len(t.Calls) == 1:
		c := t.Calls[0]
		res.Outcome, res.Reason, res.Content, res.Structured = c.Outcome, c.Reason, c.Content, c.Structured
		res.Text, res.class = c.Text(), client.Class(c.Class)
		if res.Content == nil {
			res.Content = []content.Block{}
		}
	case t.Outcome == session.TurnInterrupted:
		res.Outcome, res.Reason = tool.Cancelled, "the turn was interrupted"
	case t.Outcome == session.TurnFailed:
		res.Outcome, res.Reason, res.turnCode = tool.Failed, t.Code+": "+t.Reason, t.Code
	}
	res.IsError = res.Outcome != tool.OK
	return res
}
