package main

import (
	"errors"
	"fmt"
	"io"

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

// report is the one place where a failure is printed.
func (c *command) report(_ io.Writer, _ fang.Styles, err error) {
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

// group makes a command that only holds others: alone it shows its help, and
// what it does not know is usage.
func (c *command) group(cmd *cobra.Command, subs ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(subs...)
	cmd.SuggestionsMinimumDistance = 2
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		hint := ""
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			hint = fmt.Sprintf(" (did you mean %q?)", near[0])
		}
		return fmt.Errorf("%s has no command %q%s", cmd.CommandPath(), args[0], hint)
	}
	return cmd
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
