package main

import (
	"github.com/spf13/cobra"

	"github.com/looprig/looprig/compose/cli"
)

// tailEntries is how many entries are shown unasked.
const tailEntries = 20

func (c *command) ledger() *cobra.Command {
	cmd := &cobra.Command{Use: "ledger", Short: "Look at and verify the record of decisions and calls", Example: "  looprig ledger verify"}
	var n int
	tail := &cobra.Command{
		Use: "tail", Short: "Show the newest entries", Example: "  looprig ledger tail -n 20", Args: takes(),
		RunE: c.do(func(cmd *cobra.Command, _ []string) error { return c.LedgerTail(cmd.Context(), n) }),
	}
	tail.Flags().IntVarP(&n, "number", "n", tailEntries, "how many entries")
	c.addOutput(tail, "text or json (NDJSON, one entry a line)")
	return c.group(cmd, c.ledgerVerify(), tail, c.ledgerHead(), c.ledgerExport(), c.ledgerRedact())
}

func (c *command) ledgerVerify() *cobra.Command {
	var f cli.VerifyOptions
	cmd := &cobra.Command{
		Use: "verify", Short: "Check the whole chain; exit code 9 names the first bad entry", Args: takes(),
		Example: "  looprig ledger verify --coverage\n  looprig ledger verify --file export.ndjson",
		RunE:    c.do(func(cmd *cobra.Command, _ []string) error { return c.LedgerVerify(cmd.Context(), f) }),
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.Coverage, "coverage", false, "hold the ledger to the journals: calls sent = intents = outcomes + indeterminate, for each session")
	fl.BoolVar(&f.RequireHead, "require-head", false, "fail where no head is kept apart from the home")
	fl.StringVar(&f.File, "file", "", "verify this export `FILE` alone, without a home")
	fl.StringVar(&f.Head, "head", "", "also hold the ledger to the signed head in this `FILE`")
	fl.StringVar(&f.Key, "key", "", "the `KEY` that verifies --head or the checkpoint of --file")
	c.addOutput(cmd, "text or json")
	return cmd
}

func (c *command) ledgerHead() *cobra.Command {
	cmd := &cobra.Command{
		Use: "head", Short: "Print the signed head of the ledger, to be kept elsewhere", Example: "  looprig ledger head > head.txt", Args: takes(),
		RunE: c.do(func(cmd *cobra.Command, _ []string) error { return c.LedgerHead(cmd.Context()) }),
	}
	c.addOutput(cmd, "text (the signed note) or json")
	return cmd
}

func (c *command) ledgerExport() *cobra.Command {
	var f cli.ExportOptions
	cmd := &cobra.Command{
		Use: "export", Short: "Write the ledger as NDJSON, a checkpoint and one entry a line", Args: takes(),
		Example: "  looprig ledger export --proofs > export.ndjson",
		RunE:    c.do(func(cmd *cobra.Command, _ []string) error { return c.LedgerExport(cmd.Context(), f) }),
	}
	cmd.Flags().BoolVar(&f.Proofs, "proofs", false, "give every entry the proof that it is in the signed tree")
	cmd.Flags().StringVar(&f.Session, "session", "", "only the entries of the session with this `ID`, each with its proof")
	c.addOutput(cmd, "text or json, which are the same: NDJSON")
	return cmd
}

func (c *command) ledgerRedact() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "redact SESSION CALL-or-GATE", Short: "Remove what a call or an answer says from journal and ledger; the chain stays valid",
		Example: "  looprig ledger redact 01J9Z3 g2 --reason \"asked for by its author\"", Args: takes("SESSION", "CALL-or-GATE"),
		RunE: c.do(func(cmd *cobra.Command, args []string) error {
			return c.LedgerRedact(cmd.Context(), args[0], args[1], reason)
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, one line that stays in the ledger")
	c.addOutput(cmd, "text or json")
	return cmd
}
