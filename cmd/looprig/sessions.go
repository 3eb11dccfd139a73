package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// listSessions is how many sessions are listed unasked.
const listSessions = 100

func (c *command) sessions() *cobra.Command {
	cmd := &cobra.Command{Use: "sessions", Short: "Look at past and present sessions, copy and delete them", Example: "  looprig sessions list"}
	return c.group(cmd, c.sessionsList(), c.sessionsShow(), c.sessionsExport(), c.sessionsFork(), c.sessionsDelete())
}

func (c *command) sessionsList() *cobra.Command {
	var limit int
	var words string
	cmd := &cobra.Command{
		Use: "list", Short: "List sessions, newest first", Example: "  looprig sessions list --text nightly -n 5", Args: takes(),
		RunE: c.do(func(cmd *cobra.Command, _ []string) error { return c.SessionsList(cmd.Context(), limit, words) }),
	}
	cmd.Flags().IntVarP(&limit, "number", "n", listSessions, "how many sessions")
	cmd.Flags().IntVar(&limit, "limit", listSessions, "the same as --number")
	cmd.Flags().StringVar(&words, "text", "", "only those in whose title, inputs, answers or tools these `WORDS` occur")
	c.addOutput(cmd, "text or json (NDJSON, one session a line)")
	return cmd
}

func (c *command) sessionsShow() *cobra.Command {
	var coverage bool
	cmd := &cobra.Command{
		Use: "show SESSION", Short: "Show a session's events; the beginning of its id is enough", Args: takes("SESSION"),
		Example: "  looprig sessions show 01J --output json   # the journal's own bytes\n  looprig sessions show 01J --coverage",
		RunE:    c.do(func(cmd *cobra.Command, args []string) error { return c.SessionsShow(cmd.Context(), args[0], coverage) }),
	}
	cmd.Flags().BoolVar(&coverage, "coverage", false, "how many of its calls were seen, gated, ledgered, pinned and ended, instead of the events")
	c.addOutput(cmd, "text or json (the journal's own lines)")
	return cmd
}

func (c *command) sessionsExport() *cobra.Command {
	var blobs string
	var script bool
	cmd := &cobra.Command{
		Use: "export SESSION", Short: "Write a session's journal as NDJSON, byte for byte, or the script of it", Args: takes("SESSION"),
		Example: "  looprig sessions export 01J --blobs bodies > session.ndjson\n" +
			"  looprig sessions export 01J --script > session.yaml",
	}
	cmd.RunE = c.do(func(cmd *cobra.Command, args []string) error {
		if script {
			return c.SessionsScript(cmd.Context(), args[0])
		}
		return c.SessionsExport(cmd.Context(), args[0], blobs)
	})
	cmd.Flags().BoolVar(&script, "script", false, "write a script that does the same again, as --record does")
	cmd.Flags().StringVar(&blobs, "blobs", "", "write the bodies that are stored apart into this `DIR`, each named by its SHA-256")
	cmd.MarkFlagsMutuallyExclusive("script", "blobs")
	return cmd
}

func (c *command) sessionsFork() *cobra.Command {
	var turn string
	cmd := &cobra.Command{
		Use: "fork SESSION", Short: "Make a new session that begins with another's turns", Args: takes("SESSION"),
		Example: "  looprig sessions fork 01J --turn t4",
		RunE:    c.do(func(cmd *cobra.Command, args []string) error { return c.SessionsFork(cmd.Context(), args[0], turn) }),
	}
	cmd.Flags().StringVar(&turn, "turn", "", "the last `TURN` that the new session has (default: the last that has ended)")
	c.addOutput(cmd, "text or json")
	return cmd
}

func (c *command) sessionsDelete() *cobra.Command {
	var forks, yes bool
	cmd := &cobra.Command{
		Use: "delete SESSION…", Short: "Delete sessions for good; the ledger keeps its entries",
		Example: "  looprig sessions delete 01J --yes",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("looprig sessions delete needs SESSION: SESSION is missing")
			}
			return nil
		},
		RunE: c.do(func(cmd *cobra.Command, args []string) error {
			return c.SessionsDelete(cmd.Context(), args, forks, yes)
		}),
	}
	cmd.Flags().BoolVar(&forks, "with-forks", false, "delete those that were forked from it as well")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	c.addOutput(cmd, "text or json (NDJSON, one session a line)")
	return cmd
}
