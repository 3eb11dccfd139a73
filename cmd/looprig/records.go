package main

import (
	"github.com/spf13/cobra"
)

// tailEntries is how many entries are shown unasked.
const tailEntries = 20

func (c *command) ledger() *cobra.Command {
	cmd := &cobra.Command{Use: "ledger", Short: "Look at and verify the record of decisions and calls", Example: "  looprig ledger verify"}
	verify := &cobra.Command{
		Use: "verify", Short: "Check the whole chain; exit code 9 names the first bad entry", Example: "  looprig ledger verify --output json", Args: takes(),
		RunE: c.do(func(cmd *cobra.Command, _ []string) error { return c.LedgerVerify(cmd.Context()) }),
	}
	c.addOutput(verify, "text or json")
	var n int
	tail := &cobra.Command{
		Use: "tail", Short: "Show the newest entries", Example: "  looprig ledger tail -n 20", Args: takes(),
		RunE: c.do(func(cmd *cobra.Command, _ []string) error { return c.LedgerTail(cmd.Context(), n) }),
	}
	tail.Flags().IntVarP(&n, "number", "n", tailEntries, "how many entries")
	c.addOutput(tail, "text or json (NDJSON, one entry a line)")
	return c.group(cmd, verify, tail)
}
