package session

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/ledger"
	"github.com/looprig/looprig/harness/policy"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/internal/safetext"
)

// The codes of notices about grants.
const (
	// CodeGrantLapsed: a grant ended, because the tool's definition changed.
	CodeGrantLapsed = "grant_lapsed"
	// CodeGrantFailed: what was to be granted could not be kept; the call itself
	// was allowed.
	CodeGrantFailed = "grant_failed"
)

// The operations of grant.changed.
const (
	grantGiven   = "given"
	grantRevoked = "revoked"
	grantLapsed  = "lapsed"
)

// byDefinition ends grants whose tool is not what it was.
const byDefinition = "definition"

// maxReadOnlyTools bounds what one answer grants of a server's read-only tools; a
// server with more is not offered for it.
const maxReadOnlyTools = 500

// grantBook is all that has been granted: in the session and for good. The store
// is asked anew for each question, so that what another process revokes counts
// at once.
type grantBook struct{ s *Session }

var _ policy.Lookup = grantBook{}

func (b grantBook) GrantsFor(ctx context.Context, identity string) []policy.Grant {
	out := b.s.grants.GrantsFor(ctx, identity)
	if b.s.o.Grants != nil {
		out = append(out, b.s.o.Grants.GrantsFor(ctx, identity)...)
	}
	return out
}

// Grants lists what has been granted, the session's grants first.
func (s *Session) Grants(ctx context.Context) ([]policy.Grant, error) {
	out := s.grants.All()
	if s.o.Grants == nil {
		return out, nil
	}
	always, err := s.o.Grants.Grants(ctx)
	return append(out, always...), err
}

// RevokeGrant takes a grant back; calls that have begun are not affected. It
// fails with policy.ErrNoGrant, or with gate.ErrNotOperator.
func (s *Session) RevokeGrant(ctx context.Context, id string, by gate.Answerer) error {
	if !by.Operator() {
		return gate.ErrNotOperator
	}
	if gone := s.grants.Remove(id); len(gone) > 0 {
		return s.record(ctx, nil, nil, grantEvents(grantRevoked, gone, by.ID)...)
	}
	if s.o.Grants == nil {
		return policy.ErrNoGrant
	}
	all, err := s.o.Grants.Grants(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(g policy.Grant) bool { return g.ID == id })
	if i < 0 {
		return policy.ErrNoGrant
	}
	var with []journal.GrantChange
	if s.grantsInJournal() {
		with = []journal.GrantChange{{Revoke: id}}
	} else if err := s.o.Grants.RevokeGrant(ctx, id); err != nil {
		return err
	}
	return s.record(ctx, with, []ledger.Draft{grantDraft(all[i], grantRevoked, string(by.Kind), by.ID)}, grantEvents(grantRevoked, all[i:i+1], by.ID)...)
}

// grantsInJournal says that the journal's store keeps the standing grants, too, so
// that they change in the transaction that records it. Elsewhere they change just
// before.
func (s *Session) grantsInJournal() bool {
	both, ok := s.o.Store.(journal.GrantStore)
	return ok && s.o.Grants != nil && policy.Store(both) == s.o.Grants
}

func grantEvents(op string, grants []policy.Grant, by string) []event.Event {
	out := make([]event.Event, len(grants))
	for i, g := range grants {
		out[i] = &event.GrantChanged{
			Op: op, Scope: string(g.Scope), ID: g.ID, Tool: g.Tool, ToolDigest: g.Digest, Pin: g.Pin, Rule: g.Rule, When: g.When, By: by,
		}
	}
	return out
}

func grantDraft(g policy.Grant, op, kind, by string) ledger.Draft {
	verdict := policy.Allow
	if op != grantGiven {
		verdict = policy.Ask
	}
	return ledger.Draft{
		Kind: ledger.KindDecision, Binding: identityOf(g.Tool).Binding, Tool: g.Tool, ToolDigest: g.Digest, Pin: g.Pin,
		Rule: "grant:" + string(g.Scope) + " " + g.ID, Verdict: string(verdict), Answerer: by, AnswererKind: kind, Detail: "grant_" + op,
	}
}

// give keeps what an answer granted beyond the call. What cannot be kept is said;
// the call is allowed all the same.
func (c *call) give(env gate.Envelope, r gate.Response, scope policy.Scope) {
	g := policy.Grant{
		ID: ulid.MustNew(ulid.Timestamp(c.t.s.o.Clock.Now()), rand.Reader).String(), Scope: scope, Rule: c.pol.Key, When: r.TermsFor(c.id).When,
		Created: c.t.s.o.Clock.Now().UTC(), By: r.Answerer.ID, Session: c.t.s.o.ID,
	}
	var given []policy.Grant
	var err error
	for _, d := range c.covered(env, r, scope) {
		one := g
		one.Tool, one.Digest, one.Pin = d.Identity.String(), d.Digest, d.Pin
		if err = c.keep(&one, d.Trust); err != nil {
			break
		}
		given = append(given, one)
	}
	if err != nil {
		c.notice(CodeGrantFailed, fmt.Sprintf("the call was allowed once: what was to be granted for %s could not be kept: %s",
			c.label(), safetext.ToLineN(err.Error(), maxReasonBytes)))
	}
	if len(given) == 0 {
		return
	}
	drafts := make([]ledger.Draft, len(given))
	var with []journal.GrantChange
	events := grantEvents(grantGiven, given, r.Answerer.ID)
	for i, one := range given {
		drafts[i] = grantDraft(one, grantGiven, string(r.Answerer.Kind), r.Answerer.ID)
		drafts[i].Session, drafts[i].Loop, drafts[i].Turn, drafts[i].Gate = c.t.s.o.ID, c.t.loop.id, c.t.id, env.ID
		events[i].Head().Loop, events[i].Head().Turn = c.t.loop.id, c.t.id
		if scope == policy.ScopeAlways && c.t.s.grantsInJournal() {
			with = append(with, journal.GrantChange{Given: &one})
		}
	}
	// A failure latches the session, which says so before the call is sent.
	_ = c.t.s.hub.appendGrants(with, drafts, events...)
}

// keep makes sure that a grant can be given. One of the session is kept then, and
// so is a standing one where the journal's store does not do it.
func (c *call) keep(g *policy.Grant, t tool.Trust) (err error) {
	if g.When != "" {
		if err := policy.CheckPredicate(g.When); err != nil {
			return err
		}
	}
	switch {
	case !policy.Grantable(g.Digest, t):
		return errors.New("its source is not accepted, or it has no digest")
	case g.Scope == policy.ScopeAlways && c.t.s.o.Grants == nil:
		return errors.New("nothing keeps grants beyond this session")
	case g.Scope == policy.ScopeAlways && c.t.s.grantsInJournal():
		*g, err = standing(c.t.ctx, c.t.s.o.Grants, *g)
	case g.Scope == policy.ScopeAlways:
		*g, err = c.t.s.o.Grants.AddGrant(c.t.ctx, *g)
	default:
		*g, err = c.t.s.grants.Add(*g)
	}
	return err
}

// standing is what AddGrant would keep.
func standing(ctx context.Context, store policy.Store, g policy.Grant) (policy.Grant, error) {
	all, err := store.Grants(ctx)
	if err != nil {
		return g, err
	}
	of := 0
	for _, o := range all {
		if o.Same(g) {
			return o, nil
		}
		if o.Tool == g.Tool {
			of++
		}
	}
	if len(all) >= policy.MaxGrants || of >= policy.MaxGrantsPerTool {
		return g, policy.ErrTooManyGrants
	}
	g.Created = g.Created.Truncate(time.Microsecond)
	return g, nil
}

// covered are the tools that an answer grants: the call's own, or all those
// read-only ones of its server that were listed.
func (c *call) covered(env gate.Envelope, r gate.Response, scope policy.Scope) []tool.Definition {
	own := []tool.Definition{c.def}
	if r.TermsFor(c.id).Cover != gate.CoverReadOnly || scope != policy.ScopeSession || c.t.restored != nil {
		return own
	}
	i := slices.IndexFunc(env.Prompt.Calls, func(p gate.CallPrompt) bool { return p.Call == c.id })
	if i < 0 || len(env.Prompt.Calls[i].ReadOnly) == 0 {
		return own
	}
	return c.readOnly()
}

// readOnly lists the tools of the call's server that it marks read-only, where
// the operator trusts its word and the call's tool is one of them.
func (c *call) readOnly() []tool.Definition {
	if !readOnly(c.def) {
		return nil
	}
	var out []tool.Definition
	for _, d := range c.t.set.Definitions() {
		if d.Identity.Source == c.def.Identity.Source && d.Identity.Binding == c.def.Identity.Binding && readOnly(d) {
			out = append(out, d)
		}
	}
	if len(out) > maxReadOnlyTools {
		return nil
	}
	return out
}

func readOnly(d tool.Definition) bool {
	return d.Identity.Binding != "" && d.HintsTrusted && d.Hints.ReadOnly != nil && *d.Hints.ReadOnly &&
		(d.Hints.Destructive == nil || !*d.Hints.Destructive) && policy.Grantable(d.Digest, d.Trust)
}

// readOnlyNames are the raw names of those tools, for the prompt. One alone is
// what any session grant covers.
func (c *call) readOnlyNames() []string {
	tools := c.readOnly()
	if len(tools) < 2 {
		return nil
	}
	out := make([]string, len(tools))
	for i, d := range tools {
		out[i] = d.Identity.Name
	}
	slices.Sort(out)
	return out
}

// lapse ends the grants that were given for another definition of the tool, for
// good, and says so.
func (c *call) lapse() {
	for _, g := range c.pol.Lapsed {
		var with []journal.GrantChange
		if g.Scope == policy.ScopeAlways {
			if c.t.s.grantsInJournal() {
				with = []journal.GrantChange{{Revoke: g.ID}}
			} else if c.t.s.o.Grants == nil || c.t.s.o.Grants.RevokeGrant(c.t.ctx, g.ID) != nil {
				continue // somebody else did, or it stays and is not applied
			}
		} else if !c.t.s.grants.RemoveOne(g) {
			continue
		}
		d := grantDraft(g, grantLapsed, "", byDefinition)
		d.Session, d.Loop, d.Turn = c.t.s.o.ID, c.t.loop.id, c.t.id
		e := grantEvents(grantLapsed, []policy.Grant{g}, byDefinition)[0]
		e.Head().Loop, e.Head().Turn = c.t.loop.id, c.t.id
		_ = c.t.s.hub.appendGrants(with, []ledger.Draft{d}, e)
		c.notice(CodeGrantLapsed, fmt.Sprintf("what was granted for %s (%s, %s) has ended: its definition is not the one that it was given for; it was %s, it is %s",
			c.label(), g.Scope, g.Created.Local().Format("2006-01-02 15:04"), short(g.Digest), short(c.def.Digest)))
	}
	if c.pol.Verdict != policy.Ask {
		return
	}
	switch {
	case len(c.pol.Lapsed) > 0:
		c.pol.Reason = strings.TrimPrefix(c.pol.Reason+"; ", "; ") + "it was granted before, and its definition has changed since"
	case c.pol.OtherVersion:
		c.pol.Reason = strings.TrimPrefix(c.pol.Reason+"; ", "; ") + "it was granted for another version of its server, which defines it otherwise"
	}
}

func (c *call) notice(code, text string) {
	_ = c.t.s.hub.emit(nil, &event.Notice{
		Header: c.t.head(), Binding: c.def.Identity.Binding, Code: code, Level: string(event.SeverityWarn), Text: text,
	})
}

// pastGrant takes a session's grant into its past, or out of it.
func (p *past) pastGrant(e *event.GrantChanged, session string) {
	if e.Scope != string(policy.ScopeSession) {
		return
	}
	g := policy.Grant{
		ID: e.ID, Scope: policy.ScopeSession, Tool: e.Tool, Digest: e.ToolDigest, Pin: e.Pin, Rule: e.Rule, When: e.When,
		Created: e.Time, By: e.By, Session: session,
	}
	p.Grants = slices.DeleteFunc(p.Grants, func(o policy.Grant) bool { return o.ID == g.ID && o.Tool == g.Tool && o.Digest == g.Digest })
	if e.Op == grantGiven {
		p.Grants = append(p.Grants, g)
	}
}

// Grants are the session's own grants as it was left.
func (p *Past) Grants() []policy.Grant { return slices.Clone(p.p.Grants) }
