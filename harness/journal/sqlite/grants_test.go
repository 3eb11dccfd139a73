package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/looprig/looprig/harness/policy"
)

func TestGrantsSurviveReopeningAndAreRevoked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	g := policy.Grant{
		ID: "01A", Scope: policy.ScopeAlways, Tool: "mcp:demo:add", Digest: "sha256:aa", Rule: "default", When: ".a < 10",
		Created: time.Unix(1_800_000_000, 123_000).UTC(), By: "tester", Session: "01S",
	}
	s := openGrants(t, path)
	kept, err := s.AddGrant(t.Context(), g)
	if err != nil || kept != g {
		t.Fatalf("%+v %v", kept, err)
	}
	again := g
	again.ID, again.By = "01B", "somebody"
	if kept, err := s.AddGrant(t.Context(), again); err != nil || kept.ID != "01A" {
		t.Fatalf("the same grant twice: %+v %v", kept, err)
	}
	other := g
	other.ID, other.Digest, other.Created = "01C", "sha256:bb", g.Created.Add(time.Second)
	if _, err := s.AddGrant(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if _, err := s.AddGrant(t.Context(), policy.Grant{ID: "01D", Tool: "x"}); !errors.Is(err, policy.ErrNoDigest) {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, second := openGrants(t, path), openGrants(t, path)
	all, err := s.Grants(t.Context())
	if err != nil || len(all) != 2 || all[0] != g || all[1] != other {
		t.Fatalf("%+v %v", all, err)
	}
	// What another process revokes is gone at once.
	if err := second.RevokeGrant(t.Context(), "01A"); err != nil {
		t.Fatal(err)
	}
	if got := s.GrantsFor(t.Context(), "mcp:demo:add"); len(got) != 1 || got[0] != other {
		t.Fatalf("%+v", got)
	}
	if got := s.GrantsFor(t.Context(), "mcp:demo:other"); len(got) != 0 {
		t.Fatalf("%+v", got)
	}
	if err := s.RevokeGrant(t.Context(), "01A"); !errors.Is(err, policy.ErrNoGrant) {
		t.Fatal(err)
	}
	if err := s.RevokeGrant(t.Context(), "01C"); err != nil {
		t.Fatalf("after a refusal: %v", err)
	}
}

func TestGrantsPerToolAreBounded(t *testing.T) {
	t.Parallel()
	s := openGrants(t, filepath.Join(t.TempDir(), "x.db"))
	for i := range policy.MaxGrantsPerTool + 1 {
		_, err := s.AddGrant(t.Context(), policy.Grant{ID: fmt.Sprint(i), Tool: "mcp:demo:add", Digest: "sha256:aa", Rule: "default", When: fmt.Sprintf(".a == %d", i)})
		if over := i == policy.MaxGrantsPerTool; over != errors.Is(err, policy.ErrTooManyGrants) || (!over && err != nil) {
			t.Fatalf("%d: %v", i, err)
		}
	}
}

func openGrants(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}
