package main

import (
	"github.com/spf13/cobra"
)

func (c *command) models() *cobra.Command {
	cmd := &cobra.Command{
		Use: "models", Short: "List the models that can be reached, and why the others cannot", Args: takes(),
		Example: "  looprig models\n  looprig models --output json",
		RunE:    c.do(func(cmd *cobra.Command, _ []string) error { return c.Models(cmd.Context()) }),
	}
	c.addOutput(cmd, "text or json (NDJSON, one endpoint a line)")
	return cmd
}
