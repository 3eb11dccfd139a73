package compose

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/session"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/tui"
)

// TerminalOptions are what the interface needs beyond the App.
type TerminalOptions struct {
	Stdin, Stdout *os.File
	Theme         string
	NoColor       bool
}

// RunTerminal shows the interface until the person quits. Servers start behind
// it: the first frame waits for none of them. Afterwards the App is closed.
func RunTerminal(ctx context.Context, a *App, o TerminalOptions) (tui.Result, error) {
	sub, err := a.transcript(ctx)
	if err != nil {
		return tui.Result{}, errors.Join(exit.New(exit.Internal, "%w", err), a.Close(session.CloseInfo{ExitCode: 1, Reason: "error"}))
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	a.OnCrash(stop)
	started := make(chan struct{})
	shown := make(chan struct{})
	go func() {
		defer close(started)
		awaitFrame(ctx, shown)
		var probed sync.WaitGroup
		defer probed.Wait()
		probed.Go(func() { a.crash.guard(func() { a.runProbe(ctx) }) })
		a.crash.guard(func() {
			if err := a.Start(ctx); err != nil && ctx.Err() == nil {
				stop(err) // a required binding failed: the session does not come up
			}
		})
	}()
	theme := o.Theme
	if theme == "" {
		theme = a.conf.UI.Theme
	}
	save := ""
	if a.opt.MCPConfig == "" {
		save = MCPPath(a.home)
	}
	res, err := tui.Run(ctx, tui.Options{
		Session: terminalSession{app: a}, Events: sub, Port: a.Port, Opener: newOpener(a.opt.Env, a.home),
		Sessions: keptSessions{app: a}, Context: terminalContext{terminalSession{app: a}},
		Grants: terminalSession{app: a}, Loops: terminalSession{app: a},
		Stdin: o.Stdin, Stdout: o.Stdout, Env: a.opt.Env, Theme: theme, NoColor: o.NoColor, Keys: a.conf.UI.Keys,
		Title: a.opt.Title, Operator: a.opt.By, SaveTarget: save, Shown: func() { close(shown) },
	})
	cause := context.Cause(ctx)
	stop(nil)
	<-started
	sub.Close()
	code, reason := exit.OK, res.Reason
	var start *exit.Error
	switch {
	case err != nil:
		code, reason = exit.Internal, "crash"
	case errors.As(cause, &start):
		code, reason, err = start.Code, "start_failed", start
	case res.Reason == tui.ReasonSignal, res.Reason == tui.ReasonCancelled:
		code, reason = exit.Interrupted, "interrupted"
		err = exit.New(exit.Interrupted, "interrupted")
	}
	return res, errors.Join(err, a.Close(session.CloseInfo{ExitCode: int(code), Reason: reason}))
}

// frameWait is how long the servers wait for the first frame. A terminal that
// does not tell its size in that time draws when it can.
const frameWait = 500 * time.Millisecond

// awaitFrame lets the first frame come first: starting servers would compete
// with it for the processor.
func awaitFrame(ctx context.Context, shown <-chan struct{}) {
	timer := time.NewTimer(frameWait)
	defer timer.Stop()
	select {
	case <-shown:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// terminalSession is the session as the interface sees it: the loop that the
// person speaks to.
type terminalSession struct{ app *App }

var _ tui.Session = terminalSession{}

func (t terminalSession) by() gate.Answerer {
	return gate.Answerer{Kind: gate.AnswererPerson, ID: t.app.opt.By}
}

func (t terminalSession) ID() string     { return t.app.Session.ID() }
func (t terminalSession) Model() string  { return t.loop().ModelDisplay }
func (t terminalSession) Operator() bool { return t.loop().Model == "operator" }

func (t terminalSession) Submit(ctx context.Context, text string) error {
	if err := t.app.awaitProbe(ctx); err != nil {
		return err
	}
	_, err := t.app.Session.SubmitTo(ctx, t.loop().ID, session.Input{Text: text, Origin: t.by()})
	return err
}

func (t terminalSession) Call(ctx context.Context, name string, args json.RawMessage) error {
	_, err := t.app.Session.SubmitTo(ctx, t.loop().ID, session.Input{Call: &session.CallInput{Tool: name, Args: args}, Origin: t.by()})
	return err
}

func (t terminalSession) Interrupt(ctx context.Context) error {
	return t.app.Session.Interrupt(ctx, t.loop().ID, t.by())
}

func (t terminalSession) RespondGate(ctx context.Context, id string, r gate.Response) error {
	r.Answerer = t.by()
	return t.app.Session.RespondGate(ctx, id, r)
}

func (t terminalSession) Gates() []gate.Envelope {
	open := t.app.Session.Gates()
	for i := range open {
		open[i] = revealed(open[i])
	}
	return open
}

func (t terminalSession) Tools() []tool.Definition {
	if set := t.app.Session.Tools(t.loop().ID); set != nil {
		return set.Definitions()
	}
	return nil
}

func (t terminalSession) Resolve(spelling string) (tool.Definition, error) {
	set := t.app.Session.Tools(t.loop().ID)
	if set == nil {
		return tool.Definition{}, &session.NoLoopError{}
	}
	return set.Resolve(spelling)
}
