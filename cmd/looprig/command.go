package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"charm.land/fang/v2"
	"github.com/spf13/cobra"

	"github.com/looprig/looprig/compose/cli"
	"github.com/looprig/looprig/compose/exit"
)

// command builds the commands around one invocation.
type command struct {
	*cli.CLI
	// args are the process's arguments.
	args []string
	// ran says that a command's own code was reached: what is refused before
	// that is usage.
	ran bool
}

// do wraps a command's body.
func (c *command) do(body func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c.ran = true
		return body(cmd, args)
	}
}

// execute runs the command that the arguments name. Only what shows help goes
// through fang: it asks the terminal for its colours, also on its way to an
// error, and a terminal that does not answer would hold up every failure.
func (c *command) execute(ctx context.Context, root *cobra.Command) error {
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetArgs(c.args)
	if c.showsHelp(root) {
		return fang.Execute(ctx, root, fang.WithoutVersion(), fang.WithoutManpage(),
			fang.WithErrorHandler(func(io.Writer, fang.Styles, error) {}))
	}
	return root.ExecuteContext(ctx)
}

// showsHelp reports whether the arguments ask for help, completions, or a
// command that only holds others.
func (c *command) showsHelp(root *cobra.Command) bool {
	if slices.Contains(c.args, "-h") || slices.Contains(c.args, "--help") {
		return true
	}
	if len(c.args) > 0 && (c.args[0] == "help" || c.args[0] == "completion") {
		return true
	}
	cmd, rest, err := root.Find(c.args)
	return err == nil && cmd != root && cmd.HasSubCommands() && len(rest) == 0
}

// report is the one place where a failure is printed.
func (c *command) report(err error) {
	var e *exit.Error
	if !errors.As(err, &e) && !c.ran {
		err = exit.New(exit.Usage, "%w", err).WithHint("looprig --help lists the commands, looprig COMMAND --help their flags")
	}
	exit.Report(c.Stderr, err, c.Output == cli.OutputJSON || asksForJSON(c.args))
}

// asksForJSON looks for --output json among arguments that were refused before
// they were read.
func asksForJSON(args []string) bool {
	for i, a := range args {
		if a == "--output="+cli.OutputJSON || (a == "--output" && i+1 < len(args) && args[i+1] == cli.OutputJSON) {
			return true
		}
	}
	return false
}

// takes checks that a command got exactly the arguments that its usage names.
func takes(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return fmt.Errorf("%s needs %s: %s is missing", cmd.CommandPath(), strings.Join(names, " and "), names[len(args)])
		case len(args) > len(names):
			return fmt.Errorf("%s takes %s and nothing more: what is %q?", cmd.CommandPath(), orNothing(names), args[len(names)])
		}
		return nil
	}
}

func orNothing(names []string) string {
	if len(names) == 0 {
		return "no arguments"
	}
	return strings.Join(names, " and ")
}

// group makes a command that only holds others: alone it shows its help, and
// what it does not know is usage.
func (c *command) group(cmd *cobra.Command, subs ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(subs...)
	cmd.SuggestionsMinimumDistance = 2
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return noCommand(cmd, args[0])
	}
	return cmd
}

func noCommand(cmd *cobra.Command, name string) error {
	hint := ""
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		hint = fmt.Sprintf(" (did you mean %q?)", near[0])
	}
	return fmt.Errorf("%s has no command %q%s", cmd.CommandPath(), name, hint)
}

// code is the exit code of a failure.
func (c *command) code(err error) exit.Code {
	if code := exit.Of(err); code != exit.Internal || c.ran {
		return code
	}
	return exit.Usage
}

func (c *command) addOutput(cmd *cobra.Command, choices string) {
	cmd.Flags().StringVar(&c.Output, "output", cli.OutputText, "what stdout carries: "+choices)
}

// addRun adds the flags of commands that run servers without a person.
func (c *command) addRun(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.AnswersFile, "answers", "", "answer gates from this `FILE`")
	f.BoolVar(&c.Tofu, "tofu", false, "accept launches that were never pinned, on record")
	f.StringArrayVar(&c.Allow, "allow", nil, "allow tools that match this `GLOB` (mcp:binding:tool)")
	f.StringArrayVar(&c.Deny, "deny", nil, "deny tools that match this `GLOB`")
}
