package main

import (
	"github.com/spf13/cobra"

	"github.com/looprig/looprig/compose/cli"
)

func (c *command) call() *cobra.Command {
	var f cli.CallOptions
	cmd := &cobra.Command{
		Use:   "call BINDING TOOL",
		Short: "Call one tool through policy, gates, journal and ledger",
		Example: "  looprig call demo add --arg a=2 --arg b=3\n" +
			"  looprig call demo add --args '{\"a\":2,\"b\":3}' --query .structured.sum",
		Args: takes("BINDING", "TOOL"),
	}
	cmd.RunE = c.do(func(cmd *cobra.Command, args []string) error { return c.Call(cmd.Context(), args[0], args[1], f) })
	l := cmd.Flags()
	l.StringArrayVar(&f.Args, "arg", nil, "one argument, `k=v`, read by the tool's schema")
	l.StringVar(&f.JSON, "args", "", "all arguments as `JSON`, @FILE or - for stdin")
	l.StringVar(&f.Query, "query", "", "print what this `JQ` expression makes of the result")
	l.StringVar(&f.Save, "save", "", "write the output to this `FILE` instead of stdout")
	l.DurationVar(&f.Timeout, "timeout", 0, "give up after this time, with exit code 8")
	c.addRun(cmd)
	c.addTrace(cmd)
	c.addOutput(cmd, "text, result (one JSON object) or json (NDJSON, one event a line)")
	return cmd
}

func (c *command) inspect() *cobra.Command {
	var f cli.InspectOptions
	cmd := &cobra.Command{
		Use: "inspect [BINDING]", Short: "Show what servers offer",
		Example: "  looprig inspect demo --kind tools --schema\n  looprig inspect demo --kind resources\n  looprig inspect --output json",
		Args:    cobra.MaximumNArgs(1),
	}
	cmd.RunE = c.do(func(cmd *cobra.Command, args []string) error {
		return c.Inspect(cmd.Context(), append(args, "")[0], f)
	})
	cmd.Flags().StringVar(&f.Kind, "kind", "", "only tools, prompts, resources or templates")
	cmd.Flags().BoolVar(&f.Schema, "schema", false, "with the input schemas")
	c.addRun(cmd)
	c.addTrace(cmd)
	c.addOutput(cmd, "text or json (NDJSON, one item a line)")
	return cmd
}
