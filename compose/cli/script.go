package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/looprig/looprig/compose"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/compose/headless"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/model/scripted"
	"github.com/looprig/looprig/harness/session"
	"github.com/looprig/looprig/internal/safetext"
)

func (c *CLI) runScript(ctx context.Context, f RootOptions, script *headless.Script) (err error) {
	rep, err := openReports(f.Reports, script)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rep.finish(c, err)) }()
	set, err := c.answers(gate.AnswererScript, script.File, script.Answers)
	if err != nil {
		return err
	}
	opt := c.options(compose.ModeHeadless)
	opt.Title, opt.By = script.File, script.File
	opt.Servers, opt.Answers, opt.Model = script.Servers, set, script.Model
	opt.FindModel = f.Prompt != ""
	opt.Loops = script.Loops
	opt.Resume, opt.Attended = f.resume(nil), script.Attended
	if opt.Record, err = c.openRecording(f.Record); err != nil {
		return err
	}
	opt.Policy.Allow = append(opt.Policy.Allow, script.Policy.Allow...)
	opt.Policy.Deny = append(opt.Policy.Deny, script.Policy.Deny...)
	opt.Policy.Ask, opt.Policy.Operator = script.Policy.Ask, script.Policy.Operator
	if script.Model == scripted.Name {
		opt.Scripted = scripted.New(script.Replies)
	}
	ctx, cancel, err := limited(ctx, f.Timeout)
	if err != nil {
		return err
	}
	defer cancel()
	var out texts
	err = c.withApp(ctx, opt, f.Ephemeral, func(ctx context.Context, a *compose.App) error {
		return headless.Run(ctx, headless.Options{
			Script: script, Session: a.Session, Port: a.Port, Reader: a.Port, Define: a.Port.Define, Settle: a.Port.Settle,
			Answers: set, Scripted: opt.Scripted, Text: c.text(&out), Ended: rep.ended,
		})
	})
	return errors.Join(err, out.failed())
}

// texts keeps the first failure of writing a run's text, which parallel steps
// print.
type texts struct {
	mu  sync.Mutex
	err error
}

func (t *texts) note(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = err
	}
}

func (t *texts) failed() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		return nil
	}
	return exit.New(exit.Internal, "the text of the run cannot be written: %w", t.err)
}

// text prints a step's text for people; with NDJSON there is none.
func (c *CLI) text(out *texts) func(string) {
	if c.Output != OutputText {
		return nil
	}
	return func(t string) { out.note(c.printf("%s\n", safetext.ToBlock(t))) }
}

// EndSignals are the signals that ask looprig to end.
func EndSignals() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} }

// withApp opens a run, starts its servers, does the work and closes it all with
// the exit code in its last event.
func (c *CLI) withApp(ctx context.Context, opt compose.Options, ephemeral bool, work func(context.Context, *compose.App) error) (err error) {
	var events *headless.Writer
	frames, err := openTrace(c.TraceFile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, frames.close(c)) }()
	opt.Drain = func() error {
		if events == nil {
			return nil
		}
		// The run is over, and whoever asked for that got it; to be asked again
		// while the reader of stdout does not read is to leave without it.
		ctx, stop := signal.NotifyContext(context.Background(), EndSignals()...)
		defer stop()
		return errors.Join(events.Wait(ctx), frames.wait(ctx))
	}
	a, err := compose.Open(ctx, opt)
	if err != nil {
		return endOf(ctx, err)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	a.OnCrash(stop)
	if c.Output == OutputJSON {
		events, err = headless.WriteEvents(a.Session, c.Stdout, ephemeral, func(err error) {
			stop(exit.New(exit.Internal, "the events cannot be written, so the run was ended: %w", err))
		})
	} else {
		events, err = headless.WriteNotices(a.Session, c.Stderr)
	}
	if err == nil {
		err = frames.follow(a, stop)
	}
	if err != nil {
		return errors.Join(err, a.Close(session.CloseInfo{ExitCode: int(exit.Internal), Reason: exit.Internal.String()}))
	}
	err = a.Start(ctx)
	if err == nil {
		err = work(ctx, a)
	}
	err = endOf(ctx, err)
	code := exit.Of(err)
	reason := "completed"
	if code != exit.OK {
		reason = code.String()
	}
	closing := a.Close(session.CloseInfo{ExitCode: int(code), Reason: reason})
	if err == nil && errors.Is(closing, headless.ErrUnread) {
		err = exit.New(exit.Interrupted, "interrupted after the end of the run")
	}
	return a.CloseFault(err, closing)
}
