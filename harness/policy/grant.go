package policy

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/looprig/looprig/harness/tool"
)

// Scope is how long a grant lasts.
type Scope string

// The scopes. A session grant ends with its session, an always grant when it is
// revoked; both end when the definition changes under them.
const (
	ScopeSession Scope = "session"
	ScopeAlways  Scope = "always"
)

// Grant is what an operator allowed beyond one call. It covers calls of one tool
// with one definition, as far as the rule asks that led to the question: a grant
// that was given under the default does not silence a rule that asks about
// particular arguments.
type Grant struct {
	// ID names the grant in traces and listings and for its revocation.
	ID    string `json:"id"`
	Scope Scope  `json:"scope"`
	// Tool is the identity, Digest the definition's digest.
	Tool   string `json:"tool"`
	Digest string `json:"tool_digest"`
	// Pin is the fingerprint of the source that the operator had accepted, "" where
	// it is not known. When that very source comes with another definition, the
	// grant has ended; one under another fingerprint is another version of it, which
	// the grant is not for.
	Pin string `json:"pin,omitempty"`
	// Rule is the key of the rule that had led to the question (Decision.Key).
	Rule string `json:"rule"`
	// When, when set, narrows the grant to calls whose arguments make this jq
	// expression yield exactly one true.
	When string `json:"when,omitempty"`
	// Created, By and Session say when, by whom and where it was given.
	Created time.Time `json:"created"`
	By      string    `json:"by"`
	Session string    `json:"session,omitempty"`
}

// Same reports that two grants cover the same calls.
func (g Grant) Same(o Grant) bool {
	return g.Tool == o.Tool && g.Digest == o.Digest && g.Rule == o.Rule && g.When == o.When
}

// Lookup finds the grants for a tool. It is safe for concurrent use. What cannot
// be looked up is left out, so that somebody is asked.
type Lookup interface {
	GrantsFor(ctx context.Context, identity string) []Grant
}

// Store keeps always grants, for all sessions and processes of a home. It is
// safe for concurrent use by goroutines and processes.
type Store interface {
	Lookup
	// Grants lists all of them, oldest first.
	Grants(ctx context.Context) ([]Grant, error)
	// AddGrant keeps one durably, and returns what is kept: of grants that cover
	// the same calls the first. Beyond MaxGrants it fails with ErrTooManyGrants.
	AddGrant(ctx context.Context, g Grant) (Grant, error)
	// RevokeGrant removes one; it fails with ErrNoGrant where there is none.
	RevokeGrant(ctx context.Context, id string) error
}

// Bounds of grants.
const (
	// MaxGrants is how many grants a session, and a store, may have.
	MaxGrants = 10_000
	// MaxGrantsPerTool is how many of them may be for one tool.
	MaxGrantsPerTool = 200
)

// Errors of grants.
var (
	ErrNoGrant       = errors.New("no such grant")
	ErrTooManyGrants = errors.New("too many grants are kept: revoke some")
	// ErrNoDigest: a tool without a digest can be granted nothing.
	ErrNoDigest = errors.New("the tool's definition has no digest to bind a grant to")
)

// Grants holds a session's grants. The zero value holds none. It is safe for
// concurrent use.
type Grants struct {
	mu   sync.Mutex
	list []Grant
}

var _ Lookup = (*Grants)(nil)

// Add keeps a grant and returns what is kept: of grants that cover the same calls
// the first. It fails with ErrNoDigest or ErrTooManyGrants.
func (g *Grants) Add(x Grant) (Grant, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if x.Digest == "" {
		return Grant{}, ErrNoDigest
	}
	of := 0
	for _, o := range g.list {
		if o.Same(x) {
			return o, nil
		}
		if o.Tool == x.Tool {
			of++
		}
	}
	if len(g.list) >= MaxGrants || of >= MaxGrantsPerTool {
		return Grant{}, ErrTooManyGrants
	}
	g.list = append(g.list, x)
	return x, nil
}

// GrantsFor implements Lookup.
func (g *Grants) GrantsFor(_ context.Context, identity string) []Grant {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []Grant
	for _, x := range g.list {
		if x.Tool == identity {
			out = append(out, x)
		}
	}
	return out
}

// Remove takes back the grants with an id, which a grant over several tools
// shares, and returns them.
func (g *Grants) Remove(id string) []Grant {
	return g.remove(func(x Grant) bool { return x.ID == id })
}

// RemoveOne takes back one grant and reports whether it was there.
func (g *Grants) RemoveOne(x Grant) bool {
	return len(g.remove(func(o Grant) bool { return o.ID == x.ID && o.Same(x) })) > 0
}

func (g *Grants) remove(doomed func(Grant) bool) []Grant {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []Grant
	g.list = slices.DeleteFunc(g.list, func(x Grant) bool {
		gone := doomed(x)
		if gone {
			out = append(out, x)
		}
		return gone
	})
	return out
}

// All lists the grants, oldest first.
func (g *Grants) All() []Grant {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.list)
}

// Grantable reports whether a grant can cover a tool at all: one with a digest,
// of a source whose pin somebody has accepted.
func Grantable(digest string, t tool.Trust) bool { return digest != "" && !unpinned(t) }

// granted looks for a grant that covers the call. Of those that were given for
// another definition it says so.
func (d *decider) granted(l Lookup) {
	if l == nil || !Grantable(d.req.ToolDigest, d.req.Trust) {
		return
	}
	for _, g := range l.GrantsFor(d.ctx, d.req.Identity.String()) {
		name := RuleGrant
		if g.Scope == ScopeAlways {
			name = RuleGrantAlways
		}
		why := d.covers(g)
		d.consider(Step{Rule: name + " " + g.ID, Outcome: why})
		switch why {
		case StepDigest:
			d.out.Lapsed = append(d.out.Lapsed, g)
		case StepVersion:
			d.out.OtherVersion = true
		case StepWon:
			reason := "granted for this session"
			if g.Scope == ScopeAlways {
				reason = "granted until its definition changes"
			}
			d.win(Allow, name, reason)
			d.out.Grant = g.ID
			return
		default:
		}
	}
}

// covers tells whether a grant is for the call, or why it is not.
func (d *decider) covers(g Grant) StepOutcome {
	switch {
	case g.Digest != d.req.ToolDigest && g.Pin != "" && d.req.Pin != "" && g.Pin != d.req.Pin:
		return StepVersion
	case g.Digest != d.req.ToolDigest:
		return StepDigest
	case g.Rule != d.out.Key:
		return StepOtherRule
	case g.When == "":
		return StepWon
	}
	code, err := compilePredicate(g.When)
	if err != nil {
		return StepPredicateError
	}
	switch ok, err := holds(d.ctx, code, &d.args); {
	case err != nil:
		return StepPredicateError
	case !ok:
		return StepPredicate
	}
	return StepWon
}

// ExactArgs is a predicate that exactly these arguments meet. It reports false
// for what is too long for one, or no JSON.
func ExactArgs(args []byte) (string, bool) {
	when := ". == " + strings.TrimSpace(string(args))
	if _, err := compilePredicate(when); err != nil {
		return "", false
	}
	return when, true
}

// CheckPredicate says what is wrong with a jq expression, as a *PredicateError,
// or nil.
func CheckPredicate(src string) error {
	_, err := compilePredicate(src)
	return err
}
