package headless

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/looprig/looprig/compose/config/doc"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/harness/session"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/mcpadapter"
	"github.com/looprig/looprig/mcpadapter/client"
)

// pollEvery is how often a wait looks at the bindings.
const pollEvery = 10 * time.Millisecond

func (r *Runner) do(ctx context.Context, s Step) (*Result, error) {
	switch s.Kind {
	case StepUser, StepCall:
		return r.turn(ctx, s)
	case StepRead, StepPrompt:
		return r.read(ctx, s)
	case StepEnable, StepDisable, StepRemove, StepReconnect:
		return r.apply(ctx, s)
	case StepAdd, StepReplace:
		return done(r.opt.Define(ctx, integration.Op(s.Kind), *s.Server, r.by.ID))
	case StepWait:
		return r.wait(ctx, s)
	case StepStatus:
		cov := r.opt.Session.Coverage()
		res, err := done(nil)
		res.Coverage = &cov
		return res, err
	case StepSleep:
		select {
		case <-time.After(s.Sleep):
			return done(nil)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return nil, fmt.Errorf("no step is called %q", s.Kind)
}

// done is the result of a step that yields nothing. A change that was made,
// though its server did not come up, is a result and no error.
func done(err error) (*Result, error) {
	res := &Result{Outcome: tool.OK, Content: []content.Block{}, Tools: []ToolResult{}}
	var failure mcpadapter.BindingFailure
	if !errors.As(err, &failure) {
		return res, err
	}
	res.Outcome, res.Reason, res.IsError = tool.Failed, failure.Error(), true
	switch failure.Class {
	case "untrusted":
		res.Outcome = tool.Denied
	case "integrity":
		res.integrity = true
	default:
	}
	return res, nil
}

func (r *Runner) turn(ctx context.Context, s Step) (*Result, error) {
	in := session.Input{Origin: r.by}
	if s.Kind == StepUser {
		in.Text = r.vars.text(s.Text)
	} else {
		args, err := r.vars.node(s.Args)
		if err != nil {
			return nil, err
		}
		in.Call = &session.CallInput{Tool: s.Tool, Args: args.JSON()}
	}
	timeout := s.Timeout
	if timeout == 0 {
		timeout = r.opt.TurnTimeout
	}
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, exit.New(exit.Limit, "the %s step did not end within its %s", s.Kind, timeout))
		defer cancel()
	}
	t, err := r.submit(ctx, s.Loop, in)
	if err != nil {
		return nil, err
	}
	res, err := r.opt.Session.AwaitTurn(ctx, t)
	if err != nil {
		// The turn must not go on behind the back of a run that gave it up.
		stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), session.DefaultCancelGrace)
		defer cancel()
		var limit *exit.Error
		if errors.Is(err, context.DeadlineExceeded) && errors.As(context.Cause(ctx), &limit) {
			err = limit
		}
		return nil, errorsJoin(err, r.opt.Session.Interrupt(stop, t.Loop, r.by))
	}
	return FromTurn(res, s.Kind == StepCall), nil
}

func (r *Runner) submit(ctx context.Context, loop string, in session.Input) (session.Ticket, error) {
	if loop == "" {
		return r.opt.Session.Submit(ctx, in)
	}
	return r.opt.Session.SubmitTo(ctx, loop, in)
}

func errorsJoin(err, second error) error {
	if second != nil {
		return fmt.Errorf("%w (and: %w)", err, second)
	}
	return err
}

// mustHave fails with a suggestion when no binding has the name.
func (r *Runner) mustHave(name string) error {
	var names []string
	for _, b := range r.opt.Port.Bindings() {
		if b.Name == name {
			return nil
		}
		names = append(names, b.Name)
	}
	return exit.New(exit.Usage, "no binding is called %q%s; there are: %s", name, doc.DidYouMean(name, names), strings.Join(names, ", "))
}

func (r *Runner) apply(ctx context.Context, s Step) (*Result, error) {
	if err := r.mustHave(s.Text); err != nil {
		return nil, err
	}
	return done(r.opt.Port.Apply(ctx, integration.Change{Op: integration.Op(s.Kind), Binding: s.Text, By: r.by.ID}))
}

func (r *Runner) read(ctx context.Context, s Step) (*Result, error) {
	if err := r.mustHave(s.Binding); err != nil {
		return nil, err
	}
	var raw json.RawMessage
	var err error
	if s.Kind == StepRead {
		raw, err = r.opt.Reader.ReadResource(ctx, s.Binding, s.URI)
	} else {
		if err := r.mustHavePrompt(s.Binding, s.Name); err != nil {
			return nil, err
		}
		args, aerr := r.vars.node(s.Args)
		if aerr != nil {
			return nil, aerr
		}
		raw, err = r.opt.Reader.GetPrompt(ctx, s.Binding, s.Name, args.JSON())
	}
	var failure *client.Error
	if errors.As(err, &failure) && ctx.Err() == nil {
		return &Result{
			Outcome: outcomeOf(failure.Class), Reason: failure.Error(), IsError: true, Content: []content.Block{}, Tools: []ToolResult{},
		}, nil
	}
	var off mcpadapter.BindingFailure // it does not run
	if errors.As(err, &off) {
		return &Result{
			Outcome: tool.Unavailable, Reason: off.Error(), IsError: true, Content: []content.Block{}, Tools: []ToolResult{},
		}, nil
	}
	if err != nil {
		return nil, err
	}
	res, err := done(nil)
	res.Value, res.Text = raw, textOf(raw)
	return res, err
}

// outcomeOf says what came of a read that failed, in the words of calls.
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

// mustHavePrompt fails with a suggestion when the binding's catalog has no such
// prompt; without a catalog the binding's own error is the better one.
func (r *Runner) mustHavePrompt(binding, name string) error {
	cat, ok := r.opt.Port.Catalog(binding, 0)
	if !ok {
		return nil
	}
	var names []string
	for _, item := range cat.Items {
		if item.Kind != "prompt" {
			continue
		}
		if item.Name == name {
			return nil
		}
		names = append(names, item.Name)
	}
	return exit.New(exit.Usage, "binding %s has no prompt %q%s; it has: %s", binding, name, doc.DidYouMean(name, names), first(strings.Join(names, ", "), "none"))
}

// textOf joins the texts of a resource's contents or a prompt's messages.
func textOf(raw json.RawMessage) string {
	var v struct {
		Contents []struct {
			Text string `json:"text"`
		} `json:"contents"`
		Messages []struct {
			Content struct {
				Text string `json:"text"`
			} `json:"content"`
		} `json:"messages"`
	}
	if json.Unmarshal(raw, &v) != nil {
		return ""
	}
	var parts []string
	for _, c := range v.Contents {
		parts = append(parts, c.Text)
	}
	for _, m := range v.Messages {
		parts = append(parts, m.Content.Text)
	}
	return strings.Join(parts, "\n")
}

func (r *Runner) wait(ctx context.Context, s Step) (*Result, error) {
	if err := r.mustHave(s.Binding); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		b, ok := find(r.opt.Port.Bindings(), s.Binding)
		if ok && (s.State == "" || string(b.State) == s.State) && b.Generation >= s.Generation {
			return done(nil)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, exit.New(exit.Limit, "binding %s did not become %s generation %d within %s: it is %s generation %d: %s",
				s.Binding, first(s.State, "ready"), s.Generation, s.Timeout, b.State, b.Generation, first(b.Reason, b.Code))
		}
	}
}

func find(bindings []integration.Binding, name string) (integration.Binding, bool) {
	for _, b := range bindings {
		if b.Name == name {
			return b, true
		}
	}
	return integration.Binding{}, false
}
