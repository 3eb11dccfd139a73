package headless

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/looprig/looprig/compose/answers"
	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/harness/model/scripted"
	"github.com/looprig/looprig/harness/session"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/internal/safetext"
)

// Options are what a Runner works on.
type Options struct {
	Script  *Script
	Session *session.Session
	Port    integration.Port
	Reader  integration.Reader
	// Define adds or replaces a binding from a whole definition.
	Define func(ctx context.Context, op integration.Op, s config.Server, by string) error
	// Settle brings idle loops up to date with what the bindings serve.
	Settle func(ctx context.Context) error
	// Answers are the run's prepared answers; Scripted its model, or nil.
	Answers  *answers.Set
	Scripted *scripted.Client
	// Ended is told of each step that ended, with its index, its failure (nil for
	// none) and how long it took. It may be nil.
	Ended func(i int, err error, took time.Duration)
	// Text receives each step's text for people, or nil.
	Text func(string)
	// TurnTimeout bounds a turn that names no timeout; 0 leaves it to the run's.
	TurnTimeout time.Duration
}

// Runner runs the steps of one script in order.
type Runner struct {
	opt  Options
	vars vars
	tape *tape
	by   gate.Answerer
}

// Run runs a script to its end or its first failing step and returns nil or an
// *exit.Error. It does not close the session.
func Run(ctx context.Context, opt Options) (err error) {
	t, err := record(opt.Session)
	if err != nil {
		return err
	}
	defer t.close()
	r := &Runner{opt: opt, vars: vars{}, tape: t, by: gate.Answerer{Kind: gate.AnswererScript, ID: opt.Script.File}}
	code := exit.OK
	var first error
	for i, s := range opt.Script.Steps {
		begun := time.Now()
		serr := r.step(ctx, i, s)
		if opt.Ended != nil {
			opt.Ended(i, serr, time.Since(begun))
		}
		if serr == nil {
			continue
		}
		first, code = serr, exit.Of(serr)
		break
	}
	if first == nil {
		first = r.leftOver()
		code = exit.Of(first)
	}
	// An answer that was not sent explains whatever failed after it.
	if misfit := r.misfits(); misfit != nil && code != exit.Integrity {
		return misfit
	}
	return first
}

// leftOver fails a run that did not use all that it had declared.
func (r *Runner) leftOver() error {
	if m := r.misfits(); m != nil {
		return m
	}
	for _, place := range r.opt.Answers.Unused() {
		return exit.New(exit.Expectation, "%s", place)
	}
	if r.opt.Scripted != nil {
		for loop, n := range r.opt.Scripted.Unused() {
			if loop == scripted.UnusedSampling {
				return exit.New(exit.Expectation, "%s: %d of sampling_replies were never asked for", r.opt.Script.File, n)
			}
			if loop == "" {
				return exit.New(exit.Expectation, "%s: %d replies were never asked for", r.opt.Script.File, n)
			}
			return exit.New(exit.Expectation, "%s: %d replies of loop %s were never asked for", r.opt.Script.File, n, loop)
		}
	}
	return nil
}

func (r *Runner) misfits() error {
	for _, m := range r.opt.Answers.Misfits() {
		return exit.New(exit.GateRefused, "%s: the answer to gate %s does not fit and was not sent: %s", m.Rule, m.Gate, m.Reason)
	}
	return nil
}

func (r *Runner) step(ctx context.Context, i int, s Step) error {
	from := r.opt.Session.LastSeq()
	if s.Kind == StepParallel {
		return r.parallel(ctx, i, s, from)
	}
	start := time.Now()
	res, err := r.do(ctx, s)
	if err != nil {
		return r.located(s, err)
	}
	return r.conclude(ctx, i, s, res, from, time.Since(start))
}

// conclude completes a step's result with what happened meanwhile, judges it and
// saves what it yields.
func (r *Runner) conclude(ctx context.Context, i int, s Step, res *Result, from uint64, took time.Duration) error {
	if err := r.tape.until(ctx, r.opt.Session.LastSeq()); err != nil {
		return r.located(s, err)
	}
	if s.Kind == StepStatus {
		from = 0 // it tells of the whole run
	}
	res.Gates, res.Notices = r.tape.since(from)
	res.Bindings = r.opt.Port.Bindings()
	res.DurationMS = took.Milliseconds()
	if r.opt.Text != nil && res.Text != "" {
		r.opt.Text(res.Text)
	}
	input, err := decode(res)
	if err != nil {
		return r.located(s, err)
	}
	if err := r.judge(ctx, i, s, res, input); err != nil {
		return err
	}
	return r.save(ctx, s, input)
}

// parallel runs the steps of one all at once and concludes them in their order
// when the last has ended. The gates and notices of that time are everybody's.
func (r *Runner) parallel(ctx context.Context, i int, s Step, from uint64) error {
	start := time.Now()
	type ran struct {
		res  *Result
		err  error
		took time.Duration
	}
	all := make([]ran, len(s.Steps))
	var wg sync.WaitGroup
	for k, inner := range s.Steps {
		wg.Go(func() {
			begun := time.Now()
			res, err := r.do(ctx, inner)
			all[k] = ran{res, err, time.Since(begun)}
		})
	}
	wg.Wait()
	outer, err := done(nil)
	if err != nil {
		return r.located(s, err)
	}
	for k, inner := range s.Steps {
		if all[k].err != nil {
			return r.located(inner, all[k].err)
		}
		if err := r.conclude(ctx, i, inner, all[k].res, from, all[k].took); err != nil {
			return err
		}
		all[k].res.Bindings = []integration.Binding{} // those of the outer result
		outer.Steps = append(outer.Steps, all[k].res)
	}
	return r.conclude(ctx, i, s, outer, from, time.Since(start))
}

// judge applies the step's expectations; a step without any must be ok.
func (r *Runner) judge(ctx context.Context, i int, s Step, res *Result, input any) error {
	if len(s.Expects) == 0 {
		if s.Kind == StepParallel {
			return nil // its steps were judged
		}
		return r.unexpected(s, res)
	}
	var failed error
	for _, e := range s.Expects {
		ok, value, why := e.holds(ctx, input)
		raw, err := json.Marshal(value)
		if err != nil {
			raw = nil
		}
		ev := &event.Expectation{Step: i + 1, Line: e.Line, Expression: e.Text, OK: ok, Reason: why}
		if !ok && len(raw) <= MaxShownValue {
			ev.Value = raw
		}
		if err := r.opt.Session.Publish(ctx, ev); err != nil {
			return r.located(s, err)
		}
		if !ok && failed == nil {
			failed = exit.New(exit.Expectation, "%s:%d: expected %s: %s%s", r.opt.Script.File, e.Line, e.Text, why, unansweredNote(res))
		}
	}
	return failed
}

// unansweredNote names a gate that found no answer: it often explains what an
// expectation misses.
func unansweredNote(res *Result) string {
	for _, g := range res.Gates {
		if g.Reason == gate.ReasonPolicy {
			return fmt.Sprintf("; a %s gate of %s was refused: %s", g.Kind, first(g.Binding, "the session"), first(g.Detail, string(g.Reason)))
		}
	}
	return ""
}

// unexpected is the failure of a step that says nothing of its outcome.
func (r *Runner) unexpected(s Step, res *Result) error {
	outcome, reason := res.Outcome, res.Why()
	if outcome == tool.OK {
		for _, t := range res.Tools {
			if t.Outcome != tool.OK {
				named := t.Tool
				if named == "" { // the reason says that there is no such tool
					named = safetext.Ident(t.Name).String()
				}
				outcome, reason = t.Outcome, named+": "+(&Result{Outcome: t.Outcome, Reason: t.Reason, Text: t.Text}).Why()
				break
			}
		}
	}
	if outcome != tool.OK {
		code := CodeOf(outcome)
		if outcome == res.Outcome {
			code = res.Code()
		}
		e := exit.New(code, "%s:%d: the %s step ended %s: %s", r.opt.Script.File, s.Line, s.Kind, outcome, reason)
		if res.turnCode == session.CodeLimitSteps || res.turnCode == session.CodeLimitCalls {
			e.Code, e.Name = exit.Limit, exit.Limit.String()
		}
		if res.turnCode == session.CodeJournalFailed {
			e.Code, e.Name = exit.Internal, exit.Internal.String()
		}
		if res.turnCode == session.CodeModelError && r.opt.Scripted != nil {
			e.Code, e.Name = exit.Usage, exit.Usage.String() // the script's own replies ran out
		}
		if (e.Code == exit.ToolError || e.Code == exit.GateRefused) && unansweredNote(res) != "" {
			e = exit.New(exit.GateRefused, "%w%s", e, unansweredNote(res))
		}
		if res.integrity {
			e.Code, e.Name = exit.Integrity, exit.Integrity.String()
		}
		return e
	}
	for _, g := range res.Gates {
		if s.Kind == StepStatus {
			break // those were the business of the steps before
		}
		if g.Reason == gate.ReasonPolicy || g.Reason == gate.ReasonTimedOut {
			return exit.New(exit.GateRefused, "%s:%d: a %s gate was refused: %s", r.opt.Script.File, s.Line, g.Kind, first(g.Detail, string(g.Reason)))
		}
	}
	return nil
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return "no reason was given"
}

// CodeOf is the exit code of a call's outcome.
func CodeOf(o tool.Outcome) exit.Code {
	switch o {
	case tool.OK:
		return exit.OK
	case tool.ToolError, tool.Unavailable, tool.SchemaChanged, tool.OverLimit:
		return exit.ToolError
	case tool.Denied:
		return exit.GateRefused
	case tool.InvalidArguments:
		return exit.Usage
	case tool.Timeout:
		return exit.Limit
	case tool.Cancelled:
		return exit.Interrupted
	case tool.Indeterminate, tool.Failed:
		return exit.Unreachable
	}
	return exit.Internal
}

func (r *Runner) save(ctx context.Context, s Step, input any) error {
	for _, sv := range s.Saves {
		got, err := Eval(ctx, sv.expr.code, input)
		if err == nil && len(got) != 1 {
			err = fmt.Errorf("the expression yields %d values, not one", len(got))
		}
		if err != nil {
			return exit.New(exit.Expectation, "%s:%d: cannot save %s: %w", r.opt.Script.File, sv.Line, sv.Name, err)
		}
		raw, err := json.Marshal(got[0])
		if err != nil {
			return exit.New(exit.Expectation, "%s:%d: cannot save %s: %w", r.opt.Script.File, sv.Line, sv.Name, err)
		}
		r.vars[sv.Name] = raw
	}
	return nil
}

// located gives an error the place of its step and the code that it deserves.
func (r *Runner) located(s Step, err error) error {
	code := exit.Of(err)
	var unknownTool *tool.UnknownToolError
	var noLoop *session.NoLoopError
	var args *session.ArgsError
	var journalErr *session.JournalError
	switch {
	case errors.As(err, &unknownTool), errors.As(err, &noLoop), errors.As(err, &args):
		code = exit.Usage
	case errors.As(err, &journalErr):
		code = exit.Internal
	case errors.Is(err, context.DeadlineExceeded):
		code = exit.Limit
	case errors.Is(err, context.Canceled):
		code = exit.Interrupted
	}
	out := exit.New(code, "%s:%d: %w", r.opt.Script.File, s.Line, err)
	var e *exit.Error
	if errors.As(err, &e) {
		out.Binding, out.Class, out.Hint = e.Binding, e.Class, e.Hint
	}
	return out
}
