package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/looprig/looprig/compose"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/journal/sqlite"
	"github.com/looprig/looprig/harness/ledger"
	"github.com/looprig/looprig/harness/ledger/anchor"
	"github.com/looprig/looprig/harness/ledger/coverage"
	"github.com/looprig/looprig/internal/safetext"
)

// VerifyOptions are the flags of ledger verify.
type VerifyOptions struct {
	// Coverage also holds the ledger to the journals.
	Coverage bool
	// RequireHead fails where no head is kept apart.
	RequireHead bool
	// File is an export, which is verified alone.
	File string
	// Head is a signed note that was kept elsewhere, Key what verifies it: "" is the
	// key of the head that is kept here.
	Head, Key string
}

// verified is what is printed of a verification.
type verified struct {
	ledger.Report
	// Anchored says that a head was kept apart, and that the ledger goes on from it.
	Anchored bool   `json:"anchored"`
	Anchor   string `json:"anchor,omitempty"`
	// HeadSize is how many entries that head has.
	HeadSize   uint64         `json:"head_size,omitempty"`
	Unanchored string         `json:"unanchored,omitempty"`
	Coverage   []coverage.Row `json:"coverage,omitempty"`
}

// LedgerVerify checks the whole chain, its tree, and that it goes on from the head
// that is kept apart.
func (c *CLI) LedgerVerify(ctx context.Context, f VerifyOptions) error {
	if err := c.checkOutput(OutputText, OutputJSON); err != nil {
		return err
	}
	if f.Key != "" {
		if err := ledger.CheckKey(f.Key); err != nil {
			return exit.New(exit.Usage, "--key: %w", err).WithHint("it looks like looprig/ID+HASH+KEY; looprig ledger head --output json tells it")
		}
	}
	if f.File != "" {
		if f.Coverage || f.RequireHead {
			return exit.New(exit.Usage, "--file verifies a file alone: --coverage and --require-head belong to a home")
		}
		return c.verifyFile(ctx, f)
	}
	store, ok, err := c.openReadOnly(ctx)
	if err != nil {
		return err
	}
	out := verified{Unanchored: "there is no ledger yet"}
	if ok {
		out, err = c.verify(ctx, store, f)
		err = errors.Join(err, store.Close())
	}
	if err != nil {
		return c.ledgerFault(err)
	}
	if f.RequireHead && !out.Anchored {
		return exit.New(exit.Integrity, "the ledger is unanchored: %s", out.Unanchored).
			WithHint("a head is kept when a run ends, or with looprig ledger head")
	}
	if c.Output == OutputJSON {
		return c.jsonLine(out)
	}
	return c.printf("%s", out.text())
}

// ledgerFault keeps an error that has its exit code.
func (c *CLI) ledgerFault(err error) error {
	var own *exit.Error
	if errors.As(err, &own) {
		return err
	}
	return c.integrity(err)
}

func (c *CLI) verify(ctx context.Context, store *sqlite.Store, f VerifyOptions) (out verified, err error) {
	heads, err := c.heads(ctx, store, f, &out)
	if err != nil {
		return out, err
	}
	if out.Report, err = ledger.VerifyAgainst(ctx, store, heads); err != nil || !f.Coverage {
		return out, err
	}
	out.Coverage, err = coverage.Check(ctx, store)
	return out, err
}

// heads are the checkpoints that the ledger is held to.
func (c *CLI) heads(ctx context.Context, store *sqlite.Store, f VerifyOptions, out *verified) ([]ledger.Checkpoint, error) {
	var heads []ledger.Checkpoint
	kept, dir, err := c.keptHead(ctx, store)
	switch {
	case err == nil:
		out.Anchored, out.Anchor, out.HeadSize = true, dir.Path(), kept.Size
		heads = append(heads, kept.Checkpoint)
	case errors.Is(err, fs.ErrNotExist):
		out.Unanchored = "no head is kept apart in " + dir.Path()
	case dir == nil:
		out.Unanchored = err.Error()
	default:
		var damaged *anchor.DamagedError
		if errors.As(err, &damaged) {
			return nil, err
		}
		out.Unanchored = "the head cannot be read: " + err.Error()
	}
	if f.Head == "" {
		return heads, nil
	}
	given, err := c.givenHead(f, kept.Key)
	return append(heads, given), err
}

func (c *CLI) keptHead(ctx context.Context, store *sqlite.Store) (anchor.Head, *anchor.Dir, error) {
	dir, err := c.anchorDir(ctx, store)
	if err != nil {
		return anchor.Head{}, nil, err
	}
	head, err := dir.Read()
	return head, dir, err
}

func (c *CLI) anchorDir(ctx context.Context, store *sqlite.Store) (*anchor.Dir, error) {
	home, err := compose.Home(c.Home, c.env())
	if err != nil {
		return nil, err
	}
	return compose.Anchor(ctx, store, home, c.ConfigFile, c.env())
}

// givenHead reads a head that was kept elsewhere.
func (c *CLI) givenHead(f VerifyOptions, key string) (ledger.Checkpoint, error) {
	if f.Key != "" {
		key = f.Key
	}
	if key == "" {
		return ledger.Checkpoint{}, exit.New(exit.Usage, "--head needs the key that verifies it").
			WithHint("looprig ledger head --output json tells it: give it with --key")
	}
	note, err := os.ReadFile(f.Head)
	if err != nil {
		return ledger.Checkpoint{}, exit.New(exit.Usage, "--head: %w", err)
	}
	cp, err := ledger.OpenCheckpoint(note, key)
	if err != nil {
		return cp, exit.New(exit.Integrity, "--head %s: %w", f.Head, err)
	}
	return cp, nil
}

func (c *CLI) verifyFile(ctx context.Context, f VerifyOptions) error {
	opt := ledger.FileOptions{Key: f.Key}
	if f.Head != "" {
		head, err := c.givenHead(f, "")
		if err != nil {
			return err
		}
		opt.Heads = []ledger.Checkpoint{head}
	}
	file, err := os.Open(f.File)
	if err != nil {
		return exit.New(exit.Usage, "--file: %w", err)
	}
	defer func() { _ = file.Close() }() // nothing was written
	rep, err := ledger.VerifyFile(ctx, file, opt)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return exit.New(exit.Integrity, "%s: %w", f.File, err)
	}
	if c.Output == OutputJSON {
		return c.jsonLine(rep)
	}
	var out strings.Builder
	if rep.Partial {
		fmt.Fprintf(&out, "export ok: %d of %d entries of %s, each with its proof\n", rep.Entries, rep.Size, safetext.Ident(rep.Origin))
	} else {
		fmt.Fprintf(&out, "export ok: all %d entries of %s, %d with a proof\n", rep.Entries, safetext.Ident(rep.Origin), rep.Proven)
	}
	switch {
	case rep.SignedBy == "":
		out.WriteString("not signed: only that the file agrees with itself is shown\n")
	case f.Key == "":
		fmt.Fprintf(&out, "signed by the key in the file, %s: compare it with the one that you know\n", safetext.ToLine(rep.SignedBy))
	default:
		out.WriteString("signed by the key that was given\n")
	}
	return c.printf("%s", out.String())
}

func (v verified) text() string {
	var out strings.Builder
	fmt.Fprintf(&out, "ledger ok: %d entries, %d intents, %d outcomes, %d calls without an outcome\nhead %s\n",
		v.Entries, v.Intents, v.Outcomes, v.OpenTotal, orDash(v.Head))
	if v.Redacted > 0 {
		fmt.Fprintf(&out, "values were redacted in %d entries\n", v.Redacted)
	}
	if v.Anchored {
		fmt.Fprintf(&out, "anchored: goes on from the head over %d entries in %s\n", v.HeadSize, safetext.ToLine(v.Anchor))
	} else {
		fmt.Fprintf(&out, "unanchored: %s\n", safetext.ToLine(v.Unanchored))
	}
	for _, call := range v.Open {
		fmt.Fprintf(&out, "outcome unknown: %s\n", safetext.ToLine(call))
	}
	for i, r := range v.Coverage {
		if i == 0 {
			fmt.Fprintf(&out, "%-26s  %6s  %7s  %8s  %13s  %5s  %7s  %5s\n", "session", "sent", "intents", "outcomes", "indeterminate", "open", "refused", "gates")
		}
		sent := fmt.Sprint(r.Wire)
		if r.Deleted {
			sent = "deleted"
		}
		fmt.Fprintf(&out, "%-26s  %6s  %7d  %8d  %13d  %5d  %7d  %5d\n", safetext.Ident(r.Session), sent, r.Intents, r.Outcomes, r.Indeterminate, r.Open, r.Refused, r.Gates)
	}
	return out.String()
}
