package mcpadapter

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/mcpadapter/client"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
)

const (
	// domainSampling is the domain of the digest of a request for the model.
	domainSampling = "looprig/sampling/v1"
	// bytesPerToken is a rough average over English prose and JSON.
	bytesPerToken = 4
	// tokensPerBinary estimates an image or a sound.
	tokensPerBinary = 1500
)

// addBinary counts what is not text.
func (s *totals) addBinary(b content.Block, lim client.Limits) error {
	if err := s.binaryOf(b, lim); err != nil {
		return err
	}
	for _, inner := range b.Blocks {
		if err := s.addBinary(inner, lim); err != nil {
			return err
		}
	}
	return nil
}

// blockText is how many bytes of text a block holds.
func blockText(b content.Block) int {
	n := len(b.Text) + len(b.JSON) + len(b.Title) + len(b.Description) + len(b.Name) + len(b.URI)
	for _, inner := range b.Blocks {
		n += blockText(inner)
	}
	return n
}

func binaries(b content.Block) int {
	n := 0
	if b.Data != nil {
		n = 1
	}
	for _, inner := range b.Blocks {
		n += binaries(inner)
	}
	return n
}

// input estimates the tokens of what is sent to the model.
func (s *sampling) input() int {
	text, items := len(s.req.System), 0
	for _, t := range s.tools {
		text += len(t)
	}
	for _, m := range s.req.Messages {
		for _, b := range m.Blocks {
			text += blockText(b)
			items += binaries(b)
		}
	}
	return (text+bytesPerToken-1)/bytesPerToken + items*tokensPerBinary
}

// cost is what a request can use at most.
func (s *sampling) cost() int { return s.input() + s.req.MaxTokens }

// tokens is what a message used: the model's own numbers, an estimate by size
// where it gives none.
func (s *sampling) tokens(msg *SamplingMessage) int {
	in, out := msg.InputTokens, msg.OutputTokens
	if in <= 0 {
		in = s.input()
	}
	if out <= 0 {
		out = (msg.size() + bytesPerToken - 1) / bytesPerToken
	}
	return in + out
}

// digest covers everything that is sent to the model.
func (s *sampling) digest() string {
	body, err := json.Marshal(struct {
		Model       string            `json:"model"`
		System      string            `json:"system"`
		Messages    []content.Message `json:"messages"`
		MaxTokens   int               `json:"max_tokens"`
		Temperature *float64          `json:"temperature"`
		Stop        []string          `json:"stop"`
		Tools       []json.RawMessage `json:"tools"`
		Choice      json.RawMessage   `json:"choice,omitempty"`
	}{
		s.req.Model, s.req.System, s.req.Messages, s.req.MaxTokens, s.req.Temperature, s.req.StopSequences, s.tools, s.from.ToolChoice,
	})
	if err != nil {
		return ""
	}
	h := sha256.New()
	frame(h, domainSampling)
	frame(h, string(body))
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// prompt shows the request as it is sent.
func (s *sampling) prompt(stage gate.SamplingStage) *gate.SamplingPrompt {
	p := &gate.SamplingPrompt{
		Stage: stage, System: s.req.System, Model: s.display, MaxTokens: s.req.MaxTokens,
		Hints: s.from.Preferences.Hints, Spent: s.spent, Budget: s.policy.TokenBudget, Digest: s.digest(),
	}
	if c := s.from.IncludeContext; c != "" && c != "none" {
		p.Context = c
	}
	for _, m := range s.req.Messages {
		for _, b := range m.Blocks {
			p.Messages = append(p.Messages, shown(string(m.Role), b))
		}
	}
	for _, stop := range s.req.StopSequences {
		p.Messages = append(p.Messages, gate.SamplingMessage{Role: "stop sequence", Kind: "text", Text: stop})
	}
	for _, t := range s.tools {
		p.Messages = append(p.Messages, gate.SamplingMessage{Role: "tool", Kind: "text", Text: string(t)})
	}
	return p
}

// shown is one block as people see it.
func shown(role string, b content.Block) gate.SamplingMessage {
	switch b.Kind {
	case content.KindText:
		return gate.SamplingMessage{Role: role, Kind: "text", Text: b.Text}
	case content.KindToolUse, content.KindToolResult:
		text, _ := json.Marshal(b) // plain data always encodes
		return gate.SamplingMessage{Role: role, Kind: "text", Text: string(text)}
	default:
		sum := sha256.Sum256(b.Data)
		return gate.SamplingMessage{
			Role: role, Kind: string(b.Kind), MIME: b.MIME, Bytes: len(b.Data), Digest: "sha256:" + hex.EncodeToString(sum[:]),
		}
	}
}

// warnings are remarks of the host on a request.
func (s *sampling) warnings() []string {
	var out []string
	if c := s.from.IncludeContext; c != "" && c != "none" {
		out = append(out, "The server asks for context of this session; none is added.")
	}
	if n := len(s.tools); n > 0 {
		out = append(out, fmt.Sprintf("The server brings %d tools for the model; their definitions are shown with the messages. What the model asks of them goes to the server with the reply.", n))
	}
	if s.unused > 0 {
		out = append(out, fmt.Sprintf("The server brings %d tools and wants none used: the model is not given them.", s.unused))
	}
	if t := s.req.Temperature; t != nil {
		out = append(out, fmt.Sprintf("The server asks for a temperature of %g.", *t))
	}
	return out
}

// last is the text that an edit of the request replaces, nil when the last
// message is not one text.
func (s *sampling) last() *content.Block {
	if len(s.req.Messages) == 0 {
		return nil
	}
	m := s.req.Messages[len(s.req.Messages)-1]
	if len(m.Blocks) != 1 || m.Blocks[0].Kind != content.KindText {
		return nil
	}
	return &m.Blocks[0]
}

// approve asks whether the request may be sent to the model.
func (s *sampling) approve(ctx context.Context) error {
	p := s.prompt(gate.SamplingRequest)
	p.Editable = s.last() != nil
	resp, err := s.ask(ctx, gate.Prompt{
		Title: s.rt.cfg.Name + " asks the model to write", Origin: gate.OriginServer, Warnings: s.warnings(), Sampling: p,
	})
	if err != nil || resp.Action != gate.ActionEdit {
		return err
	}
	last := s.last()
	if last == nil || strings.TrimSpace(resp.Text) == "" {
		return s.declined("the request was not sent: it cannot be edited like that")
	}
	last.Text = resp.Text
	return nil
}

// review asks whether the reply may be sent to the server, or has a person write
// it.
func (s *sampling) review(ctx context.Context, msg *SamplingMessage) error {
	p := s.prompt(gate.SamplingReply)
	// An edit replaces a text; uses of tools are approved as they are or not at all.
	p.Reply, p.Written, p.Editable = msg.shown(), s.person, len(msg.ToolUses) == 0
	open := gate.Prompt{Title: "Send this reply to " + s.rt.cfg.Name + "?", Origin: gate.OriginModel, Warnings: s.warnings(), Sampling: p}
	if s.person {
		open.Title, open.Origin = "Write the reply to "+s.rt.cfg.Name, gate.OriginServer
	}
	resp, err := s.ask(ctx, open)
	if err != nil {
		return err
	}
	if resp.Action == gate.ActionEdit && !p.Editable {
		return s.declined("the reply was not sent: it uses tools and cannot be edited")
	}
	if s.person || resp.Action == gate.ActionEdit {
		limit := s.rt.cfg.Server.Limits.TextBytes
		switch {
		case strings.TrimSpace(resp.Text) == "":
			return s.declined("the reply is empty")
		case len(resp.Text) > limit:
			return s.declined((&limitError{"the reply's text", len(resp.Text), limit, "limits.textBytes"}).Error())
		}
		msg.Text = resp.Text
	}
	return nil
}

// ask opens one gate; err is what the server gets when nobody approved.
func (s *sampling) ask(ctx context.Context, p gate.Prompt) (gate.Response, error) {
	if s.rt.m.deps.Gates == nil {
		return gate.Response{}, s.declined("there is nobody to ask")
	}
	resp, err := s.rt.m.deps.Gates.OpenGate(ctx, gate.Request{
		Kind: gate.KindSampling, Subject: s.subject, Deadline: s.rt.cfg.Server.ElicitTimeout, Prompt: p,
	})
	unanswered := resp.Close != "" && resp.Close != gate.ReasonAnswered
	switch {
	case err != nil && ctx.Err() == nil:
		return resp, s.declined("it could not be put to anybody")
	case ctx.Err() != nil:
		return resp, &protocol.Error{Class: protocol.ClassCancelled, Op: "sampling/createMessage", Message: "the request was withdrawn"}
	case unanswered && resp.Action == gate.ActionDecline:
		return resp, s.declined(fmt.Sprintf("nobody could answer it (%s)", resp.Close))
	case unanswered:
		return resp, s.declined(fmt.Sprintf("nobody answered it (%s)", resp.Close))
	case !resp.Answerer.Operator():
		return resp, s.declined("its answer did not come from an operator")
	case resp.Action == gate.ActionRun, resp.Action == gate.ActionEdit:
		return resp, nil
	case resp.Action == gate.ActionDecline:
		return resp, s.turnedDown(p.Sampling.Stage, "the user declined the request")
	}
	return resp, s.turnedDown(p.Sampling.Stage, "the user cancelled the request")
}

// turnedDown is a person's no: the server learns that, and the record at which
// of the two questions it was.
func (s *sampling) turnedDown(stage gate.SamplingStage, text string) error {
	s.rt.cl.Notice("sampling_refused", string(LevelInfo), "a request of the server for the model was refused: %s (question: %s)", text, stage)
	return protocol.Rejected(text)
}

// declined tells both sides that nobody approved.
func (s *sampling) declined(reason string) error {
	_, err := s.rt.refuse(fmt.Errorf("%s", reason))
	return err
}
