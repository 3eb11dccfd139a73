package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/looprig/looprig/compose"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/journal/sqlite"
	"github.com/looprig/looprig/harness/ledger"
	"github.com/looprig/looprig/harness/ledger/redact"
	"github.com/looprig/looprig/internal/safetext"
)

// maxRedactReason bounds the reason of a redaction, in bytes.
const maxRedactReason = 200

// redacted is what is printed of a redaction.
type redacted struct {
	Session string `json:"session"`
	Target  string `json:"target"`
	sqlite.Redacted
	// Left counts the records that still hold one of the texts inside of a longer
	// word, Bodies the bodies stored apart that hold one: they are not rewritten.
	Left   int `json:"left"`
	Bodies int `json:"bodies_left"`
}

// LedgerRedact removes what a call or a gate of a session says from journal and
// ledger, and leaves an entry that says so.
func (c *CLI) LedgerRedact(ctx context.Context, prefix, target, reason string) error {
	if err := c.checkOutput(OutputText, OutputJSON); err != nil {
		return err
	}
	if len(reason) > maxRedactReason || strings.ContainsFunc(reason, unicode.IsControl) || string(safetext.ToLine(reason)) != reason {
		return exit.New(exit.Usage, "--reason: one plain line of at most %d bytes", maxRedactReason)
	}
	return c.withStore(ctx, func(store *sqlite.Store) error {
		meta, err := compose.FindSession(ctx, store, prefix)
		if err != nil {
			return err
		}
		plan, err := planRedaction(ctx, store, meta.Session, target)
		if err != nil {
			return err
		}
		if plan.Clean(reason) != reason {
			return exit.New(exit.Usage, "--reason says what is to be redacted, and stays in the ledger")
		}
		done, err := store.Redact(ctx, sqlite.Redaction{
			Session: meta.Session, Rewrite: plan.Rewrite, Title: plan.Clean, Fields: plan.Fields,
			Draft: ledger.Draft{
				Source: "person", Detail: targetKind(target), Answerer: "local", AnswererKind: string(gate.AnswererPerson), Reason: reason,
			},
		})
		if errors.Is(err, sqlite.ErrNothingToRedact) {
			return exit.New(exit.Usage, "%w", err)
		}
		if err != nil {
			return err
		}
		out := redacted{Session: meta.Session, Target: target, Redacted: done}
		if err := out.lookForRest(ctx, store, plan); err != nil {
			return err
		}
		return c.printRedacted(out)
	})
}

// targetKind tells calls from gates: their ids begin with another letter.
func targetKind(target string) string {
	if strings.HasPrefix(target, "g") {
		return "gate"
	}
	return "call"
}

func planRedaction(ctx context.Context, store journal.Store, id, target string) (*redact.Plan, error) {
	plan := redact.New(id, target)
	for r, err := range store.Read(ctx, id, 1) {
		if err != nil {
			return nil, err
		}
		if err := plan.Learn(r); err != nil {
			return nil, err
		}
	}
	plan.Ready()
	if !plan.Found() {
		return nil, exit.New(exit.Usage, "session %s has no call or gate %s", safetext.Ident(id), safetext.Ident(target)).
			WithHint("looprig sessions show %s lists its events", id)
	}
	return plan, nil
}

// lookForRest counts what still holds one of the texts: records, and bodies that
// are stored apart, which stay as they are.
func (out *redacted) lookForRest(ctx context.Context, store journal.Store, plan *redact.Plan) error {
	seen := map[string]bool{}
	for _, id := range out.Sessions {
		for r, err := range store.Read(ctx, id, 1) {
			if err != nil {
				return err
			}
			if plan.Left(r.Line) {
				out.Left++
			}
			e, err := event.Decode(r.Line)
			if err != nil {
				return fmt.Errorf("record %d: %w", r.Seq, err)
			}
			for _, digest := range event.Blobs(e) {
				if seen[digest] {
					continue
				}
				seen[digest] = true
				body, err := store.Blob(ctx, digest)
				if err != nil {
					return err
				}
				if plan.Left(body.Body) {
					out.Bodies++
				}
			}
		}
	}
	return nil
}

func (c *CLI) printRedacted(r redacted) error {
	if len(r.Plain) > 0 {
		_, _ = fmt.Fprintf(c.Stderr, "looprig: %d entries are of a version that kept plain digests: a short text can be guessed from them\n", len(r.Plain))
	}
	if r.Left > 0 {
		_, _ = fmt.Fprintf(c.Stderr, "looprig: %d records still hold a part of it inside of longer words or names: looprig sessions delete removes all of a session\n", r.Left)
	}
	if r.Bodies > 0 {
		_, _ = fmt.Fprintf(c.Stderr, "looprig: %d large texts that are stored apart hold a part of it and stay as they are: redact the calls that they came of, too\n", r.Bodies)
	}
	if c.Output == OutputJSON {
		return c.jsonLine(r)
	}
	if n := len(r.Sessions) - 1; n > 0 {
		_, _ = fmt.Fprintf(c.Stderr, "looprig: %d forks of the session were redacted with it\n", n)
	}
	return c.printf("redacted %s of session %s: %d records rewritten, the values of %d ledger entries removed, entry %d says so\n",
		safetext.Ident(r.Target), safetext.Ident(r.Session), r.Records, len(r.Entries), r.Entry)
}
