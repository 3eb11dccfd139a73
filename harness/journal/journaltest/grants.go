package journaltest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/ledger"
	"github.com/looprig/looprig/harness/policy"
)

// grants: what a batch gives or takes back is there if and only if its records
// are. A store that keeps no grants is handed none.
func grants(t *testing.T, o Opener) {
	s, ok := open(t, o, NewClock().Now).(journal.GrantStore)
	if !ok {
		t.Skip("it keeps no grants")
	}
	lease := create(t, s, "S1")
	give := func(id, digest string) journal.GrantChange {
		return journal.GrantChange{Given: &policy.Grant{
			ID: id, Scope: policy.ScopeAlways, Tool: "mcp:demo:add", Digest: digest, Rule: "default", By: "tester", Created: time.UnixMicro(1), Session: "S1",
		}}
	}
	have := func(want ...string) {
		t.Helper()
		all, err := s.Grants(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, g := range all {
			ids = append(ids, g.ID)
		}
		if slices.Sort(ids); !slices.Equal(ids, want) {
			t.Fatalf("granted %q, not %q", ids, want)
		}
	}
	appended := func(expected, seq uint64, change ...journal.GrantChange) error {
		_, err := s.Append(t.Context(), lease, journal.Batch{
			ExpectedSeq: expected, Records: []journal.Record{record(seq, "a")}, Grants: change,
			Ledger: []ledger.Draft{{Kind: ledger.KindDecision, Session: "S1", Detail: "grant_given"}},
		})
		return err
	}
	if err := appended(7, 8, give("01A", "sha256:aa")); !errors.Is(err, journal.ErrConflict) {
		t.Fatal(err)
	}
	have()
	// What covers the same calls is given once.
	if err := appended(0, 1, give("01A", "sha256:aa"), give("01B", "sha256:bb"), give("01C", "sha256:aa")); err != nil {
		t.Fatal(err)
	}
	have("01A", "01B")
	if err := appended(7, 8, journal.GrantChange{Revoke: "01A"}); !errors.Is(err, journal.ErrConflict) {
		t.Fatal(err)
	}
	have("01A", "01B")
	// What is gone already is no error.
	if err := appended(1, 2, journal.GrantChange{Revoke: "01A"}, journal.GrantChange{Revoke: "01A"}); err != nil {
		t.Fatal(err)
	}
	have("01B")
}
