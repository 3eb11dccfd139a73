package session

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/internal/safetext"
)

// ToolAskUser is the built-in tool by which a model asks the operator.
const ToolAskUser = "ask_user"

// asker is the handler of ToolAskUser on one loop.
type asker struct{ l *loop }

var _ tool.Handler = (*asker)(nil)

type askArgs struct {
	Question string   `json:"question"`
	Choices  []string `json:"choices,omitempty"`
	Multiple bool     `json:"multiple,omitempty"`
}

func askUserTool(l *loop) tool.Definition {
	schema := map[string]any{
		"type": "object", "required": []string{"question"}, "additionalProperties": false,
		"properties": map[string]any{
			"question": map[string]any{"type": "string", "minLength": 1, "maxLength": gate.MaxQuestionBytes},
			"choices": map[string]any{
				"type": "array", "minItems": 2, "maxItems": gate.MaxChoices, "uniqueItems": true,
				"items":       map[string]any{"type": "string", "minLength": 1, "maxLength": gate.MaxChoiceBytes},
				"description": "without any, the answer is free text",
			},
			"multiple": map[string]any{"type": "boolean", "description": "more than one choice may be taken"},
		},
	}
	return hosted(ToolAskUser, "Ask the user", "Asks the person a question and waits for the answer. Never ask for secrets.", schema, &asker{l})
}

// Prepare implements tool.Handler.
func (k *asker) Prepare(_ context.Context, raw json.RawMessage) (tool.Prepared, error) {
	var a askArgs
	if err := arguments(ToolAskUser, raw, &a); err != nil {
		return nil, err
	}
	if err := gate.CheckQuestion(a.Question, a.Choices, a.Multiple); err != nil {
		return nil, misfit(ToolAskUser, "", "%s", err)
	}
	out, err := json.Marshal(a)
	return &hostedCall{args: out, run: func(ctx context.Context, c tool.Call) tool.Result { return k.ask(ctx, c, a) }}, err
}

// ask opens the gate and waits.
func (k *asker) ask(ctx context.Context, c tool.Call, a askArgs) tool.Result {
	if t := turnOf(ctx); t == nil || t.in.call != nil {
		return unasked(tool.Unavailable, "operator", "only a model asks the operator")
	}
	_, r, err := k.l.s.gates.Ask(ctx, gate.Request{
		Kind: gate.KindAskUser, Subject: gate.Subject{Loop: c.Loop, Turn: c.Turn, Step: c.Step, Call: c.ID},
		Prompt: gate.Prompt{
			Title: k.l.prefix() + "The model asks", Body: a.Question, Origin: gate.OriginModel, Choices: slices.Clone(a.Choices), Multiple: a.Multiple,
		},
	})
	if err != nil {
		return unasked(tool.Failed, "gate_failed", "nobody could be asked: "+safetext.ToLineN(err.Error(), maxReasonBytes).String())
	}
	switch r.Close {
	case "":
		return answered(a, r)
	case gate.ReasonPolicy:
		return unasked(tool.Denied, closedDetail(r.Detail), "nobody is there to be asked: "+r.Detail)
	case gate.ReasonTimedOut:
		return unasked(tool.Timeout, string(r.Close), "the question was not answered in time")
	default:
		return unasked(tool.Cancelled, string(r.Close), "cancelled while the question was open")
	}
}

// reply is the structured half of an answer.
type reply struct {
	Answered bool     `json:"answered"`
	Text     string   `json:"text,omitempty"`
	Chosen   []string `json:"chosen,omitempty"`
	// Reason is a code: why there is no answer.
	Reason string `json:"reason,omitempty"`
}

// unasked is the result of a question that nobody answered.
func unasked(o tool.Outcome, class, reason string) tool.Result {
	b, _ := json.Marshal(reply{Reason: class}) // strings alone
	return tool.Result{Outcome: o, Class: class, Reason: reason, Structured: b}
}

func answered(a askArgs, r gate.Response) tool.Result {
	out := reply{Reason: "dismissed"}
	said := "The person dismissed the question without an answer."
	if r.Action == gate.ActionAnswer {
		out, said = reply{Answered: true, Text: r.Text}, r.Text
		for _, i := range r.Chosen {
			out.Chosen = append(out.Chosen, a.Choices[i])
		}
		if len(out.Chosen) > 0 {
			said = "Chosen: " + strings.Join(out.Chosen, "; ")
		}
	}
	b, _ := json.Marshal(out) // strings alone
	return tool.Result{Outcome: tool.OK, Content: []content.Block{content.Text(said)}, Structured: b, Sent: true, Attempts: 1}
}

// hostedCall is a prepared call of one of the session's own tools.
type hostedCall struct {
	args json.RawMessage
	run  func(context.Context, tool.Call) tool.Result
}

var _ tool.Prepared = (*hostedCall)(nil)

func (h *hostedCall) Args() json.RawMessage               { return h.args }
func (h *hostedCall) Check(context.Context) *tool.Refusal { return nil }
func (h *hostedCall) Invoke(ctx context.Context, c tool.Call) tool.Result {
	return h.run(ctx, c)
}
