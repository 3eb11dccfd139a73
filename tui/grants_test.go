package tui

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/policy"
)

// granted is a store of grants in memory.
type granted struct{ all []policy.Grant }

func (k *granted) Grants(context.Context) ([]policy.Grant, error) { return k.all, nil }

func (k *granted) RevokeGrant(_ context.Context, id string) error {
	var rest []policy.Grant
	for _, g := range k.all {
		if g.ID != id {
			rest = append(rest, g)
		}
	}
	if len(rest) == len(k.all) {
		return policy.ErrNoGrant
	}
	k.all = rest
	return nil
}

func TestGrantsAreListedAndRevoked(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 14, 2, 0, 0, time.Local)
	k := &granted{all: []policy.Grant{
		{ID: "1", Scope: policy.ScopeSession, Tool: "mcp:demo:a\u202e", Created: at},
		{ID: "1", Scope: policy.ScopeSession, Tool: "mcp:demo:b", Created: at},
		{ID: "2", Scope: policy.ScopeAlways, Tool: "mcp:docs:search", When: `. == {"q":"x"}`, Created: at},
	}}
	r := newRig(t, 80, 24, func(o *Options) { o.Grants = k })
	r.press(strings.Split("/policy", "")...)
	r.press("enter")
	for _, want := range []string{`demo ▸ "a\u202e" and 1 more`, `docs ▸ search when . == {"q":"x"}`, "always · 2026-11-30 14:02"} {
		if out := r.screen(); !strings.Contains(out, want) || strings.Contains(out, "\u202e") {
			t.Fatalf("no %q in\n%s", want, out)
		}
	}
	r.press("down")
	r.press("enter")
	if len(k.all) != 3 || !strings.Contains(r.screen(), "press it again") {
		t.Fatalf("revoked at once:\n%s", r.screen())
	}
	r.press("up") // moving away takes the first press back
	r.press("enter")
	if len(k.all) != 3 {
		t.Fatal("the wrong grant was revoked")
	}
	r.press("enter")
	if len(k.all) != 1 || k.all[0].ID != "2" || !strings.Contains(r.screen(), "docs ▸ search") {
		t.Fatalf("%+v\n%s", k.all, r.screen())
	}
	r.press("enter")
	r.press("enter")
	if len(k.all) != 0 {
		t.Fatalf("%+v", k.all)
	}
	r.emit(&event.GrantChanged{Op: "lapsed", Scope: "always", Tool: "mcp:docs:search", By: "definition"})
	if out := r.screen(); !strings.Contains(out, "grant ended, the definition has changed: docs ▸ search") {
		t.Fatalf("nothing is said:\n%s", out)
	}
}
