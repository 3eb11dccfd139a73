package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/looprig/looprig/compose/cli"
)

func (c *command) read() *cobra.Command {
	var f cli.FetchOptions
	cmd := &cobra.Command{
		Use: "read BINDING URI", Short: "Read one resource of a server",
		Example: "  looprig read demo demo://readme\n  looprig read demo demo://readme --save readme.md",
		Args:    takes("BINDING", "URI"),
	}
	cmd.RunE = c.do(func(cmd *cobra.Command, args []string) error { return c.Read(cmd.Context(), args[0], args[1], f) })
	c.addFetch(cmd, &f)
	return cmd
}

func (c *command) prompt() *cobra.Command {
	var f cli.FetchOptions
	cmd := &cobra.Command{
		Use: "prompt BINDING NAME", Short: "Get one prompt of a server, filled in",
		Example: "  looprig prompt demo greet --arg who=Ada\n  looprig prompt demo greet --arg who=Ada --query '.messages[0].role'",
		Args:    takes("BINDING", "NAME"),
	}
	cmd.RunE = c.do(func(cmd *cobra.Command, args []string) error { return c.Prompt(cmd.Context(), args[0], args[1], f) })
	cmd.Flags().StringArrayVar(&f.Args, "arg", nil, "one argument, `k=v`")
	c.addFetch(cmd, &f)
	return cmd
}

func (c *command) addFetch(cmd *cobra.Command, f *cli.FetchOptions) {
	l := cmd.Flags()
	l.StringVar(&f.Query, "query", "", "print what this `JQ` expression makes of the result")
	l.StringVar(&f.Save, "save", "", "write the content (or the query's output) to this `FILE` instead of stdout")
	l.DurationVar(&f.Timeout, "timeout", 0, "give up after this time, with exit code 8")
	c.addRun(cmd)
	c.addTrace(cmd)
	c.addOutput(cmd, "text or json (one object)")
}

func (c *command) rpc() *cobra.Command {
	var f cli.FetchOptions
	cmd := &cobra.Command{
		Use: "rpc BINDING METHOD [PARAMS|@FILE|-]", Short: "Send one raw request to a server; never a tool call",
		Example: "  looprig rpc demo tools/list\n  looprig rpc demo resources/read '{\"uri\":\"demo://readme\"}' --trace frames.ndjson",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) < 2:
				return errors.New("looprig rpc needs BINDING and METHOD")
			case len(args) > 3:
				return errors.New("looprig rpc takes BINDING, METHOD and PARAMS and nothing more: quote the parameters")
			}
			return nil
		},
	}
	cmd.RunE = c.do(func(cmd *cobra.Command, args []string) error {
		return c.RPC(cmd.Context(), args[0], args[1], append(args, "")[2], f)
	})
	cmd.Flags().DurationVar(&f.Timeout, "timeout", 0, "give up after this time, with exit code 8")
	c.addRun(cmd)
	c.addTrace(cmd)
	c.addOutput(cmd, "text (indented) or json (one line)")
	return cmd
}

// addTrace adds the flag of commands whose protocol messages can be looked at.
func (c *command) addTrace(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.TraceFile, "trace", "", "write every protocol message, secrets masked, to this `FILE` (NDJSON)")
}
