package policy

import (
	"context"
	"strings"

	"github.com/looprig/looprig/harness/tool"
)

// StepOutcome is what came of looking at one rule or grant.
type StepOutcome string

// The outcomes of a step, a closed list.
const (
	StepWon            StepOutcome = "won"
	StepTool           StepOutcome = "tool"            // the pattern is for other tools
	StepLoop           StepOutcome = "loop"            // the rule is for other loops
	StepHints          StepOutcome = "hints"           // the tool has other hints
	StepUntrusted      StepOutcome = "hints_untrusted" // the tool's hints do not count
	StepPredicate      StepOutcome = "predicate"       // the predicate is not true
	StepPredicateError StepOutcome = "predicate_error" // the predicate failed
	StepDigest         StepOutcome = "changed"         // the grant is for another definition
	StepVersion        StepOutcome = "other_version"   // the grant is for another version of the source
	StepOtherRule      StepOutcome = "other_rule"      // the grant is for another rule's question
	StepUnreached      StepOutcome = "unreached"       // another rule had won
)

// Step is one rule or grant in the order of looking.
type Step struct {
	Rule    string      `json:"rule"`
	Place   string      `json:"place,omitempty"`
	Outcome StepOutcome `json:"outcome"`
}

// Decide settles a call. It never fails: what cannot be evaluated is denied or
// asked about. Grants may be nil. A nil Policy has no rules.
func (p *Policy) Decide(ctx context.Context, r Request, grants Lookup) Decision {
	return p.run(&decider{ctx: ctx, req: r, args: args{raw: r.Args}}, grants)
}

// Explain is Decide with every step, those included that were not reached.
func (p *Policy) Explain(ctx context.Context, r Request, grants Lookup) (Decision, []Step) {
	d := &decider{ctx: ctx, req: r, args: args{raw: r.Args}, keep: true}
	out := p.run(d, grants)
	if p == nil {
		return out, d.steps
	}
	seen := map[string]bool{}
	for _, s := range d.steps {
		seen[s.Rule] = true
	}
	for _, list := range [][]rule{p.deny, p.ask, p.allow} {
		for _, x := range list {
			if !seen[x.name] {
				d.steps = append(d.steps, Step{Rule: x.name, Place: x.place, Outcome: StepUnreached})
			}
		}
	}
	return out, d.steps
}

func (p *Policy) run(d *decider, grants Lookup) Decision {
	if p == nil {
		p = &Policy{operator: OperatorAuto}
	}
	d.settle(p)
	if d.out.Verdict == Ask {
		d.out.Explicit = unpinned(d.req.Trust) || destructive(d.req.Hints)
		d.granted(grants)
	}
	d.out.Digest = d.req.ToolDigest
	return d.out
}

type decider struct {
	ctx   context.Context
	req   Request
	args  args
	out   Decision
	keep  bool // the steps
	steps []Step
}

// consider puts a step on record, short: a rule that did not match is only named,
// for a grant it is said why it was not applied.
func (d *decider) consider(s Step) {
	name := s.Rule
	if strings.HasPrefix(name, grantPrefix) && s.Outcome != StepWon {
		name += " " + string(s.Outcome)
	}
	d.out.Considered = append(d.out.Considered, name)
	if d.keep {
		d.steps = append(d.steps, s)
	}
}

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
	d.consider(Step{Rule: RuleDefault, Outcome: StepWon})
	d.win(Ask, RuleDefault, "")
	d.out.Key = RuleDefault
}

// pin refuses tools whose source is not trusted yet. An operator who is there
// may still be asked.
func (d *decider) pin() bool {
	if !unpinned(d.req.Trust) || (d.req.Operator && d.req.Interactive) {
		return false
	}
	d.consider(Step{Rule: RulePin, Outcome: StepWon})
	d.win(Deny, RulePin, "the pin of the tool's source has not been accepted")
	return true
}

// operator is the built-in rule for calls that a person or a script issued.
func (d *decider) operator() {
	d.consider(Step{Rule: RuleOperator, Outcome: StepWon})
	d.out.Key = RuleOperator
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
		outcome := d.look(r)
		if outcome == StepPredicateError && v != Allow {
			d.consider(Step{Rule: r.name, Place: r.place, Outcome: StepWon})
			d.win(v, r.name, "the rule's predicate failed on these arguments")
			d.out.Key = r.key
			return true
		}
		d.consider(Step{Rule: r.name, Place: r.place, Outcome: outcome})
		if outcome == StepWon {
			d.win(v, r.name, "")
			d.out.Key = r.key
			return true
		}
	}
	return false
}

// look tells whether a rule matches, and else which of its conditions does not
// hold.
func (d *decider) look(r rule) StepOutcome {
	if outcome := r.fits(d.req); outcome != StepWon || r.when == nil {
		return outcome
	}
	switch ok, err := holds(d.ctx, r.when, &d.args); {
	case err != nil:
		return StepPredicateError
	case !ok:
		return StepPredicate
	}
	return StepWon
}

// fits tells everything but the predicate.
func (r rule) fits(q Request) StepOutcome {
	switch {
	case !r.pattern.match(q.Identity):
		return StepTool
	case r.within != "" && r.within != q.Loop && r.within != q.Agent:
		return StepLoop
	case r.loop != "" && !glob(r.loop, q.Loop) && (q.Agent == "" || !glob(r.loop, q.Agent)):
		return StepLoop
	case r.hints == (tool.Hints{}):
		return StepWon
	case !q.HintsTrusted:
		return StepUntrusted
	}
	if same(r.hints.ReadOnly, q.Hints.ReadOnly) && same(r.hints.Destructive, q.Hints.Destructive) &&
		same(r.hints.Idempotent, q.Hints.Idempotent) && same(r.hints.OpenWorld, q.Hints.OpenWorld) {
		return StepWon
	}
	return StepHints
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
