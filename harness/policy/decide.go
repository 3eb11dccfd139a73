package policy

import (
	"context"
	"sync"

	"github.com/looprig/looprig/harness/tool"
)

// Grants are what an operator allowed for the rest of a session. The zero value
// holds none. It is safe for concurrent use.
type Grants struct {
	mu  sync.Mutex
	all map[Grant]bool
}

// Grant covers calls of one tool with one definition, as far as the rule asks
// that led to the question. A grant that was given under the default does not
// silence a rule that asks about particular arguments.
type Grant struct {
	Identity tool.Identity
	Digest   string
	Rule     string
}

// MaxGrants bounds the grants of one session; beyond it, calls are asked about.
const MaxGrants = 10_000

// Add records a grant. It reports false, and records nothing, for a tool
// without a digest or when there are too many.
func (g *Grants) Add(x Grant) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if x.Digest == "" || len(g.all) >= MaxGrants {
		return false
	}
	if g.all == nil {
		g.all = map[Grant]bool{}
	}
	g.all[x] = true
	return true
}

// Has reports whether the grant was given.
func (g *Grants) Has(x Grant) bool {
	if g == nil || x.Digest == "" {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.all[x]
}

// Len counts the grants.
func (g *Grants) Len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.all)
}

// Decide settles a call. It never fails: what cannot be evaluated is denied or
// asked about. Grants may be nil. A nil Policy has no rules.
func (p *Policy) Decide(ctx context.Context, r Request, g *Grants) Decision {
	if p == nil {
		p = &Policy{operator: OperatorAuto}
	}
	d := &decider{ctx: ctx, req: r, args: args{raw: r.Args}}
	d.settle(p)
	if d.out.Verdict == Ask {
		d.out.Explicit = unpinned(r.Trust) || destructive(r.Hints)
		if g.Has(Grant{Identity: r.Identity, Digest: r.ToolDigest, Rule: d.out.Rule}) {
			d.consider(RuleGrant)
			d.win(Allow, RuleGrant, "granted for this session")
		}
	}
	d.out.Digest = r.ToolDigest
	return d.out
}

type decider struct {
	ctx  context.Context
	req  Request
	args args
	out  Decision
}

func (d *decider) consider(name string) { d.out.Considered = append(d.out.Considered, name) }

func (d *decider) win(v Verdict, name, reason string) {
	d.out.Verdict, d.out.Rule, d.out.Reason = v, name, reason
}

// settle goes through the rules in their order of precedence.
func (d *decider) settle(p *Policy) {
	if d.first(p.deny, Deny) || d.pin() {
		return
	}
	if d.req.Operator && p.operator == OperatorAuto {
		d.operator()
		return
	}
	if d.first(p.ask, Ask) || d.first(p.allow, Allow) {
		return
	}
	d.consider(RuleDefault)
	d.win(Ask, RuleDefault, "")
}

// pin refuses tools whose source is not trusted yet. An operator who is there
// may still be asked.
func (d *decider) pin() bool {
	if !unpinned(d.req.Trust) || (d.req.Operator && d.req.Interactive) {
		return false
	}
	d.consider(RulePin)
	d.win(Deny, RulePin, "the pin of the tool's source has not been accepted")
	return true
}

// operator is the built-in rule for calls that a person or a script issued.
func (d *decider) operator() {
	d.consider(RuleOperator)
	switch {
	case d.req.Interactive && unpinned(d.req.Trust):
		d.win(Ask, RuleOperator, "the pin of the tool's source has not been accepted")
	case d.req.Interactive && destructive(d.req.Hints):
		d.win(Ask, RuleOperator, "the tool's source says that it destroys data")
	default:
		d.win(Allow, RuleOperator, "")
	}
}

// first looks for the first rule of a list that matches.
func (d *decider) first(rules []rule, v Verdict) bool {
	for _, r := range rules {
		d.consider(r.name)
		if !r.fits(d.req) {
			continue
		}
		if r.when == nil {
			d.win(v, r.name, "")
			return true
		}
		ok, err := holds(d.ctx, r.when, &d.args)
		switch {
		case err == nil && ok:
			d.win(v, r.name, "")
			return true
		case err != nil && v != Allow:
			d.win(v, r.name, "the rule's predicate failed on these arguments")
			return true
		}
	}
	return false
}

// fits tells everything but the predicate.
func (r rule) fits(q Request) bool {
	if !r.pattern.match(q.Identity) || (r.loop != "" && !glob(r.loop, q.Loop)) {
		return false
	}
	if r.hints == (tool.Hints{}) {
		return true
	}
	return q.HintsTrusted &&
		same(r.hints.ReadOnly, q.Hints.ReadOnly) && same(r.hints.Destructive, q.Hints.Destructive) &&
		same(r.hints.Idempotent, q.Hints.Idempotent) && same(r.hints.OpenWorld, q.Hints.OpenWorld)
}

// same compares a condition with a claim; no condition fits everything, a
// condition fits no missing claim.
func same(want, have *bool) bool { return want == nil || (have != nil && *want == *have) }

func destructive(h tool.Hints) bool { return h.Destructive != nil && *h.Destructive }

// unpinned reports a source that nobody has accepted. A source that was
// accepted once is accepted while it runs. Trust that was not stated is none.
func unpinned(t tool.Trust) bool {
	switch t {
	case tool.TrustBuiltin, tool.TrustAccepted, tool.TrustOnce:
		return false
	default:
		return true
	}
}
