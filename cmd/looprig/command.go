package main

import (
	"errors"
	"io"

	"charm.land/fang/v2"
	"github.com/spf13/cobra"

	"github.com/looprig/looprig/compose/cli"
	"github.com/looprig/looprig/compose/exit"
)

// command builds the commands around one invocation.
type command struct {
	*cli.CLI
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
	exit.Report(c.Stderr, err, c.Output == cli.OutputJSON)
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
