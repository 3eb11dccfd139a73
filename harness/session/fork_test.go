package session

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/journal/sqlite"
)

// A fork has its parent's history up to the turn, goes on with its own ids, and
// leaves the parent, which is open meanwhile, as it was.
func TestFork(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "looprig.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	o := restoreOptions(store, &teller{})
	parent := open(t, o, nil, richTools()...)
	parent.say("first")
	parent.say("use big")
	parent.say("third")
	for _, c := range []struct {
		turn       string
		has, lacks string
	}{{"t1", "first", "c1"}, {"t2", "c1", "third"}, {"", "third", "fourth"}} {
		id, err := Fork(t.Context(), ForkOptions{Store: store, Parent: parent.ID(), Turn: c.turn})
		parent.must(err)
		m := &teller{}
		o := restoreOptions(store, m)
		o.Holder = "fork"
		fork := restored(t, o, id, richTools()...)
		turn := fork.say("in the fork")
		if got := m.given(t); !strings.Contains(got, c.has) || strings.Contains(got, c.lacks) || !strings.Contains(got, "first") {
			t.Errorf("%s: %.400s", c.turn, got)
		}
		if want := map[string]string{"t1": "t2", "t2": "t3", "": "t4"}[c.turn]; turn.Turn != want {
			t.Errorf("the fork's turn is %s, not %s", turn.Turn, want)
		}
		if c.turn != "t1" {
			if r, err := fork.Result(fork.ctx(), "c1"); err != nil || len(content.PlainText(r.Content)) != 200<<10 {
				t.Errorf("the result of an inherited call: %v", err)
			}
		}
		deeper, err := Fork(t.Context(), ForkOptions{Store: store, Parent: id, Turn: "t1"})
		parent.must(err)
		parts, err := Lineage(t.Context(), store, deeper)
		if err != nil || len(parts) != 2 || parts[0].Session != parent.ID() {
			t.Errorf("%+v %v", parts, err)
		}
		fork.shut()
	}
	_, err = Fork(t.Context(), ForkOptions{Store: store, Parent: parent.ID(), Turn: "t9"})
	if _, ok := errors.AsType[*NoTurnError](err); !ok {
		t.Errorf("%v", err)
	}
	if _, err := Fork(t.Context(), ForkOptions{Store: store, Parent: "01J00000000000000000000000"}); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("%v", err)
	}
	if r := parent.say("fourth"); r.Turn != "t4" || r.Outcome != TurnCompleted {
		t.Errorf("%+v", r)
	}
	for rec, err := range store.Read(t.Context(), parent.ID(), 1) {
		parent.must(err)
		if rec.Type == string(event.TypeSessionRestored) || rec.Type == string(event.TypeSessionClosed) {
			t.Errorf("the parent has %s", rec.Line)
		}
	}
}
