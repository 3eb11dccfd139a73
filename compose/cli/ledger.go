package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/looprig/looprig/compose"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/journal/sqlite"
	"github.com/looprig/looprig/harness/ledger"
	"github.com/looprig/looprig/internal/safetext"
)

// openReadOnly opens the home's database without writing to it; ok is false
// where there is none yet.
func (c *CLI) openReadOnly(ctx context.Context) (store *sqlite.Store, ok bool, err error) {
	home, err := compose.Home(c.Home, c.env())
	if err != nil {
		return nil, false, err
	}
	path := compose.DBPath(home)
	store, err = sqlite.Open(ctx, sqlite.Options{Path: path, ReadOnly: true})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	return store, err == nil, c.integrity(err)
}

// integrity gives what is wrong with stored data its exit code.
func (c *CLI) integrity(err error) error {
	home, herr := compose.Home(c.Home, c.env())
	if herr != nil {
		return herr
	}
	return compose.StoreFault(compose.DBPath(home), err)
}

// LedgerTail shows the newest n entries.
func (c *CLI) LedgerTail(ctx context.Context, n int) (err error) {
	if err := c.checkOutput(OutputText, OutputJSON); err != nil {
		return err
	}
	if n < 0 {
		return exit.New(exit.Usage, "-n %d: give how many entries to show", n)
	}
	store, ok, err := c.openReadOnly(ctx)
	if err != nil || !ok {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	stored, err := store.LedgerTail(ctx, n)
	if err != nil {
		return c.integrity(err)
	}
	for _, st := range stored {
		e, err := ledger.Open(st)
		if err != nil {
			return c.integrity(err)
		}
		if err := c.printEntry(e); err != nil {
			return err
		}
	}
	return nil
}

func (c *CLI) printEntry(e ledger.Entry) error {
	if c.Output == OutputJSON {
		return c.jsonLine(e)
	}
	_, err := fmt.Fprintf(c.Stdout, "%6d  %s  %-15s  %-32s  %-8s  %s\n", e.Seq, e.Time.Format("2006-01-02 15:04:05"), e.Kind,
		subjectOf(e), safetext.ToLine(firstNonEmpty(e.Outcome, e.Verdict, e.Detail)),
		safetext.ToLine(firstNonEmpty(e.Rule, e.Answerer)))
	return err
}

// subjectOf is what an entry is about, "-" where it is about no tool and no server.
func subjectOf(e ledger.Entry) safetext.Line {
	if about := firstNonEmpty(e.Tool, e.Binding); about != "" {
		return safetext.Ident(about)
	}
	return "-"
}

func firstNonEmpty(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return "-"
}
