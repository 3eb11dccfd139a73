package mcpadapter

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/mcpadapter/client"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
)

// depthKey finds the depth of sampling in a context.
type depthKey struct{}

// depthOf counts the requests for the model that a context comes of.
func depthOf(ctx context.Context) int {
	n, _ := ctx.Value(depthKey{}).(int)
	return n
}

// maySample reports whether the capability is offered: the host has a model, the
// definition a policy, and somebody could approve what has to be approved.
func (rt *runtime) maySample() bool {
	p := rt.cfg.Server.Sampling
	return p != nil && rt.m.deps.Sampling != nil && (rt.m.deps.Gates != nil || p.Approve == client.ApproveAuto)
}

// sampling is one request of a server for the model, on its way.
type sampling struct {
	rt      *runtime
	policy  client.SamplingPolicy
	req     SamplingRequest
	from    client.SampleRequest
	display string
	person  bool // who writes the reply in the gate
	subject gate.Subject
	tools   []json.RawMessage
	choice  string // how the server wants its tools used
	unused  int    // tools that the model is not given
	spent   int    // by the binding, before this request
}

// sample has a server's request approved, answered and the reply approved. What
// cannot be served is refused with a notice; nothing waits for its turn.
func (rt *runtime) sample(ctx context.Context, from client.SampleRequest) (client.SampleResult, error) {
	depth := rt.causeDepth(ctx, from.CallID) + 1
	s, err := rt.admit(from, depth)
	if err != nil {
		return rt.refuse(err)
	}
	settle, err := rt.meter.enter(s.policy, s.cost())
	if err != nil {
		return rt.refuse(err)
	}
	used := 0
	defer func() { settle(used) }()
	s.spent = rt.meter.used()
	if s.policy.Approve == client.ApproveAsk {
		if err := s.approve(ctx); err != nil {
			return client.SampleResult{}, err
		}
	}
	msg, err := s.write(context.WithValue(ctx, depthKey{}, depth))
	if !s.person {
		used = s.tokens(&msg) // what a failed or declined message cost counts as well
	}
	if err != nil {
		return rt.refuse(err)
	}
	if s.person || s.policy.Approve != client.ApproveAuto {
		if err := s.review(ctx, &msg); err != nil {
			return client.SampleResult{}, err
		}
		if s.person {
			used = s.tokens(&msg)
		}
	}
	s.tell(settle(used), used, msg)
	return reply(msg)
}

// causeDepth is how deep the call is that a request arose from. Where the
// revision does not tell which call that is, any call in flight may be it: the
// deepest counts.
func (rt *runtime) causeDepth(ctx context.Context, callID string) int {
	depth := depthOf(ctx)
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if callID != "" {
		return max(depth, rt.calls[callID].depth)
	}
	for _, f := range rt.calls {
		depth = max(depth, f.depth)
	}
	return depth
}

// refuse tells both sides that a request is not served.
func (rt *runtime) refuse(err error) (client.SampleResult, error) {
	text := safetext.ToLine(err.Error()).String()
	rt.cl.Notice("sampling_refused", string(LevelWarn), "a request of the server for the model was refused: %s", text)
	return client.SampleResult{}, protocol.Rejected("refused: " + text)
}

// admit checks a request against the policy and the limits and turns it into
// what would be sent to the model.
func (rt *runtime) admit(from client.SampleRequest, depth int) (*sampling, error) {
	if why := rt.withdrawn(); why != "" {
		return nil, fmt.Errorf("the binding was %s", why)
	}
	p, lim := *rt.cfg.Server.Sampling, rt.cfg.Server.Limits
	switch {
	case depth > p.Depth:
		return nil, &limitError{"requests for the model that cause each other", depth, p.Depth, "sampling.depth"}
	case from.MaxTokens > p.MaxTokens:
		return nil, &limitError{"tokens of one reply", from.MaxTokens, p.MaxTokens, "sampling.maxTokens"}
	case len(from.Messages) > lim.SamplingMessages:
		return nil, &limitError{"messages", len(from.Messages), lim.SamplingMessages, "limits.samplingMessages"}
	case !p.Tools && (len(from.Tools) > 0 || from.ToolChoice != nil):
		return nil, fmt.Errorf("it brings tools for the model, which this binding may not (setting sampling.tools)")
	}
	s := &sampling{
		rt: rt, policy: p, from: from, subject: rt.subject(from.CallID), tools: from.Tools,
		req: SamplingRequest{
			Binding: rt.cfg.Name, Model: p.Model, System: from.System, MaxTokens: from.MaxTokens,
			Temperature: from.Temperature, StopSequences: from.StopSequences,
		},
	}
	s.display, s.person = rt.m.deps.Sampling.Describe(p.Model)
	if err := s.readMessages(lim); err != nil {
		return nil, err
	}
	return s, s.readTools()
}

// readMessages turns the server's blocks into neutral ones under the limits.
func (s *sampling) readMessages(lim client.Limits) error {
	sum := totals{}
	text := len(s.from.System)
	for _, stop := range s.from.StopSequences {
		text += len(stop)
	}
	for _, t := range s.from.Tools {
		text += len(t)
	}
	blocks := 0
	for _, m := range s.from.Messages {
		msg := content.Message{Role: content.Role(m.Role)}
		for _, raw := range m.Content {
			b, err := s.block(raw)
			if err != nil {
				return err
			}
			if err := sum.addBinary(b, lim); err != nil {
				return err
			}
			text += blockText(b)
			msg.Blocks = append(msg.Blocks, b)
		}
		blocks += len(msg.Blocks)
		s.req.Messages = append(s.req.Messages, msg)
	}
	switch {
	case text > lim.SamplingBytes:
		return &limitError{"text", text, lim.SamplingBytes, "limits.samplingBytes"}
	case blocks > lim.Blocks:
		return &limitError{"content blocks", blocks, lim.Blocks, "limits.blocks"}
	}
	return nil
}

// block reads one content block of a message; what nobody could be shown is
// refused.
func (s *sampling) block(raw json.RawMessage) (content.Block, error) {
	b := mapBlock(raw)
	switch b.Kind {
	case content.KindText, content.KindImage, content.KindAudio:
		return b, nil
	default: // of tools, or refused
	}
	if s.policy.Tools {
		if b, ok := toolBlock(raw); ok {
			return b, nil
		}
	}
	return b, fmt.Errorf("it holds content of a kind that is not supported (%s)", safetext.ToLineN(b.Name, 40))
}

// write has the model write the message. A person writes it in the gate.
func (s *sampling) write(ctx context.Context) (SamplingMessage, error) {
	if s.person {
		if s.choice == choiceRequired {
			return SamplingMessage{}, fmt.Errorf("it requires a use of its tools, and a person writes the reply, who can use none")
		}
		return SamplingMessage{Model: "operator", Stop: "end"}, nil
	}
	msg, err := s.rt.m.deps.Sampling.Sample(ctx, s.req)
	limit := s.rt.cfg.Server.Limits.TextBytes
	switch {
	case err != nil:
		// The model's own words are no business of the server.
		return msg, fmt.Errorf("the model could not answer")
	case strings.TrimSpace(msg.Text) == "" && len(msg.ToolUses) == 0:
		return msg, fmt.Errorf("the model wrote nothing")
	case msg.size() > limit:
		return msg, &limitError{"the reply's text", msg.size(), limit, "limits.textBytes"}
	}
	return msg, s.checkUses(&msg)
}

// tell records that a request was answered, also where no gate did.
func (s *sampling) tell(spent, used int, msg SamplingMessage) {
	how := ""
	if msg.InputTokens == 0 || msg.OutputTokens == 0 {
		how = " (an estimate by size)"
	}
	s.rt.cl.Notice("sampling_answered", string(LevelInfo), "a request of the server for the model was answered: %d tokens%s, %d of %d of this session are used",
		used, how, spent, s.policy.TokenBudget)
}

// reply is a message as the server gets it.
func reply(msg SamplingMessage) (client.SampleResult, error) {
	out := client.SampleResult{Role: "assistant", Model: msg.Model, StopReason: "endTurn"}
	if msg.Text != "" || len(msg.ToolUses) == 0 {
		text, err := json.Marshal(map[string]string{"type": "text", "text": msg.Text})
		if err != nil {
			return client.SampleResult{}, protocol.Rejected("the reply could not be encoded")
		}
		out.Content = append(out.Content, text)
	}
	for _, u := range msg.ToolUses {
		use, err := json.Marshal(toolUse{Type: "tool_use", ID: u.ID, Name: u.Name, Input: u.Args})
		if err != nil {
			return client.SampleResult{}, protocol.Rejected("the reply could not be encoded")
		}
		out.Content = append(out.Content, use)
		out.StopReason = "toolUse"
	}
	if msg.Stop == "max_tokens" {
		out.StopReason = "maxTokens"
	}
	return out, nil
}
