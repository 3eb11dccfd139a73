package compose

import (
	"errors"
	"strings"
	"testing"

	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/ledger"
	"github.com/looprig/looprig/harness/session"
	"github.com/looprig/looprig/harness/tool"
)

func TestStoreFaultsSayWhereAndWhatToDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want exit.Code
		hint bool
	}{
		{&journal.CorruptError{Where: "x", Reason: "damaged"}, exit.Integrity, true},
		{&journal.LatchedError{Err: &journal.CorruptError{}}, exit.Integrity, true},
		{&ledger.BadEntryError{}, exit.Integrity, true},
		{&journal.LatchedError{Err: &journal.StorageError{Reason: "the disk is full", Fix: "free some space"}}, exit.Internal, true},
		{errors.New("something else"), exit.Internal, false},
	} {
		var e *exit.Error
		if !errors.As(StoreFault("/h/looprig.db", c.err), &e) || e.Code != c.want || (e.Hint != "") != c.hint || !strings.Contains(e.Message, "/h/looprig.db") {
			t.Errorf("%v gave %+v", c.err, e)
		}
	}
}

func TestASubmitThatTheJournalRefusesIsNoMisuse(t *testing.T) {
	t.Parallel()
	a := &App{home: "/h"}
	if got := exit.Of(a.SubmitFault(&session.JournalError{Err: errors.New("full")})); got != exit.Internal {
		t.Errorf("a journal that fails gave %d", got)
	}
	if got := exit.Of(a.SubmitFault(&tool.UnknownToolError{})); got != exit.Usage {
		t.Errorf("an unknown tool gave %d", got)
	}
}

func TestCloseFaultKeepsTheFirstFailureAndTheCause(t *testing.T) {
	t.Parallel()
	a := &App{home: "/h"}
	full := &session.JournalError{Err: &journal.StorageError{Reason: "the disk is full", Fix: "free some space"}}
	bad := &session.JournalError{Err: &journal.CorruptError{Reason: "damaged"}}
	failed := exit.New(exit.Unreachable, "nothing was sent")
	for _, c := range []struct {
		err, closing error
		want         exit.Code
		says         string
	}{
		{nil, nil, exit.OK, ""},
		{failed, nil, exit.Unreachable, "nothing was sent"},
		{nil, errors.New("late"), exit.Internal, "late"},
		{nil, full, exit.Internal, "the disk is full"},
		{failed, full, exit.Unreachable, "the disk is full"},
		{failed, bad, exit.Integrity, "damaged"},
		{nil, bad, exit.Integrity, "damaged"},
	} {
		got := a.CloseFault(c.err, c.closing)
		if exit.Of(got) != c.want || (got != nil && !strings.Contains(got.Error(), c.says)) {
			t.Errorf("%v, then %v: %v (%d)", c.err, c.closing, got, exit.Of(got))
		}
	}
}
