package headless

import (
	"context"
	"errors"
	"strings"

	"github.com/looprig/looprig/compose/config/doc"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/harness/session"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/mcpadapter"
	"github.com/looprig/looprig/mcpadapter/client"
)

// FetchResource reads a resource. What a server answers is a result, its refusals
// included; an error means that there was nobody to ask.
func FetchResource(ctx context.Context, port integration.Port, reader integration.Reader, binding, uri string) (*Result, error) {
	got, err := reader.Read(ctx, binding, uri)
	if err == nil {
		return fromFetched(got), nil
	}
	res, ok := Failed(err)
	if !ok || ctx.Err() != nil {
		return nil, err
	}
	if res.Outcome == tool.ToolError {
		near := doc.DidYouMean(uri, itemNames(port, binding, "resource"))
		res.Reason += near
		if res.Text != "" {
			res.Text += near
		}
	}
	return res, nil
}

// FetchPrompt gets a prompt with its arguments. A name that the catalog does not have
// is an error of usage with a suggestion.
func FetchPrompt(ctx context.Context, port integration.Port, reader integration.Reader, binding, name string, args map[string]string) (*Result, error) {
	if err := hasPrompt(port, binding, name); err != nil {
		return nil, err
	}
	got, err := reader.Prompt(ctx, binding, name, args)
	if err == nil {
		return fromFetched(got), nil
	}
	res, ok := Failed(err)
	if !ok || ctx.Err() != nil {
		return nil, err
	}
	return res, nil
}

func fromFetched(f integration.Fetched) *Result {
	res := &Result{
		Outcome: tool.OK, Content: f.Content, Messages: f.Messages, Description: f.Description, Value: f.Raw,
		Text: textOf(f.Content), Tools: []ToolResult{}, Gates: []GateResult{}, Notices: []NoticeResult{}, Bindings: []integration.Binding{},
	}
	if res.Content == nil {
		res.Content = []content.Block{}
	}
	return res
}

// textOf joins what is text, resources included.
func textOf(blocks []content.Block) string {
	var parts []string
	for _, b := range blocks {
		if b.Kind == content.KindText || b.Kind == content.KindResource && len(b.Data) == 0 {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// Failed is the result of a request that was asked and failed, in the words of
// calls; false means that the error is of another kind.
func Failed(err error) (*Result, bool) {
	res := &Result{
		Outcome: tool.Failed, Reason: err.Error(), IsError: true, Content: []content.Block{}, Tools: []ToolResult{},
		Gates: []GateResult{}, Notices: []NoticeResult{}, Bindings: []integration.Binding{},
	}
	var request *mcpadapter.RequestError
	var failure *client.Error
	var off mcpadapter.BindingFailure
	switch {
	case errors.Is(err, mcpadapter.ErrNotServing), errors.As(err, &off):
		res.Outcome = tool.Unavailable
	case errors.As(err, &request):
		res.Outcome, res.Text, res.class = outcomeOf(request.Class), request.Detail, request.Class
	case errors.As(err, &failure):
		res.Outcome, res.Text, res.class = outcomeOf(failure.Class), failure.Detail, failure.Class
	default:
		return nil, false
	}
	return res, true
}

// Code is the exit code that a result deserves.
func (r *Result) Code() exit.Code {
	switch {
	case r.class == session.CodeJournalFailed:
		return exit.Internal // no server had a part in it
	case r.class == "auth":
		return exit.Auth
	case r.class == "refused" && r.Outcome == tool.Failed:
		return exit.GateRefused // what the server asked for meanwhile was declined
	}
	return CodeOf(r.Outcome)
}

// outcomeOf says what came of a request that failed, in the words of calls.
func outcomeOf(c client.Class) tool.Outcome {
	switch c {
	case "remote":
		return tool.ToolError
	case "timeout":
		return tool.Timeout
	case "over_limit":
		return tool.OverLimit
	case "closed":
		return tool.Unavailable
	case "config":
		return tool.InvalidArguments
	default:
		return tool.Failed
	}
}

func itemNames(port integration.Port, binding, kind string) []string {
	cat, ok := port.Catalog(binding, 0)
	if !ok {
		return nil
	}
	var names []string
	for _, item := range cat.Items {
		if item.Kind == kind {
			names = append(names, item.Name)
		}
	}
	return names
}

// hasPrompt fails with a suggestion when the binding's catalog has no such
// prompt; without a catalog the binding's own error is the better one.
func hasPrompt(port integration.Port, binding, name string) error {
	if _, ok := port.Catalog(binding, 0); !ok {
		return nil
	}
	names := itemNames(port, binding, "prompt")
	for _, known := range names {
		if known == name {
			return nil
		}
	}
	return exit.New(exit.Usage, "binding %s has no prompt %q%s; it has: %s", binding, name, doc.DidYouMean(name, names), first(strings.Join(names, ", "), "none"))
}

func (r *Runner) read(ctx context.Context, s Step) (*Result, error) {
	if err := r.mustHave(s.Binding); err != nil {
		return nil, err
	}
	if s.Kind == StepRead {
		return FetchResource(ctx, r.opt.Port, r.opt.Reader, s.Binding, r.vars.text(s.URI))
	}
	node, err := r.vars.node(s.Args)
	if err != nil {
		return nil, err
	}
	args, err := promptArgs(node)
	if err != nil {
		return nil, err
	}
	return FetchPrompt(ctx, r.opt.Port, r.opt.Reader, s.Binding, s.Name, args)
}

// promptArgs are texts: a number or a boolean is taken as it is written.
func promptArgs(n *doc.Node) (map[string]string, error) {
	out := map[string]string{}
	for _, m := range n.Members {
		switch m.Value.Kind {
		case doc.String, doc.Number, doc.Bool:
			out[m.Key] = m.Value.Text
		case doc.Null, doc.Array, doc.Object:
			return nil, exit.New(exit.Usage, "the argument %s of a prompt is a text, not %s", m.Key, m.Value.Kind)
		}
	}
	return out, nil
}
