package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/looprig/looprig/compose"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/journal"
	"github.com/looprig/looprig/harness/journal/sqlite"
	"github.com/looprig/looprig/harness/ledger"
	"github.com/looprig/looprig/harness/policy"
	"github.com/looprig/looprig/harness/session"
	"github.com/looprig/looprig/internal/safetext"
)

// PolicyGrants lists the grants of the home, or those of one session.
func (c *CLI) PolicyGrants(ctx context.Context, ofSession string) error {
	if err := c.checkOutput(OutputText, OutputJSON); err != nil {
		return err
	}
	if ofSession != "" {
		return c.withSession(ctx, ofSession, func(store *sqlite.Store, meta journal.Meta) error {
			past, err := session.ReadPast(ctx, store, meta.Session)
			if err != nil {
				return err
			}
			return c.printGrants(past.Grants())
		})
	}
	store, ok, err := c.openReadOnly(ctx)
	if err != nil {
		return err
	}
	var all []policy.Grant
	if ok {
		all, err = store.Grants(ctx)
		err = c.integrity(errors.Join(err, store.Close()))
	}
	if err != nil {
		return err
	}
	return c.printGrants(all)
}

func (c *CLI) printGrants(all []policy.Grant) error {
	for _, g := range all {
		var err error
		if c.Output == OutputJSON {
			err = c.jsonLine(g)
		} else {
			when := ""
			if g.When != "" {
				when = "  when " + string(safetext.ToLineN(g.When, 200))
			}
			err = c.printf("%s  %-7s  %s  %s  %s  by %s  asked by %s%s\n", safetext.Ident(g.ID), g.Scope, g.Created.Local().Format("2006-01-02 15:04"),
				safetext.Ident(g.Tool), safetext.Ident(g.Digest), safetext.ToLine(g.By), safetext.ToLine(g.Rule), when)
		}
		if err != nil {
			return err
		}
	}
	if len(all) == 0 && c.Output == OutputText {
		return c.printf("nothing is granted\n")
	}
	return nil
}

// PolicyRevoke takes back the always grant whose id begins with prefix. Sessions
// that are running ask again from their next call on.
func (c *CLI) PolicyRevoke(ctx context.Context, prefix string) (err error) {
	if err := c.checkOutput(OutputText, OutputJSON); err != nil {
		return err
	}
	if _, ok, err := c.exists(ctx); err != nil || !ok {
		return errors.Join(err, noGrant(prefix))
	}
	home, err := compose.Home(c.Home, c.env())
	if err != nil {
		return err
	}
	store, err := sqlite.Open(ctx, sqlite.Options{Path: compose.DBPath(home)})
	if err != nil {
		return c.integrity(err)
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	all, err := store.Grants(ctx)
	if err != nil {
		return c.integrity(err)
	}
	g, err := findGrant(all, prefix)
	if err != nil {
		return err
	}
	err = store.RevokeGrantAs(ctx, g.ID, ledger.Draft{
		Kind: ledger.KindDecision, Tool: g.Tool, ToolDigest: g.Digest, Rule: policy.RuleGrantAlways + " " + g.ID, Verdict: string(policy.Ask),
		Answerer: "looprig policy revoke", AnswererKind: "person", Detail: "grant_revoked",
	})
	switch {
	case errors.Is(err, policy.ErrNoGrant):
		return noGrant(prefix)
	case err != nil:
		return c.integrity(err)
	}
	if c.Output == OutputJSON {
		return c.jsonLine(struct {
			Revoked string    `json:"revoked"`
			Tool    string    `json:"tool"`
			Time    time.Time `json:"time"`
		}{g.ID, g.Tool, time.Now().UTC()})
	}
	return c.printf("revoked %s: %s is asked about again\n", safetext.Ident(g.ID), safetext.Ident(g.Tool))
}

func noGrant(prefix string) error {
	e := exit.New(exit.Usage, "no grant has an id that begins with %q", prefix)
	if _, err := ulid.ParseStrict(prefix); err == nil {
		return e.WithHint("a grant for a session ends with it: /policy in the interface revokes it before")
	}
	return e.WithHint("looprig policy grants lists them")
}

func findGrant(all []policy.Grant, prefix string) (policy.Grant, error) {
	var found []policy.Grant
	for _, g := range all {
		if prefix != "" && strings.HasPrefix(g.ID, strings.ToUpper(prefix)) {
			found = append(found, g)
		}
	}
	switch len(found) {
	case 0:
		return policy.Grant{}, noGrant(prefix)
	case 1:
		return found[0], nil
	}
	return policy.Grant{}, exit.New(exit.Usage, "%d grants have an id that begins with %q: write more of it", len(found), prefix)
}
