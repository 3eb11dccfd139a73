package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/charmbracelet/x/term"

	"github.com/looprig/looprig/compose"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/journal/sqlite"
	"github.com/looprig/looprig/harness/session"
	"github.com/looprig/looprig/internal/safetext"
)

// SessionsList lists sessions, newest first: those in which words occur, if any
// are given.
func (c *CLI) SessionsList(ctx context.Context, limit int, words string) (err error) {
	if err := c.checkOutput(OutputText, OutputJSON); err != nil {
		return err
	}
	store, ok, err := c.openReadOnly(ctx)
	if err != nil || !ok {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	metas, err := store.List(ctx, journal.Query{Limit: limit, Text: words})
	if err != nil {
		return c.integrity(err)
	}
	for _, m := range metas {
		if c.Output == OutputJSON {
			err = c.jsonLine(m)
		} else {
			err = c.printf("%s\n", sessionLine(m))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stateOf is what a session is: open here or elsewhere, closed, or left by a
// process that ended without closing it.
func stateOf(m journal.Meta) string {
	switch {
	case m.Open != "":
		return "open"
	case m.Closed:
		return "closed"
	}
	return "unfinished"
}

func sessionLine(m journal.Meta) string {
	line := fmt.Sprintf("%s  %s  %-11s  %-10s  %3d turns  %5d events  %s", safetext.Ident(m.Session),
		m.Updated.Local().Format("2006-01-02 15:04:05"), safetext.Ident(m.Mode), stateOf(m), m.Turns, m.Records, safetext.ToLine(m.Title))
	if m.Parent != "" {
		line += fmt.Sprintf("  (fork of %s)", safetext.Ident(m.Parent))
	}
	return strings.TrimRight(line, " ")
}

// withSession does something with the session whose id begins with prefix, for
// reading.
func (c *CLI) withSession(ctx context.Context, prefix string, do func(*sqlite.Store, journal.Meta) error) (err error) {
	store, ok, err := c.openReadOnly(ctx)
	if err != nil {
		return err
	}
	if !ok {
		return exit.New(exit.Usage, "there are no sessions yet")
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	meta, err := compose.FindSession(ctx, store, prefix)
	if err == nil {
		err = do(store, meta)
	}
	return c.sessionFault(err)
}

// sessionFault keeps what is wrong with a request apart from what is wrong with
// the data.
func (c *CLI) sessionFault(err error) error {
	var own *exit.Error
	var noTurn *session.NoTurnError
	switch {
	case err == nil || errors.As(err, &own):
		return err
	case errors.As(err, &noTurn), errors.Is(err, journal.ErrNotFound):
		return exit.New(exit.Usage, "%w", err).WithHint("looprig sessions list and looprig sessions show tell what there is")
	case errors.Is(err, journal.ErrLeased):
		return exit.New(exit.Usage, "%w", err).WithHint("end that process first")
	}
	return c.integrity(err)
}

// SessionsShow prints the events of the session whose id begins with prefix, or
// its coverage alone.
func (c *CLI) SessionsShow(ctx context.Context, prefix string, coverage bool) error {
	if err := c.checkOutput(OutputText, OutputJSON); err != nil {
		return err
	}
	return c.withSession(ctx, prefix, func(store *sqlite.Store, meta journal.Meta) error {
		if coverage {
			return c.showCoverage(ctx, store, meta)
		}
		for rec, err := range store.Read(ctx, meta.Session, 1) {
			if err != nil {
				return err
			}
			if err := c.printRecord(rec); err != nil {
				return err
			}
		}
		return c.showUsage(ctx, store, meta)
	})
}

func (c *CLI) showCoverage(ctx context.Context, store *sqlite.Store, meta journal.Meta) error {
	past, err := session.ReadPast(ctx, store, meta.Session)
	if err != nil {
		return err
	}
	k, open := past.Coverage(), past.Unfinished()
	if c.Output == OutputJSON {
		return c.jsonLine(struct {
			Session string `json:"session"`
			event.Coverage
			Open  []string           `json:"open,omitempty"`
			Usage []event.ModelUsage `json:"usage,omitempty"`
		}{meta.Session, k, open, past.Usage()})
	}
	var b strings.Builder
	fmt.Fprintf(&b, "session %s  %s  %d turns\n", safetext.Ident(meta.Session), stateOf(meta), meta.Turns)
	for _, row := range []struct {
		name string
		n    int
	}{
		{"calls", k.Calls}, {"gated", k.Gated}, {"ledgered", k.Ledgered}, {"pinned", k.Pinned},
		{"outcomes", k.Outcomes}, {"indeterminate", k.Indeterminate}, {"without an outcome", len(open)},
	} {
		fmt.Fprintf(&b, "%-20s %6d\n", row.name, row.n)
	}
	for _, call := range open {
		fmt.Fprintf(&b, "outcome unknown: %s\n", safetext.Ident(call))
	}
	return c.printf("%s%s", b.String(), usageText(past.Usage()))
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

// SessionsExport writes the journal's own bytes, one event a line, and with a
// directory the bodies that are stored apart, each a file under its digest.
func (c *CLI) SessionsExport(ctx context.Context, prefix, blobs string) error {
	if blobs != "" {
		if err := os.MkdirAll(blobs, 0o700); err != nil {
			return exit.New(exit.Usage, "--blobs: %w", err)
		}
	}
	return c.withSession(ctx, prefix, func(store *sqlite.Store, meta journal.Meta) error {
		for rec, err := range store.Read(ctx, meta.Session, 1) {
			if err != nil {
				return err
			}
			if _, err := c.Stdout.Write(append(rec.Line, '\n')); err != nil {
				return exit.New(exit.Internal, "the export cannot be written: %w", err)
			}
			if blobs == "" {
				continue
			}
			if err := exportBlobs(ctx, store, rec, blobs); err != nil {
				return err
			}
		}
		return nil
	})
}

func exportBlobs(ctx context.Context, store *sqlite.Store, rec journal.Record, dir string) error {
	e, err := event.Decode(rec.Line)
	if err != nil {
		return exit.New(exit.Integrity, "record %d: %w", rec.Seq, err)
	}
	for _, id := range event.Blobs(e) {
		body, err := store.Blob(ctx, id)
		if err != nil {
			return err
		}
		path := filepath.Join(dir, strings.TrimPrefix(id, "sha256:"))
		if err := os.WriteFile(path, body.Body, 0o600); err != nil {
			return exit.New(exit.Internal, "--blobs: %w", err)
		}
	}
	return nil
}

// withStore does something with the home's database, for writing.
func (c *CLI) withStore(ctx context.Context, do func(*sqlite.Store) error) (err error) {
	_, ok, err := c.exists(ctx)
	if err != nil {
		return err
	}
	if !ok {
		return exit.New(exit.Usage, "there are no sessions yet")
	}
	home, err := compose.Home(c.Home, c.env())
	if err != nil {
		return err
	}
	store, err := sqlite.Open(ctx, sqlite.Options{Path: compose.DBPath(home)})
	if err != nil {
		return c.integrity(err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return c.sessionFault(do(store))
}

// exists reports whether the home has a database: nothing makes one in passing.
func (c *CLI) exists(ctx context.Context) (*sqlite.Store, bool, error) {
	store, ok, err := c.openReadOnly(ctx)
	if err != nil || !ok {
		return nil, ok, err
	}
	return nil, true, store.Close()
}

// SessionsFork copies a session up to the end of a turn, "" for its last, and
// prints the copy's id.
func (c *CLI) SessionsFork(ctx context.Context, prefix, turn string) error {
	if err := c.checkOutput(OutputText, OutputJSON); err != nil {
		return err
	}
	return c.withStore(ctx, func(store *sqlite.Store) error {
		meta, err := compose.FindSession(ctx, store, prefix)
		if err != nil {
			return err
		}
		id, err := session.Fork(ctx, session.ForkOptions{
			Store: store, StoreName: "sqlite", Parent: meta.Session, Turn: turn, App: "looprig " + c.Version,
		})
		if err != nil {
			return err
		}
		if c.Output == OutputJSON {
			return c.jsonLine(map[string]string{"session": id, "parent": meta.Session})
		}
		return c.printf("%s\nlooprig --resume %s\n", id, id)
	})
}

// SessionsDelete removes sessions, after a question unless yes is set. Those that
// were forked from one go with it when forks is set; else it is refused.
func (c *CLI) SessionsDelete(ctx context.Context, prefixes []string, forks, yes bool) error {
	if err := c.checkOutput(OutputText, OutputJSON); err != nil {
		return err
	}
	return c.withStore(ctx, func(store *sqlite.Store) error {
		doomed, err := c.doomed(ctx, store, prefixes, forks)
		if err != nil {
			return err
		}
		if !yes {
			if err := c.agree(ctx, doomed); err != nil {
				return err
			}
		}
		for _, m := range doomed {
			if err := store.Delete(ctx, m.Session); err != nil {
				return err
			}
			if c.Output == OutputJSON {
				err = c.jsonLine(map[string]string{"deleted": m.Session})
			} else {
				err = c.printf("deleted %s\n", safetext.Ident(m.Session))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// maxForksListed bounds how many sessions are looked through for forks.
const maxForksListed = 1 << 20

// doomed lists what is to be deleted, forks before what they are forks of.
func (c *CLI) doomed(ctx context.Context, store *sqlite.Store, prefixes []string, forks bool) ([]journal.Meta, error) {
	all, err := store.List(ctx, journal.Query{Limit: maxForksListed})
	if err != nil {
		return nil, err
	}
	var out []journal.Meta
	seen := map[string]bool{}
	named := map[string]bool{}
	roots := make([]journal.Meta, 0, len(prefixes))
	for _, prefix := range prefixes {
		m, err := compose.FindSession(ctx, store, prefix)
		if err != nil {
			return nil, err
		}
		named[m.Session] = true
		roots = append(roots, m)
	}
	var add func(m journal.Meta) error
	add = func(m journal.Meta) error {
		if seen[m.Session] {
			return nil
		}
		seen[m.Session] = true
		for _, f := range all {
			if f.Parent != m.Session {
				continue
			}
			if !forks && !named[f.Session] {
				return exit.New(exit.Usage, "session %s cannot be deleted: %w (%s)", safetext.Ident(m.Session), journal.ErrForked, safetext.Ident(f.Session)).
					WithHint("delete its forks with it: looprig sessions delete %s --with-forks", m.Session)
			}
			if err := add(f); err != nil {
				return err
			}
		}
		if m.Open != "" {
			return exit.New(exit.Usage, "session %s cannot be deleted: %w (%s)", safetext.Ident(m.Session), journal.ErrLeased, safetext.ToLine(m.Open))
		}
		out = append(out, m)
		return nil
	}
	for _, m := range roots {
		if err := add(m); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// agree has a person confirm what cannot be undone.
func (c *CLI) agree(ctx context.Context, doomed []journal.Meta) error {
	if !term.IsTerminal(c.Stdin.Fd()) || !term.IsTerminal(c.Stdout.Fd()) {
		return exit.New(exit.Usage, "nobody is there to confirm the deletion").WithHint("say so with --yes")
	}
	var b strings.Builder
	for _, m := range doomed {
		b.WriteString(sessionLine(m) + "\n")
	}
	if !c.confirm(ctx, fmt.Sprintf("%sDelete %d sessions? Their events are gone for good; the ledger keeps its entries.", b.String(), len(doomed))) {
		return exit.New(exit.Usage, "nothing was deleted")
	}
	return nil
}
