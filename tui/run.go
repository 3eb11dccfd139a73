package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/looprig/looprig/tui/cells"
)

// signalGrace is how long an orderly end may take after a signal before the
// program is stopped where it stands; the terminal is restored either way.
const signalGrace = 2 * time.Second

// ErrIncomplete says that a required option is missing.
var ErrIncomplete = errors.New("the interface needs a session, events, a port, stdin and stdout")

// Run shows the interface until the person quits, ctx ends, a signal arrives
// (SIGINT, SIGTERM, SIGHUP) or something panics, and restores the terminal in
// every case. Cancelling ctx is how a crash elsewhere gets the terminal back:
// when Run has returned, the terminal is the shell's again. A panic is returned
// as a *CrashError.
func Run(ctx context.Context, o Options) (Result, error) {
	if o.Session == nil || o.Events == nil || o.Port == nil || o.Stdin == nil || o.Stdout == nil {
		return Result{}, ErrIncomplete
	}
	if o.Clock == nil {
		o.Clock = systemClock{}
	}
	if o.Operator == "" {
		o.Operator = "local"
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	m, err := newModel(ctx, o)
	if err != nil {
		return Result{}, err
	}
	cells.CountClusters(false) // as a new renderer begins
	g := &guard{m: m, kill: cancel}
	in := &terminalInput{File: o.Stdin}
	p := tea.NewProgram(g, programOptions(ctx, o, in)...)

	var wg sync.WaitGroup
	wg.Go(func() { watchSignals(ctx, p, cancel) })
	pm := &pump{events: o.Events, send: p.Send, crash: func(v any) { p.Send(crashMsg{g.report(v)}) }}
	wg.Go(func() { pm.run(ctx) })

	_, err = p.Run()
	outside := ctx.Err() != nil && g.crashed() == nil && !m.quitting
	cancel()
	wg.Wait()
	return outcome(m, g, outside, err)
}

func outcome(m *model, g *guard, outside bool, err error) (Result, error) {
	if c := g.crashed(); c != nil {
		return Result{Reason: ReasonCrash, History: m.cp.History()}, c
	}
	if m.quitting {
		return m.result, nil
	}
	r := Result{Reason: ReasonCancelled, History: m.cp.History()}
	if outside || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("terminal: %w", err)
	}
	return r, nil
}

func programOptions(ctx context.Context, o Options, in *terminalInput) []tea.ProgramOption {
	opts := []tea.ProgramOption{tea.WithContext(ctx), tea.WithInput(in), tea.WithFilter(in.pasted), tea.WithOutput(o.Stdout), tea.WithoutSignalHandler()}
	if o.Env != nil {
		opts = append(opts, tea.WithEnvironment(o.Env))
	}
	if o.NoColor {
		opts = append(opts, tea.WithColorProfile(colorprofile.Ascii))
	}
	return opts
}

// watchSignals ends the program on a signal: by asking, and after a while by
// force. Bubble Tea knows nothing of SIGHUP, so all three are handled here.
func watchSignals(ctx context.Context, p *tea.Program, kill func()) {
	ch := make(chan os.Signal, 2)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(ch)
	select {
	case <-ctx.Done():
		return
	case s := <-ch:
		timer := time.AfterFunc(signalGrace, kill)
		defer timer.Stop()
		p.Send(quitMsg{signal: s.String()})
	}
	<-ctx.Done()
}
