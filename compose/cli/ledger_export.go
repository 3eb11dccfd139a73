package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/journal/sqlite"
	"github.com/looprig/looprig/harness/ledger"
	"github.com/looprig/looprig/harness/ledger/anchor"
	"github.com/looprig/looprig/internal/safetext"
)

// withLedger does something with the home's ledger, for reading.
func (c *CLI) withLedger(ctx context.Context, do func(*sqlite.Store) error) error {
	if err := c.checkOutput(OutputText, OutputJSON); err != nil {
		return err
	}
	store, ok, err := c.openReadOnly(ctx)
	if err != nil {
		return err
	}
	if !ok {
		return exit.New(exit.Usage, "there is no ledger yet")
	}
	if err := errors.Join(do(store), store.Close()); err != nil {
		return c.ledgerFault(err)
	}
	return nil
}

// LedgerHead brings the head that is kept apart to the end of the ledger and
// prints its signed note.
func (c *CLI) LedgerHead(ctx context.Context) error {
	return c.withLedger(ctx, func(store *sqlite.Store) error {
		dir, err := c.anchorDir(ctx, store)
		if err != nil {
			return err
		}
		head, err := dir.Update(ctx, store)
		if errors.Is(err, anchor.ErrEmpty) {
			return exit.New(exit.Usage, "the ledger has no entries yet, so there is no head of it")
		}
		if err != nil {
			return headFault(err)
		}
		if c.Output == OutputJSON {
			return c.jsonLine(struct {
				Origin string `json:"origin"`
				Size   uint64 `json:"size"`
				Root   string `json:"root"`
				Note   string `json:"note"`
				Key    string `json:"key"`
				Path   string `json:"path"`
			}{head.Origin, head.Size, head.RootText(), string(head.Note), head.Key, dir.Path()})
		}
		return c.printf("%s", head.Note)
	})
}

// headFault tells a place that cannot be used from a head that does not fit.
func headFault(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return exit.New(exit.Internal, "%w", err).WithHint("make that directory writable, or name another one as ledger.anchor in config.yaml")
	}
	return err
}

// ExportOptions are the flags of ledger export.
type ExportOptions struct {
	// Proofs gives every entry its audit path.
	Proofs bool
	// Session exports the entries of one session alone, each with its audit path.
	Session string
}

// LedgerExport writes the ledger as NDJSON: a checkpoint, then one entry a line.
func (c *CLI) LedgerExport(ctx context.Context, f ExportOptions) error {
	return c.withLedger(ctx, func(store *sqlite.Store) error {
		head, err := c.exportHead(ctx, store)
		if err != nil {
			return err
		}
		out := bufio.NewWriter(c.Stdout)
		first, err := json.Marshal(ledger.NewExportHead(head.Checkpoint, head.Note, head.Key, f.Session != ""))
		if err != nil {
			return err
		}
		if _, err := out.Write(append(first, '\n')); err != nil {
			return unwritten(err)
		}
		entries := 0
		for s, err := range store.LedgerEntries(ctx, 1) {
			if err != nil {
				return err
			}
			if s.Seq > head.Size {
				break // came after the checkpoint
			}
			line, err := exportLine(ctx, store, s, head.Size, f)
			if err != nil {
				return err
			}
			if line == nil {
				continue
			}
			entries++
			if _, err := out.Write(append(line, '\n')); err != nil {
				return unwritten(err)
			}
		}
		if f.Session != "" && entries == 0 && ctx.Err() == nil {
			return exit.New(exit.Usage, "the ledger has no entry of a session %s", safetext.Ident(f.Session)).
				WithHint("it takes the whole id, as looprig sessions list has it")
		}
		if err := out.Flush(); err != nil {
			return unwritten(err)
		}
		return ctx.Err()
	})
}

func unwritten(err error) error {
	return exit.New(exit.Internal, "the export cannot be written: %w", err)
}

// exportLine is nil for an entry that is not asked for.
func exportLine(ctx context.Context, store *sqlite.Store, s ledger.Stored, size uint64, f ExportOptions) ([]byte, error) {
	e, err := ledger.Open(s)
	if err != nil {
		return nil, err
	}
	if f.Session != "" && e.Session != f.Session {
		return nil, nil
	}
	if !f.Proofs && f.Session == "" {
		return ledger.ExportLine(s, nil), nil
	}
	path, err := ledger.Prove(ctx, store.LedgerNode, size, s.Seq)
	if err != nil {
		return nil, err
	}
	if path == nil {
		path = []ledger.Hash{} // of a tree with one leaf: there, and empty
	}
	return ledger.ExportLine(s, path), nil
}

// exportHead is the head brought up to date. Where none can be kept, the export
// has a checkpoint that nobody signed, and stderr says so.
func (c *CLI) exportHead(ctx context.Context, store *sqlite.Store) (anchor.Head, error) {
	dir, err := c.anchorDir(ctx, store)
	if err == nil {
		head, uerr := dir.Update(ctx, store)
		var wrong *ledger.HeadError
		var damaged *anchor.DamagedError
		switch {
		case uerr == nil, errors.As(uerr, &wrong), errors.As(uerr, &damaged):
			return head, uerr
		}
		err = uerr
	}
	if !errors.Is(err, anchor.ErrEmpty) {
		_, _ = fmt.Fprintf(c.Stderr, "looprig: the checkpoint is not signed: %v\n", err)
	}
	id, err := store.HomeID(ctx)
	if err != nil {
		return anchor.Head{}, err
	}
	cp := ledger.Checkpoint{Origin: ledger.Origin(id)}
	if cp.Size, err = store.LedgerSize(ctx); err != nil {
		return anchor.Head{}, err
	}
	cp.Root, err = store.LedgerRoot(ctx, cp.Size)
	return anchor.Head{Checkpoint: cp}, err
}
