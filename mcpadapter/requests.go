package mcpadapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/mcpadapter/client"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
)

// The requests of this file are a person's: they read what a server offers and
// change nothing, so they are no tool calls and pass no policy. They wait for
// the server within the binding's own times.

var _ integration.Reader = (*Manager)(nil)

// ErrNotServing is in the chain of a *RequestError whose request was not sent
// because the binding does not serve now.
var ErrNotServing = errors.New("the binding does not serve requests now")

// RequestError says why a request to a binding failed.
type RequestError struct {
	Binding string
	Op      string // "resources/read" …
	Class   Class
	// Reason is host-written, Detail raw text of the server or "".
	Reason string
	Detail string
	Err    error
}

func (e *RequestError) Error() string {
	return fmt.Sprintf("binding %q: %s: %s", e.Binding, e.Op, e.Reason)
}

func (e *RequestError) Unwrap() error { return e.Err }

// serving returns the runtime that answers requests. Its errors are
// *UnknownBindingError, ErrNotStarted, ErrManagerClosed and *RequestError with
// ErrNotServing.
func (m *Manager) serving(binding, op string) (*runtime, error) {
	rt, err := m.running(binding)
	var failure BindingFailure
	if errors.As(err, &failure) {
		return nil, &RequestError{Binding: binding, Op: op, Class: failure.Class, Reason: failure.Reason, Err: errors.Join(ErrNotServing, err)}
	}
	if err != nil {
		return nil, err
	}
	if r := rt.unavailable(); r != nil {
		return nil, &RequestError{Binding: binding, Op: op, Class: protocol.ClassClosed, Reason: r.Reason, Err: ErrNotServing}
	}
	return rt, nil
}

// failed gives the failure of a request its binding.
func (rt *runtime) failed(op string, err error) error {
	out := &RequestError{Binding: rt.cfg.Name, Op: op, Class: protocol.ClassProtocol, Reason: "failed", Err: err}
	var pe *client.Error
	var limit *limitError
	switch {
	case errors.As(err, &limit):
		out.Class, out.Reason = protocol.ClassOverLimit, "the answer is refused: "+limit.Error()
	case errors.As(err, &pe):
		out.Class, out.Reason, out.Detail = pe.Class, safetext.ToLine(pe.Reason()).String(), pe.Detail
		if pe.Class == protocol.ClassClosed && !pe.Sent {
			out.Err = errors.Join(ErrNotServing, err)
		}
	}
	return out
}

// broken is the failure of an answer that is not what was asked for.
func (rt *runtime) broken(op, reason string) error {
	return &RequestError{Binding: rt.cfg.Name, Op: op, Class: protocol.ClassProtocol, Reason: reason}
}

// Read reads a resource. Nothing that the answer points to is fetched. It fails
// as described at RequestError, or with *UnknownBindingError.
func (m *Manager) Read(ctx context.Context, binding, uri string) (integration.Fetched, error) {
	const op = "resources/read"
	rt, err := m.serving(binding, op)
	if err != nil {
		return integration.Fetched{}, err
	}
	raw, err := rt.cl.ReadResource(ctx, uri)
	if err != nil {
		return integration.Fetched{}, rt.failed(op, err)
	}
	var in struct {
		Contents []json.RawMessage `json:"contents"`
	}
	if json.Unmarshal(raw, &in) != nil || in.Contents == nil {
		return integration.Fetched{}, rt.broken(op, "the answer holds no contents")
	}
	blocks, err := mapResources(in.Contents, rt.cfg.Server.Limits)
	if err != nil {
		return integration.Fetched{}, rt.failed(op, err)
	}
	return integration.Fetched{Binding: binding, Name: uri, Content: blocks, Raw: raw}, nil
}

// Prompt gets a prompt. An argument that its listing requires and that is
// missing is refused before anything is sent, and so is one that it does not
// have: a server would leave a misspelt one out without a word.
func (m *Manager) Prompt(ctx context.Context, binding, name string, args map[string]string) (integration.Fetched, error) {
	const op = "prompts/get"
	rt, err := m.serving(binding, op)
	if err != nil {
		return integration.Fetched{}, err
	}
	if reason := rt.wrongArguments(name, args); reason != "" {
		return integration.Fetched{}, &RequestError{Binding: binding, Op: op, Class: protocol.ClassConfig, Reason: reason}
	}
	var encoded json.RawMessage
	if len(args) > 0 {
		encoded, _ = json.Marshal(args) // a map of strings always encodes
	}
	raw, err := rt.cl.GetPrompt(ctx, name, encoded)
	if err != nil {
		return integration.Fetched{}, rt.failed(op, err)
	}
	out := integration.Fetched{Binding: binding, Name: name, Raw: raw}
	if err := rt.readPrompt(op, raw, &out); err != nil {
		return integration.Fetched{}, err
	}
	return out, nil
}

// wrongArguments says what is wrong with the arguments of a prompt, or "". A
// prompt that lists none is taken at what it is given.
func (rt *runtime) wrongArguments(prompt string, args map[string]string) string {
	g := rt.cl.Generation()
	if g == nil {
		return ""
	}
	for _, p := range g.Prompts {
		if p.Name != prompt || len(p.Arguments) == 0 {
			continue
		}
		known := make([]string, len(p.Arguments))
		shown := make([]string, len(p.Arguments))
		for i, a := range p.Arguments {
			known[i], shown[i] = a.Name, string(safetext.Ident(a.Name))
			if _, ok := args[a.Name]; a.Required && !ok {
				return fmt.Sprintf("the argument %s is required", shown[i])
			}
		}
		for _, name := range slices.Sorted(maps.Keys(args)) {
			if !slices.Contains(known, name) {
				return fmt.Sprintf("the prompt has no argument %s; it takes %s", safetext.Ident(name), strings.Join(shown, ", "))
			}
		}
	}
	return ""
}

// readPrompt fills in what a prompt's answer holds. The limits of a result hold
// for all its messages together.
func (rt *runtime) readPrompt(op string, raw json.RawMessage, out *integration.Fetched) error {
	var in struct {
		Description string `json:"description"`
		Messages    []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if json.Unmarshal(raw, &in) != nil || in.Messages == nil {
		return rt.broken(op, "the answer holds no messages")
	}
	lim := rt.cfg.Server.Limits
	if n := len(in.Description); n > lim.DescriptionBytes {
		return rt.failed(op, &limitError{"the description", n, lim.DescriptionBytes, "limits.descriptionBytes"})
	}
	out.Description = in.Description
	var sum totals
	for i, msg := range in.Messages {
		role := content.Role(msg.Role)
		if role != content.RoleUser && role != content.RoleAssistant {
			return rt.broken(op, fmt.Sprintf("message %d is neither the user's nor the assistant's", i+1))
		}
		parts := []json.RawMessage{msg.Content}
		if len(msg.Content) > 0 && msg.Content[0] == '[' {
			parts = nil
			_ = json.Unmarshal(msg.Content, &parts) // it is JSON: it came in a frame
		}
		m := content.Message{Role: role}
		for _, p := range parts {
			b := mapBlock(p)
			if err := sum.add(b, lim); err != nil {
				return rt.failed(op, err)
			}
			m.Blocks = append(m.Blocks, b)
			out.Content = append(out.Content, b)
		}
		out.Messages = append(out.Messages, m)
	}
	if n := len(out.Content); n > lim.Blocks {
		return rt.failed(op, &limitError{"content blocks", n, lim.Blocks, "limits.blocks"})
	}
	return nil
}

// Complete suggests values for an argument of a prompt or template.
func (m *Manager) Complete(ctx context.Context, req integration.CompleteRequest) (integration.Completion, error) {
	const op = "completion/complete"
	rt, err := m.serving(req.Binding, op)
	if err != nil {
		return integration.Completion{}, err
	}
	ask := client.CompleteRequest{Argument: req.Argument, Value: req.Value, Known: req.Known}
	switch req.Kind {
	case "prompt":
		ask.Prompt = req.Name
	case "template":
		ask.Template = req.Name
	default:
		return integration.Completion{}, &RequestError{
			Binding: req.Binding, Op: op, Class: protocol.ClassConfig, Reason: "values are suggested for prompts and templates alone",
		}
	}
	c, err := rt.cl.Complete(ctx, ask)
	if err != nil {
		return integration.Completion{}, rt.failed(op, err)
	}
	return integration.Completion{Values: c.Values, Total: c.Total, HasMore: c.HasMore}, nil
}

// Subscribe begins to report a resource's changes as resource.updated events. It
// holds across reconnects, until Unsubscribe or the end of the binding's run.
func (m *Manager) Subscribe(ctx context.Context, binding, uri string) error {
	const op = "resources/subscribe"
	rt, err := m.serving(binding, op)
	if err != nil {
		return err
	}
	if err := rt.cl.Subscribe(ctx, uri); err != nil {
		return rt.failed(op, err)
	}
	return nil
}

// Unsubscribe ends the reports of a resource's changes.
func (m *Manager) Unsubscribe(ctx context.Context, binding, uri string) error {
	rt, err := m.running(binding)
	if err != nil {
		return err
	}
	if err := rt.cl.Unsubscribe(ctx, uri); err != nil {
		return rt.failed("resources/unsubscribe", err)
	}
	return nil
}
