package main

import (
	"github.com/spf13/cobra"
)

// How many rows the listings show unasked.
const (
	tailEntries  = 20
	listSessions = 100
)

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

func (c *command) sessions() *cobra.Command {
	cmd := &cobra.Command{Use: "sessions", Short: "Look at past and present sessions", Example: "  looprig sessions list"}
	var limit int
	list := &cobra.Command{
		Use: "list", Short: "List sessions, newest first", Example: "  looprig sessions list -n 5", Args: takes(),
		RunE: c.do(func(cmd *cobra.Command, _ []string) error { return c.SessionsList(cmd.Context(), limit) }),
	}
	list.Flags().IntVarP(&limit, "number", "n", listSessions, "how many sessions")
	c.addOutput(list, "text or json (NDJSON, one session a line)")
	show := &cobra.Command{
		Use: "show SESSION", Short: "Show a session's events; the beginning of its id is enough", Args: takes("SESSION"),
		Example: "  looprig sessions show 01J --output json   # the journal's own bytes",
		RunE:    c.do(func(cmd *cobra.Command, args []string) error { return c.SessionsShow(cmd.Context(), args[0]) }),
	}
	c.addOutput(show, "text or json (the journal's own lines)")
	return c.group(cmd, list, show)
}
