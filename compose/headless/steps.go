package headless

import (
	"context"
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
	case StepParallel: // see Runner.parallel
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

func (r *Runner) wait(ctx context.Context, s Step) (*Result, error) {
	if err := r.mustHave(s.Binding); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	fault := "" // of the latest attempt that failed, while another one runs
	for {
		b, ok := find(r.opt.Port.Bindings(), s.Binding)
		if b.Class != "" {
			fault = b.Reason
		}
		if ok && (s.State == "" || string(b.State) == s.State) && b.Generation >= s.Generation {
			// What a binding serves reaches the loops a moment after its state.
			return done(r.opt.Settle(ctx))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			why := first(b.Reason, b.Code)
			if fault != "" && b.Class == "" {
				why += ", after it had failed: " + fault
			}
			return nil, exit.New(exit.Limit, "binding %s did not become %s within %s: it is %s: %s",
				s.Binding, stateWords(s.State, s.Generation), s.Timeout, stateWords(string(b.State), b.Generation), why)
		}
	}
}

// stateWords names a state and a generation; without one of them it is the other.
func stateWords(state string, generation uint64) string {
	switch {
	case generation == 0:
		return first(state, "ready")
	case state == "":
		return fmt.Sprintf("generation %d", generation)
	}
	return fmt.Sprintf("%s with generation %d", state, generation)
}

func find(bindings []integration.Binding, name string) (integration.Binding, bool) {
	for _, b := range bindings {
		if b.Name == name {
			return b, true
		}
	}
	return integration.Binding{}, false
}
