package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"github.com/looprig/looprig/compose"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/compose/headless"
)

// rootFlags are the flags of looprig itself.
type rootFlags struct {
	headless  bool
	script    string
	prompt    string
	model     string
	theme     string
	timeout   time.Duration
	ephemeral bool
}

func rootCommand(s *state) *cobra.Command {
	var f rootFlags
	cmd := &cobra.Command{
		Use:   "looprig",
		Short: "A terminal companion for MCP servers and the agents that use them",
		Long: "looprig runs MCP servers, shows what they offer, asks before their tools run, and keeps a\n" +
			"journal and a ledger of all of it. Without a configuration it starts on its own demo server.",
		Example: "  looprig                                          # the interface\n" +
			"  looprig --headless --script examples/first-run.yaml --output json\n" +
			"  looprig call demo add --arg a=2 --arg b=3",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.RunE = s.do(func(cmd *cobra.Command, _ []string) error { return s.root(cmd.Context(), f) })
	g := cmd.PersistentFlags()
	g.StringVar(&s.home, "home", "", "the `DIR` of configuration, pins and journal (default $LOOPRIG_HOME, else ~/.looprig)")
	g.StringVar(&s.mcpConfig, "mcp-config", "", "use this `FILE`'s servers instead of the home's mcp.json")
	g.StringVar(&s.configFile, "config", "", "use this `FILE` instead of the home's config.yaml")
	g.BoolVar(&s.noColor, "no-color", false, "no colours")
	g.BoolVar(&s.strict, "strict-mcp", false, "treat every server as required")
	l := cmd.Flags()
	l.BoolVar(&f.headless, "headless", false, "run without the interface: a script or one prompt")
	l.StringVar(&f.script, "script", "", "run this `FILE` (- for stdin)")
	l.StringVarP(&f.prompt, "prompt", "p", "", "one prompt (- for stdin)")
	l.StringVar(&f.model, "model", "", "the model (this version knows: operator)")
	l.StringVar(&f.theme, "theme", "", "auto, light, dark, mono or contrast")
	l.DurationVar(&f.timeout, "timeout", 0, "end the run after this time, with exit code 8")
	l.BoolVar(&f.ephemeral, "include-ephemeral", false, "with --output json, the ephemeral events as well")
	s.addRun(cmd)
	s.addOutput(cmd, "text or json (NDJSON, one event a line)")
	cmd.AddCommand(callCommand(s), inspectCommand(s), mcpCommand(s), ledgerCommand(s), sessionsCommand(s), demoCommand(s), versionCommand(s))
	return cmd
}

func (s *state) root(ctx context.Context, f rootFlags) error {
	if err := s.checkOutput(outputText, outputJSON); err != nil {
		return err
	}
	if f.headless || f.script != "" || f.prompt != "" {
		return s.headless(ctx, f)
	}
	if !term.IsTerminal(s.stdin.Fd()) || !term.IsTerminal(s.stdout.Fd()) {
		return exit.New(exit.Usage, "stdin or stdout is not a terminal, so there is no interface").
			WithHint("run a script: looprig --headless --script FILE, or one call: looprig call BINDING TOOL")
	}
	return s.terminal(ctx, f)
}

func (s *state) terminal(ctx context.Context, f rootFlags) error {
	if f.model != "" && f.model != "operator" {
		return unknownModel(f.model)
	}
	if dumb, _ := s.lookup()("TERM"); dumb == "dumb" {
		return exit.New(exit.Usage, "TERM is dumb: the interface needs a terminal that can move its cursor").
			WithHint("run a script: looprig --headless --script FILE")
	}
	a, err := compose.Open(ctx, s.options(compose.ModeInteractive))
	if err != nil {
		return err
	}
	_, noColor := s.lookup()("NO_COLOR")
	_, err = compose.RunTerminal(ctx, a, compose.TerminalOptions{
		Stdin: s.stdin, Stdout: s.stdout, Theme: f.theme, NoColor: s.noColor || noColor,
	})
	if err == nil {
		fmt.Fprintf(s.stdout, "session %s · looprig sessions show %s\n", a.Session.ID(), a.Session.ID())
	}
	return err
}

func unknownModel(name string) error {
	return exit.New(exit.Usage, "the model %q is not known; this version has: operator (you choose the calls), and scripted replies in a script", name)
}

// errNoModel lists what a headless prompt can do without a model.
func errNoModel() error {
	return exit.New(exit.Usage, "no model is configured, so nobody can answer a prompt").WithHint(
		"three ways on: declare replies in a script (looprig --headless --script FILE), call a tool yourself (looprig call BINDING TOOL), or open the interface (looprig)")
}

func (s *state) headless(ctx context.Context, f rootFlags) error {
	switch {
	case f.script != "" && f.prompt != "":
		return exit.New(exit.Usage, "give --script or -p, not both")
	case f.script == "" && f.prompt == "":
		return exit.New(exit.Usage, "--headless needs --script FILE or -p TEXT")
	case f.model != "" && f.model != "operator":
		return unknownModel(f.model)
	case f.prompt != "":
		return errNoModel()
	}
	src, err := s.source(f.script)
	if err != nil {
		return err
	}
	script, err := headless.LoadScript(f.script, src, s.lookup())
	if err != nil {
		return exit.New(exit.Usage, "%w", err)
	}
	return s.runScript(ctx, f, script)
}

// maxScript bounds a script on stdin.
const maxScript = 4 << 20

func (s *state) source(path string) ([]byte, error) {
	if path != "-" {
		src, err := os.ReadFile(path) //nolint:gosec // the operator's own choice
		if err != nil {
			return nil, exit.New(exit.Usage, "%w", err)
		}
		return src, nil
	}
	src, err := io.ReadAll(io.LimitReader(s.stdin, maxScript+1))
	if err != nil {
		return nil, exit.New(exit.Usage, "stdin: %w", err)
	}
	if len(src) > maxScript {
		return nil, exit.New(exit.Usage, "stdin: over the limit of %d bytes", maxScript)
	}
	return src, nil
}

// limited gives a run its time; timedOut tells whether that is why it ended.
func limited(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d)
}

// endOf finds the real reason of a failure once a context has ended.
func endOf(ctx context.Context, err error) error {
	switch {
	case err == nil || exit.Of(err) == exit.Integrity:
		return err
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return exit.New(exit.Limit, "the run's time limit ended it: %w", err)
	case errors.Is(ctx.Err(), context.Canceled):
		return exit.New(exit.Interrupted, "interrupted: %w", err)
	}
	return err
}
