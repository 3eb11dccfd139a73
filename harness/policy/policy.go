// Package policy decides whether a call may be made: allow, ask or deny, with a
// full trace of why. Rules are data; they are evaluated deny first, then ask,
// then allow, and what no rule settles is asked about. A grant that an operator
// gave for the session is bound to one definition of one tool and to the rule
// under which it was asked for; when the definition changes, it is worth
// nothing.
//
// A Policy is immutable and safe for concurrent use. The package must not import
// the session, a gate or an adapter; a source's own claims about its tools count
// only where the operator trusts them.
package policy

import (
	"encoding/json"

	"github.com/looprig/looprig/harness/tool"
)

// Verdict is what is to happen with a call.
type Verdict string

// The verdicts.
const (
	Allow Verdict = "allow"
	Ask   Verdict = "ask"
	Deny  Verdict = "deny"
)

// OperatorMode says how calls are treated that an operator issued.
type OperatorMode string

// The operator modes. OperatorAuto is the default.
const (
	// OperatorAuto lets them through, except that a person who is there is
	// asked before destructive tools and tools without an accepted pin.
	OperatorAuto OperatorMode = "auto"
	// OperatorAsk treats them like a model's calls.
	OperatorAsk OperatorMode = "ask"
)

// The names of the rules that are not in the configuration.
const (
	RuleDefault  = "default"
	RuleOperator = "operator-issued"
	RulePin      = "pin"
	// RuleGrant and RuleGrantAlways are grants. They are in the way of asking
	// alone: no grant beats a denial, a pin, or a rule that it was not given for.
	RuleGrant       = "grant:session"
	RuleGrantAlways = "grant:always"
	grantPrefix     = "grant:"
)

// Config is a policy as configuration data.
type Config struct {
	Deny  []Rule
	Ask   []Rule
	Allow []Rule
	// Loops are the rules of single loops. They come before the others of their
	// list, and tighten or widen what those say in the same order: a denial
	// anywhere wins.
	Loops []LoopRules
	// Operator is OperatorAuto when empty.
	Operator OperatorMode
}

// LoopRules are the rules that hold in one loop, and in the delegates that are
// made after it.
type LoopRules struct {
	Loop  string
	Deny  []Rule
	Ask   []Rule
	Allow []Rule
}

// Rule matches calls. All of its conditions must hold.
type Rule struct {
	// Pattern is a glob on identities: "mcp:<binding>:<tool>", "builtin:<tool>",
	// "mcp:*" or "*". "*" stands for any run of characters within one part, "?"
	// for one character, and "\" takes the character after it literally. The
	// last part may hold colons.
	Pattern string
	// Loop, when set, is a glob on the loop's name.
	Loop string
	// Hints, when set, must equal the tool's, which counts only where the
	// operator trusts the source's hints.
	Hints tool.Hints
	// When, when set, is a jq expression over the arguments that must yield
	// exactly one true. If it fails, the rule matches in deny and ask, and not
	// in allow.
	When string
	// Place is where the rule was written, for people: "config.yaml:12:5".
	Place string
}

// Request is one call to decide on.
type Request struct {
	Identity tool.Identity
	// Loop is the loop's name, Agent that of the configured loop which a delegate
	// was made after, "" for others. Conditions on loops look at both.
	Loop         string
	Agent        string
	Args         json.RawMessage
	ToolDigest   string
	Pin          string // fingerprint of the tool's source, "" for none
	Hints        tool.Hints
	HintsTrusted bool
	Trust        tool.Trust
	// Operator says that a person or a script asked for the call.
	Operator bool
	// Interactive says that a person is there to be asked.
	Interactive bool
}

// Decision is the verdict with its trace.
type Decision struct {
	Verdict Verdict
	// Rule is the rule that won: "deny[0]", "loops.planner.ask[1]", "default",
	// "operator-issued", "grant:always" …
	Rule string
	// Key names the rule that asks in a way that lasts: the same in another
	// process and after rules were added beside it. Grants are bound to it.
	Key string
	// Considered lists the rules and grants that were looked at, in order. A grant
	// that was not applied says why: "grant:always 01J… changed".
	Considered []string
	// Grant is the id of the grant that won.
	Grant string
	// Lapsed are the grants that were given for another definition of the tool, which
	// has changed since.
	Lapsed []Grant
	// OtherVersion says that there is a grant for the tool of another version of its
	// source. It stays, and is not for this one.
	OtherVersion bool
	// Digest is the tool digest that the decision is about.
	Digest string
	// Reason is host-written: why a rule that needs a word won.
	Reason string
	// Explicit says that a prompt for this call may preselect no choice.
	Explicit bool
}
