package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/charmbracelet/x/term"

	"github.com/looprig/looprig/compose"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/compose/headless"
	"github.com/looprig/looprig/tui"
)

// RootOptions are the flags of looprig itself.
type RootOptions struct {
	Headless  bool
	Script    string
	Prompt    string
	Model     string
	Theme     string
	Timeout   time.Duration
	Ephemeral bool
	// Reports of a script: "junit=FILE" or "github".
	Reports []string
	// Record is where a script of the session is written to, when it ends.
	Record string
	// Resume is a session's id or its beginning, Continue takes the one used last;
	// Fork goes on with a copy up to a turn, "" for the last. AcceptDrift goes on
	// under a configuration that has changed.
	Resume      string
	Continue    bool
	Fork        bool
	ForkTurn    string
	AcceptDrift bool
}

// Root opens the interface, or runs a script without one.
func (c *CLI) Root(ctx context.Context, f RootOptions) error {
	if err := c.checkOutput(OutputText, OutputJSON); err != nil {
		return err
	}
	if err := f.checkResume(); err != nil {
		return err
	}
	if f.Headless || f.Script != "" || f.Prompt != "" {
		return c.headless(ctx, f)
	}
	if len(f.Reports) > 0 {
		return exit.New(exit.Usage, "--report belongs to runs without the interface: give --headless and a script")
	}
	if !term.IsTerminal(c.Stdin.Fd()) || !term.IsTerminal(c.Stdout.Fd()) {
		return exit.New(exit.Usage, "stdin or stdout is not a terminal, so there is no interface: "+
			"run a script (looprig --headless --script FILE) or one call (looprig call BINDING TOOL)")
	}
	return c.terminal(ctx, f)
}

func (c *CLI) terminal(ctx context.Context, f RootOptions) error {
	if c.TraceFile != "" {
		return exit.New(exit.Usage, "--trace belongs to runs without the interface, which shows the messages of a binding itself")
	}
	if dumb, _ := c.env()("TERM"); dumb == "dumb" {
		return exit.New(exit.Usage, "TERM is dumb: the interface needs a terminal that can move its cursor").
			WithHint("run a script: looprig --headless --script FILE")
	}
	warm := tui.Warm()
	defer warm()
	opt := c.options(compose.ModeInteractive)
	opt.Model, opt.FindModel = f.Model, true
	opt.Resume = f.resume(c.askDrift)
	var err error
	if opt.Record, err = c.openRecording(f.Record); err != nil {
		return err
	}
	_, noColor := c.env()("NO_COLOR")
	for {
		a, err := compose.Open(ctx, opt)
		if err != nil {
			return endOf(ctx, err) // between two sessions the keys are not the interface's yet
		}
		res, err := compose.RunTerminal(ctx, a, compose.TerminalOptions{
			Stdin: c.Stdin, Stdout: c.Stdout, Theme: f.Theme, NoColor: c.NoColor || noColor,
		})
		if err == nil && res.Next != nil {
			opt.Record = nil // one file holds one session
			opt.Resume = &compose.Resume{ID: res.Next.ID, Fork: res.Next.Fork, AcceptDrift: f.AcceptDrift, Decide: c.askDrift}
			continue
		}
		return c.left(a, err)
	}
}

// left says how the session that was left can be gone on with.
func (c *CLI) left(a *compose.App, err error) error {
	if err == nil {
		fmt.Fprintf(c.Stdout, "session %s · looprig --resume %s\n", a.Session.ID(), a.Session.ID())
	}
	return err
}

// prompt runs one prompt with the model that is named, else with one that is
// found.
func (c *CLI) prompt(ctx context.Context, f RootOptions) error {
	text := f.Prompt
	if text == "-" {
		src, err := c.source(ctx, "-p", "-")
		if err != nil {
			return err
		}
		text = string(src)
	}
	script, err := headless.Prompt(text)
	if err != nil {
		return exit.New(exit.Usage, "%w", err)
	}
	script.Model = f.Model
	return c.runScript(ctx, f, script)
}

func (c *CLI) headless(ctx context.Context, f RootOptions) error {
	switch {
	case f.Script != "" && f.Prompt != "":
		return exit.New(exit.Usage, "give --script or -p, not both")
	case f.Script == "" && f.Prompt == "":
		return exit.New(exit.Usage, "--headless needs --script FILE or -p TEXT")
	case f.Prompt != "":
		return c.prompt(ctx, f)
	}
	if err := scriptModel(f); err != nil {
		return err
	}
	src, err := c.source(ctx, "--script", f.Script)
	if err != nil {
		return err
	}
	script, err := headless.LoadScript(f.Script, src, c.env())
	if err != nil {
		return exit.New(exit.Usage, "%w", err)
	}
	return c.runScript(ctx, f, script)
}
