package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/internal/safetext"
)

// SessionsList lists sessions, newest first.
func (c *CLI) SessionsList(ctx context.Context, limit int) (err error) {
	if err := c.checkOutput(OutputText, OutputJSON); err != nil {
		return err
	}
	store, ok, err := c.openReadOnly(ctx)
	if err != nil || !ok {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	metas, err := store.List(ctx, journal.Query{Limit: limit})
	if err != nil {
		return c.integrity(err)
	}
	for _, m := range metas {
		if c.Output == OutputJSON {
			err = c.jsonLine(m)
		} else {
			state := "open"
			if m.Closed {
				state = "closed"
			}
			_, err = fmt.Fprintf(c.Stdout, "%s  %s  %-11s  %-6s  %3d turns  %5d events  %s\n", safetext.Ident(m.Session),
				m.Created.Local().Format("2006-01-02 15:04:05"), safetext.Ident(m.Mode), state, m.Turns, m.Records, safetext.ToLine(m.Title))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// SessionsShow prints the events of the session whose id begins with prefix.
func (c *CLI) SessionsShow(ctx context.Context, prefix string) (err error) {
	if err := c.checkOutput(OutputText, OutputJSON); err != nil {
		return err
	}
	store, ok, err := c.openReadOnly(ctx)
	if err != nil {
		return err
	}
	if !ok {
		return exit.New(exit.Usage, "there are no sessions yet")
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	metas, err := store.List(ctx, journal.Query{Prefix: prefix, Limit: 2})
	if err != nil {
		return c.integrity(err)
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
			return c.integrity(err)
		}
		if err := c.printRecord(rec); err != nil {
			return err
		}
	}
	return nil
}

func (c *CLI) printRecord(rec journal.Record) error {
	if c.Output == OutputJSON {
		_, err := c.Stdout.Write(append(rec.Line, '\n'))
		return err
	}
	e, err := event.Decode(rec.Line)
	if err != nil {
		return exit.New(exit.Integrity, "record %d: %w", rec.Seq, err)
	}
	_, err = fmt.Fprintf(c.Stdout, "%5d  %s  %-20s  %s\n", rec.Seq, rec.Time.Local().Format("15:04:05.000"), rec.Type, safetext.ToLineN(summary(e), 300))
	return err
}
