package session

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/journal/sqlite"
	"github.com/looprig/looprig/harness/ledger"
	"github.com/looprig/looprig/harness/tool"
)

// cutStore is a store whose process is killed before the append that a test waits
// for.
type cutStore struct {
	*sqlite.Store
	cut atomic.Bool
}

var (
	_       journal.GrantStore = (*cutStore)(nil)
	errKill                    = errors.New("killed")
)

func (s *cutStore) Append(ctx context.Context, l journal.Lease, b journal.Batch) ([]ledger.Entry, error) {
	tells := slices.ContainsFunc(b.Records, func(r journal.Record) bool { return r.Type == string(event.TypeGrantChanged) })
	if tells && s.cut.Load() {
		return nil, errKill
	}
	return s.Store.Append(ctx, l, b)
}

// A standing grant and its record are one write: there is none that was not
// recorded, and a revocation or a lapse that was not recorded has not happened.
func TestStandingGrantsAreThereIfTheyAreOnRecord(t *testing.T) {
	t.Parallel()
	store := &cutStore{Store: grantStore(t)}
	count := func(what string, want int) {
		t.Helper()
		if all, err := store.Grants(t.Context()); err != nil || len(all) != want {
			t.Fatalf("%s: %d grants, not %d: %+v %v", what, len(all), want, all, err)
		}
	}
	was, is := define("demo", "a", &fake{}), define("demo", "a", &fake{}, func(d *tool.Definition) { d.Digest = "sha256:other" })
	session := func(d tool.Definition) *world {
		return open(t, Options{Store: store, Grants: store}, times(2, "mcp__demo__a"), d)
	}
	store.cut.Store(true)
	session(was).asked(gate.Response{Action: gate.ActionAlways})
	count("killed while it was given", 0)
	store.cut.Store(false)
	w := session(was)
	w.asked(gate.Response{Action: gate.ActionAlways})
	count("given", 1)
	if r := w.say("again"); r.Calls[0].Outcome != tool.OK {
		t.Fatalf("%+v", r.Calls)
	}
	all, err := w.Grants(w.ctx())
	w.must(err)
	store.cut.Store(true)
	if err := w.RevokeGrant(w.ctx(), all[0].ID, person); !errors.Is(err, errKill) {
		t.Fatal(err)
	}
	count("killed while it was revoked", 1)
	changed := session(is)
	if _, err := changed.AwaitTurn(changed.ctx(), changed.submit(Input{Text: "use a"})); !errors.Is(changed.Err(), errKill) {
		t.Fatalf("the session goes on: %v", err)
	}
	count("killed while it lapsed", 1)
	store.cut.Store(false)
	changed = session(is)
	changed.asked(gate.Response{Action: gate.ActionDeny})
	count("lapsed", 0)
	w = session(is)
	w.asked(gate.Response{Action: gate.ActionAlways})
	all, err = w.Grants(w.ctx())
	w.must(err)
	w.must(w.RevokeGrant(w.ctx(), all[0].ID, person))
	count("revoked", 0)
}
