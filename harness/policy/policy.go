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
	RuleGrant    = "grant:session"
)

// Config is a policy as configuration data.
type Config struct {
	Deny  []Rule
	Ask   []Rule
	Allow []Rule
	// Operator is OperatorAuto when empty.
	Operator OperatorMode
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
}

// Request is one call to decide on.
type Request struct {
	Identity     tool.Identity
	Loop         string
	Args         json.RawMessage
	ToolDigest   string
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
	// Rule is the rule that won: "deny[0]", "default", "operator-issued" …
	Rule string
	// Considered lists the rules that were looked at, in order.
	Considered []string
	// Digest is the tool digest that the decision is about.
	Digest string
	// Reason is host-written: why a rule that needs a word won.
	Reason string
	// Explicit says that a prompt for this call may preselect no choice.
	Explicit bool
}
