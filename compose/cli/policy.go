package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/looprig/looprig/compose"
	"github.com/looprig/looprig/compose/config/doc"
	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/harness/ledger"
	"github.com/looprig/looprig/harness/policy"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/internal/safetext"
)

// kindTool is the kind of a catalog's tools.
const kindTool = "tool"

// lintInvalid is the code of what refuses to load.
const lintInvalid = "invalid"

// PolicyLint looks for rules that cannot be meant. With connect it starts the
// servers, to know their tools.
func (c *CLI) PolicyLint(ctx context.Context, connect bool) error {
	if err := c.checkOutput(OutputText, OutputJSON); err != nil {
		return err
	}
	v, err := compose.ReadPolicy(c.options(compose.ModeHeadless))
	if err != nil {
		if faults, ok := errors.AsType[doc.Faults](err); ok && c.Output == OutputJSON {
			for _, f := range faults {
				if err := c.jsonLine(policy.Finding{Rule: f.Path, Place: f.Position(), Code: lintInvalid, Text: f.Message, Never: true}); err != nil {
					return err
				}
			}
		}
		return err
	}
	if err := c.learnTools(ctx, v, connect); err != nil {
		return err
	}
	found := v.Policy.Lint(v.Known)
	never := 0
	for _, f := range found {
		if f.Never {
			never++
		}
		f.Text += doc.DidYouMean(f.Word, f.Choices)
		if err := c.printFinding(f); err != nil {
			return err
		}
	}
	if never > 0 {
		return exit.New(exit.Usage, "%d of the policy's rules can never match", never)
	}
	if c.Output == OutputText && len(found) == 0 {
		return c.printf("policy ok\n")
	}
	return nil
}

func (c *CLI) printFinding(f policy.Finding) error {
	if c.Output == OutputJSON {
		return c.jsonLine(f)
	}
	level := "warning"
	if f.Never {
		level = "error"
	}
	where := ""
	if f.Place != "" {
		where = string(safetext.ToLine(f.Place)) + ": "
	}
	return c.printf("%s%s: %s: %s\n", where, level, safetext.ToLine(f.Rule), safetext.ToLine(f.Text))
}

// ExplainOptions are the flags of policy explain.
type ExplainOptions struct {
	Args string
	Loop string
	// By is who would call: "model", "person" or "script".
	By string
	// Connect starts the server, to know its tool.
	Connect bool
}

// explanation is the result of policy explain.
type explanation struct {
	Tool    string         `json:"tool"`
	Loop    string         `json:"loop"`
	By      string         `json:"by"`
	Verdict policy.Verdict `json:"verdict"`
	Rule    string         `json:"rule"`
	Place   string         `json:"place,omitempty"`
	Reason  string         `json:"reason,omitempty"`
	Grant   string         `json:"grant,omitempty"`
	// Digest is the definition's, From where it is known from.
	Digest string        `json:"tool_digest,omitempty"`
	From   string        `json:"digest_from,omitempty"`
	Trust  tool.Trust    `json:"trust"`
	Trace  []policy.Step `json:"trace"`
	// Unknown says what is not known here and may change the verdict.
	Unknown []string `json:"unknown,omitempty"`
}

// PolicyExplain tells what would become of a call, and why. Without connect
// nothing is started; what is not known then is said.
func (c *CLI) PolicyExplain(ctx context.Context, binding, name string, f ExplainOptions) error {
	if err := c.checkOutput(OutputText, OutputJSON); err != nil {
		return err
	}
	v, err := compose.ReadPolicy(c.options(compose.ModeHeadless))
	if err != nil {
		return err
	}
	req, err := explainRequest(v, binding, name, f)
	if err != nil {
		return err
	}
	out := explanation{Tool: req.Identity.String(), Loop: req.Loop, By: f.By, Trust: req.Trust}
	known := false
	if f.Connect && binding != hostSource {
		if known, err = c.connected(ctx, &req); err != nil {
			return err
		}
		out.From = "the server as it is now"
	}
	store, ok, err := c.openReadOnly(ctx)
	if err != nil {
		return err
	}
	var grants policy.Lookup
	if ok {
		defer func() { _ = store.Close() }() // nothing was written
		grants = store
		if !known {
			req.ToolDigest, out.From = lastDigest(ctx, store, out.Tool)
		}
	}
	d, steps := v.Policy.Explain(ctx, req, grants)
	out.Verdict, out.Rule, out.Reason, out.Grant, out.Digest, out.Trace = d.Verdict, d.Rule, d.Reason, d.Grant, req.ToolDigest, steps
	out.missing(known || binding == hostSource, req, grants)
	for _, s := range steps {
		if s.Outcome == policy.StepWon && s.Rule == d.Rule {
			out.Place = s.Place
		}
	}
	if c.Output == OutputJSON {
		return c.jsonLine(out)
	}
	return c.printf("%s", out.text())
}

// hostSource stands for the binding of the host's own tools.
const hostSource = "builtin"

func explainRequest(v *compose.PolicyView, binding, name string, f ExplainOptions) (policy.Request, error) {
	r := policy.Request{Identity: tool.Identity{Source: "mcp", Binding: binding, Name: name}, Loop: f.Loop, Args: json.RawMessage("{}")}
	if binding == hostSource && !contains(v.Known.Bindings, hostSource) {
		r.Identity = tool.Identity{Source: hostSource, Name: name}
		r.Trust = tool.TrustBuiltin
	} else if !contains(v.Known.Bindings, binding) {
		return r, exit.New(exit.Usage, "no server is called %q%s", binding, doc.DidYouMean(binding, v.Known.Bindings))
	} else {
		r.Trust, r.HintsTrusted = v.Trust(binding), contains(v.Known.Trusting, binding)
	}
	if r.Loop == "" {
		r.Loop = v.Known.Loops[0]
	}
	if !contains(v.Known.Loops, r.Loop) {
		return r, exit.New(exit.Usage, "--loop: no loop is called %q%s", r.Loop, doc.DidYouMean(r.Loop, v.Known.Loops))
	}
	switch f.By {
	case "model":
	case "person":
		r.Operator, r.Interactive = true, true
	case "script":
		r.Operator = true
	default:
		return r, exit.New(exit.Usage, "--by %q is not one of model, person, script", f.By)
	}
	if f.Args != "" {
		n, err := doc.ParseJSON("--args", []byte(f.Args))
		if err != nil {
			return r, exit.New(exit.Usage, "%w", err)
		}
		if n.Kind != doc.Object {
			return r, exit.New(exit.Usage, "--args: a tool takes an object, for example --args '{\"a\": 1}'")
		}
		r.Args = json.RawMessage(f.Args)
	}
	return r, nil
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// connected looks the tool up where it is.
func (c *CLI) connected(ctx context.Context, r *policy.Request) (bool, error) {
	found := false
	var names []string
	err := c.catalogs(ctx, r.Identity.Binding, func(_ string, items []integration.Item) {
		for _, it := range items {
			if it.Kind != kindTool {
				continue
			}
			names = append(names, it.Name)
			if it.Name == r.Identity.Name {
				found, r.Hints, r.ToolDigest = true, it.Hints, it.Digest
			}
		}
	})
	if err == nil && !found {
		err = exit.New(exit.Usage, "%s has no tool %q%s", safetext.Ident(r.Identity.Binding), r.Identity.Name, doc.DidYouMean(r.Identity.Name, names))
	}
	return found, err
}

// lastEntries bounds how far back the ledger is looked through for a tool.
const lastEntries = 5000

type tailReader interface {
	LedgerTail(ctx context.Context, n int) ([]ledger.Stored, error)
}

// lastDigest is the definition with which a tool was called last.
func lastDigest(ctx context.Context, s tailReader, identity string) (digest, from string) {
	entries, err := s.LedgerTail(ctx, lastEntries)
	if err != nil {
		return "", ""
	}
	for _, st := range entries {
		e, err := ledger.Open(st)
		if err != nil {
			return "", ""
		}
		if e.Tool == identity && e.ToolDigest != "" && e.Kind == ledger.KindIntent {
			digest, from = e.ToolDigest, "its last call, "+e.Time.Local().Format("2006-01-02 15:04")
		}
	}
	return digest, from
}

// missing says what was not known and could have mattered.
func (x *explanation) missing(known bool, r policy.Request, grants policy.Lookup) {
	if known {
		return
	}
	for _, s := range x.Trace {
		if s.Outcome == policy.StepHints {
			x.Unknown = append(x.Unknown, "the tool's hints, which "+s.Rule+" looks at")
		}
	}
	if r.Operator && r.Interactive && x.Rule == policy.RuleOperator && x.Verdict == policy.Allow {
		x.Unknown = append(x.Unknown, "whether the server marks the tool destructive: a person would then be asked")
	}
	if grants == nil || x.Verdict == policy.Deny {
		return
	}
	switch have := grants.GrantsFor(context.Background(), x.Tool); {
	case len(have) == 0 || (x.Verdict == policy.Allow && x.Grant == ""):
	case r.ToolDigest == "":
		x.Unknown = append(x.Unknown, fmt.Sprintf("the tool's definition: %d grants hold for one definition each", len(have)))
	default:
		x.Unknown = append(x.Unknown, "whether the tool's definition is still the one of its last call")
	}
}

var outcomeSays = map[policy.StepOutcome]string{
	policy.StepWon: "matches", policy.StepTool: "is for other tools", policy.StepLoop: "is for other loops",
	policy.StepHints: "is for other hints", policy.StepUntrusted: "looks at hints, which do not count for this server",
	policy.StepPredicate: "its predicate is not true", policy.StepPredicateError: "its predicate fails on these arguments",
	policy.StepDigest: "was given for another definition", policy.StepVersion: "was given for another version of the server",
	policy.StepOtherRule: "was given for another rule's question",
	policy.StepUnreached: "was not reached",
}

func (x *explanation) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, in loop %s, called by a %s\n", safetext.Ident(x.Tool), safetext.Ident(x.Loop), x.By)
	fmt.Fprintf(&b, "%-8s %s, by %s%s\n", "verdict", x.Verdict, safetext.ToLine(x.Rule), at(x.Place))
	for _, row := range []struct{ label, value string }{
		{"reason", x.Reason}, {"grant", x.Grant}, {"digest", strings.TrimSpace(x.Digest + from(x.From, x.Digest))}, {"trust", string(x.Trust)},
	} {
		if row.value != "" {
			fmt.Fprintf(&b, "%-8s %s\n", row.label, safetext.ToLine(row.value))
		}
	}
	b.WriteString("trace\n")
	for _, s := range x.Trace {
		fmt.Fprintf(&b, "  %-28s %s%s\n", safetext.ToLine(s.Rule), outcomeSays[s.Outcome], at(s.Place))
	}
	for _, u := range x.Unknown {
		fmt.Fprintf(&b, "not known here: %s\n", safetext.ToLine(u))
	}
	if len(x.Unknown) > 0 {
		b.WriteString("--connect starts the server and asks it\n")
	}
	return b.String()
}

func at(place string) string {
	if place == "" {
		return ""
	}
	return "  (" + string(safetext.ToLine(place)) + ")"
}

func from(source, digest string) string {
	if source == "" || digest == "" {
		return ""
	}
	return " (from " + source + ")"
}
