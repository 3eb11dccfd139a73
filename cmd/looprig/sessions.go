package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/internal/safetext"
)

func sessionsCommand(s *state) *cobra.Command {
	cmd := &cobra.Command{Use: "sessions", Short: "Look at past and present sessions", Example: "  looprig sessions list"}
	var limit int
	list := &cobra.Command{
		Use: "list", Short: "List sessions, newest first", Example: "  looprig sessions list -n 5", Args: cobra.NoArgs,
		RunE: s.do(func(cmd *cobra.Command, _ []string) error { return s.sessionsList(cmd.Context(), limit) }),
	}
	list.Flags().IntVarP(&limit, "number", "n", journal.DefaultListLimit, "how many sessions")
	s.addOutput(list, "text or json (NDJSON, one session a line)")
	show := &cobra.Command{
		Use: "show SESSION", Short: "Show a session's events", Args: cobra.ExactArgs(1),
		Example: "  looprig sessions show 01J --output json   # the journal's own bytes",
		RunE:    s.do(func(cmd *cobra.Command, args []string) error { return s.sessionsShow(cmd.Context(), args[0]) }),
	}
	s.addOutput(show, "text or json (the journal's own lines)")
	cmd.AddCommand(list, show)
	return cmd
}

func (s *state) sessionsList(ctx context.Context, limit int) (err error) {
	if err := s.checkOutput(outputText, outputJSON); err != nil {
		return err
	}
	store, ok, err := s.openReadOnly(ctx)
	if err != nil || !ok {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	metas, err := store.List(ctx, journal.Query{Limit: limit})
	if err != nil {
		return integrity(err)
	}
	for _, m := range metas {
		if s.output == outputJSON {
			err = s.jsonLine(m)
		} else {
			state := "open"
			if m.Closed {
				state = "closed"
			}
			_, err = fmt.Fprintf(s.stdout, "%s  %s  %-11s  %-6s  %3d turns  %5d events  %s\n", m.Session,
				m.Created.Local().Format("2006-01-02 15:04:05"), m.Mode, state, m.Turns, m.Records, safetext.ToLine(m.Title))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *state) sessionsShow(ctx context.Context, prefix string) (err error) {
	if err := s.checkOutput(outputText, outputJSON); err != nil {
		return err
	}
	store, ok, err := s.openReadOnly(ctx)
	if err != nil {
		return err
	}
	if !ok {
		return exit.New(exit.Usage, "there are no sessions yet")
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	metas, err := store.List(ctx, journal.Query{Prefix: prefix, Limit: 2})
	if err != nil {
		return integrity(err)
	}
	switch len(metas) {
	case 0:
		return exit.New(exit.Usage, "no session begins with %q: see looprig sessions list", prefix)
	case 1:
	default:
		return exit.New(exit.Usage, "more than one session begins with %q: give more of its id", prefix)
	}
	for rec, err := range store.Read(ctx, metas[0].Session, 1) {
		if err != nil {
			return integrity(err)
		}
		if err := s.printRecord(rec); err != nil {
			return err
		}
	}
	return nil
}

func (s *state) printRecord(rec journal.Record) error {
	if s.output == outputJSON {
		_, err := s.stdout.Write(append(rec.Line, '\n'))
		return err
	}
	e, err := event.Decode(rec.Line)
	if err != nil {
		return exit.New(exit.Integrity, "record %d: %w", rec.Seq, err)
	}
	_, err = fmt.Fprintf(s.stdout, "%5d  %s  %-20s  %s\n", rec.Seq, rec.Time.Local().Format("15:04:05.000"), rec.Type, safetext.ToLineN(summary(e), 300))
	return err
}
