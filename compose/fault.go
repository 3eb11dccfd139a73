package compose

import (
	"errors"
	"strings"

	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/ledger"
	"github.com/looprig/looprig/harness/ledger/anchor"
	"github.com/looprig/looprig/harness/session"
)

// StoreFault gives a failure of the database at path its exit code, its place
// and what to do. Other errors come out as internal failures.
func StoreFault(path string, err error) error {
	if err == nil {
		return nil
	}
	var storage *journal.StorageError
	switch {
	case damaged(err):
		return exit.New(exit.Integrity, "%s: %w", path, err).
			WithHint("what is damaged cannot be trusted: keep a copy of the file, then restore a backup or move it away to begin a new one")
	case errors.As(err, &storage):
		return exit.New(exit.Internal, "%s: %w", path, err).WithHint("%s", storage.Fix)
	}
	return exit.New(exit.Internal, "%s: %w", path, err)
}

// damaged reports whether stored data is not what was written.
func damaged(err error) bool {
	var corrupt *journal.CorruptError
	var entry *ledger.BadEntryError
	var head *ledger.HeadError
	var kept *anchor.DamagedError
	return errors.As(err, &corrupt) || errors.As(err, &entry) || errors.As(err, &head) || errors.As(err, &kept)
}

// SubmitFault tells a journal that fails from an input that is wrong.
func (a *App) SubmitFault(err error) error {
	var unwritable *session.JournalError
	if errors.As(err, &unwritable) {
		return StoreFault(DBPath(a.home), err)
	}
	return exit.New(exit.Usage, "%w", err)
}

// CloseFault joins what a run ended with and what went wrong when it was closed.
// The run's own failure keeps its code, unless the data is damaged; a store that
// failed is said in both cases, since it may be the cause.
func (a *App) CloseFault(err, closing error) error {
	if closing == nil || (err != nil && exit.Of(err) == exit.Integrity) {
		return err
	}
	fault := exit.New(exit.Internal, "the run was not closed cleanly: %w", closing)
	var latched *session.JournalError
	if errors.As(closing, &latched) {
		var e *exit.Error
		if errors.As(StoreFault(DBPath(a.home), latched), &e) {
			fault = e
		}
	}
	if err == nil || fault.Code == exit.Integrity {
		return fault
	}
	both := exit.New(exit.Of(err), "%s\n%s", strings.TrimRight(err.Error(), "\n"), fault.Message)
	var first *exit.Error
	if errors.As(err, &first) {
		both.Binding, both.Class, both.Hint = first.Binding, first.Class, first.Hint
	}
	if both.Hint == "" {
		both.Hint = fault.Hint
	}
	both.Err = errors.Join(err, closing)
	return both
}
