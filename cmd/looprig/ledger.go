package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/looprig/looprig/compose"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/journal/sqlite"
	"github.com/looprig/looprig/harness/ledger"
	"github.com/looprig/looprig/internal/safetext"
)

func ledgerCommand(s *state) *cobra.Command {
	cmd := &cobra.Command{Use: "ledger", Short: "Look at and verify the record of decisions and calls", Example: "  looprig ledger verify"}
	verify := &cobra.Command{
		Use: "verify", Short: "Check the whole chain; exit code 9 names the first bad entry", Example: "  looprig ledger verify --output json", Args: cobra.NoArgs,
		RunE: s.do(func(cmd *cobra.Command, _ []string) error { return s.ledgerVerify(cmd.Context()) }),
	}
	s.addOutput(verify, "text or json")
	var n int
	tail := &cobra.Command{
		Use: "tail", Short: "Show the newest entries", Example: "  looprig ledger tail -n 20", Args: cobra.NoArgs,
		RunE: s.do(func(cmd *cobra.Command, _ []string) error { return s.ledgerTail(cmd.Context(), n) }),
	}
	tail.Flags().IntVarP(&n, "number", "n", 20, "how many entries")
	s.addOutput(tail, "text or json (NDJSON, one entry a line)")
	cmd.AddCommand(verify, tail)
	return cmd
}

// openReadOnly opens the home's database without writing to it; ok is false
// where there is none yet.
func (s *state) openReadOnly(ctx context.Context) (store *sqlite.Store, ok bool, err error) {
	home, err := compose.Home(s.home, s.lookup())
	if err != nil {
		return nil, false, err
	}
	path := compose.DBPath(home)
	store, err = sqlite.Open(ctx, sqlite.Options{Path: path, ReadOnly: true})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	return store, err == nil, integrity(err)
}

// integrity gives what is wrong with stored data its exit code.
func integrity(err error) error {
	var bad *ledger.BadEntryError
	var corrupt *journal.CorruptError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &bad), errors.As(err, &corrupt):
		return exit.New(exit.Integrity, "%w", err)
	}
	return exit.New(exit.Internal, "%w", err)
}

func (s *state) ledgerVerify(ctx context.Context) error {
	if err := s.checkOutput(outputText, outputJSON); err != nil {
		return err
	}
	store, ok, err := s.openReadOnly(ctx)
	if err != nil {
		return err
	}
	var rep ledger.Report
	if ok {
		rep, err = ledger.Verify(ctx, store)
		err = integrity(errors.Join(err, store.Close()))
	}
	if err != nil {
		return err
	}
	if s.output == outputJSON {
		return s.jsonLine(rep)
	}
	fmt.Fprintf(s.stdout, "ledger ok: %d entries, %d intents, %d outcomes, %d calls without an outcome\nhead %s\n",
		rep.Entries, rep.Intents, rep.Outcomes, rep.OpenTotal, orDash(rep.Head))
	for _, c := range rep.Open {
		fmt.Fprintf(s.stdout, "outcome unknown: %s\n", safetext.ToLine(c))
	}
	return nil
}

func (s *state) ledgerTail(ctx context.Context, n int) (err error) {
	if err := s.checkOutput(outputText, outputJSON); err != nil {
		return err
	}
	if n < 0 {
		return exit.New(exit.Usage, "-n %d: give how many entries to show", n)
	}
	store, ok, err := s.openReadOnly(ctx)
	if err != nil || !ok {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	stored, err := store.LedgerTail(ctx, n)
	if err != nil {
		return integrity(err)
	}
	for _, st := range stored {
		e, err := ledger.Open(st)
		if err != nil {
			return integrity(err)
		}
		if err := s.printEntry(e); err != nil {
			return err
		}
	}
	return nil
}

func (s *state) printEntry(e ledger.Entry) error {
	if s.output == outputJSON {
		return s.jsonLine(e)
	}
	_, err := fmt.Fprintf(s.stdout, "%6d  %s  %-15s  %-32s  %-8s  %s\n", e.Seq, e.Time.Format("2006-01-02 15:04:05"), e.Kind,
		safetext.Ident(firstNonEmpty(e.Tool, e.Binding)), safetext.ToLine(firstNonEmpty(e.Outcome, e.Verdict, e.Detail)),
		safetext.ToLine(firstNonEmpty(e.Rule, e.Answerer)))
	return err
}

func firstNonEmpty(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return "-"
}
