package policy

import (
	"fmt"
	"slices"

	"github.com/looprig/looprig/harness/tool"
)

// Known is what a policy can be about. A nil list, or a binding without a list of
// tools, is not known and makes no findings.
type Known struct {
	Bindings []string
	// Trusting are the bindings whose hints count.
	Trusting []string
	// Tools are the raw names of a binding's tools, Builtins those of the host.
	Tools    map[string][]string
	Builtins []string
	Loops    []string
}

// Finding is something about a rule that is most likely not meant.
type Finding struct {
	Rule  string `json:"rule"`
	Place string `json:"place,omitempty"`
	// Code is closed: see the constants.
	Code string `json:"code"`
	Text string `json:"text"`
	// Never says that the rule can never decide anything.
	Never bool `json:"never"`
	// Word and Choices are the name that is not known and those that are, where a
	// rule spells one out.
	Word    string   `json:"word,omitempty"`
	Choices []string `json:"-"`
}

// The codes of findings.
const (
	LintShadowed       = "shadowed"
	LintUnknownBinding = "unknown_binding"
	LintUnknownTool    = "unknown_tool"
	LintUnknownLoop    = "unknown_loop"
	LintUntrustedHints = "untrusted_hints"
)

// Lint looks for rules that can never decide and for names that are not known. It
// looks at the rules alone and evaluates nothing.
func (p *Policy) Lint(k Known) []Finding {
	if p == nil {
		return nil
	}
	var out []Finding
	var before []rule
	for _, list := range [][]rule{p.deny, p.ask, p.allow} {
		for _, r := range list {
			out = append(out, k.names(r)...)
			if i := slices.IndexFunc(before, func(b rule) bool { return b.shadows(r) }); i >= 0 {
				b := before[i]
				text := "it can never match: " + b.name
				if b.place != "" {
					text += " (" + b.place + ")"
				}
				out = append(out, r.finding(LintShadowed, true, text+" matches everything that it matches, and comes first"))
			}
			before = append(before, r)
		}
	}
	return out
}

func (r rule) finding(code string, never bool, text string) Finding {
	return Finding{Rule: r.name, Place: r.place, Code: code, Never: never, Text: text}
}

// shadows reports that r wins wherever q would. It never says so wrongly.
func (r rule) shadows(q rule) bool {
	if !r.pattern.covers(q.pattern) || (r.within != "" && r.within != q.within) {
		return false
	}
	if r.loop != "" && r.loop != q.loop {
		// A rule of one loop is for its delegates as well, whose names are others.
		if q.loop == "" || !globCovers(r.loop, q.loop) {
			return false
		}
	}
	return hintsCover(r.hints, q.hints) && (r.src.When == "" || r.src.When == q.src.When)
}

// hintsCover reports that a tool which meets q meets r.
func hintsCover(r, q tool.Hints) bool {
	for _, pair := range [][2]*bool{{r.ReadOnly, q.ReadOnly}, {r.Destructive, q.Destructive}, {r.Idempotent, q.Idempotent}, {r.OpenWorld, q.OpenWorld}} {
		if pair[0] != nil && (pair[1] == nil || *pair[0] != *pair[1]) {
			return false
		}
	}
	return true
}

// names looks for what a rule names and nobody knows.
func (k Known) names(r rule) []Finding {
	var out []Finding
	for _, loop := range []string{r.loop, r.within} {
		if loop == "" || k.Loops == nil || matchesAny(loop, k.Loops) {
			continue
		}
		f := r.finding(LintUnknownLoop, true, "it can never match: no loop is called "+quote(loop))
		f.Word, f.Choices = loop, k.Loops
		out = append(out, f)
	}
	switch r.pattern.source {
	case "mcp":
		out = append(out, k.bindingNames(r)...)
	case "builtin":
		if k.Builtins != nil && !matchesAny(r.pattern.name, k.Builtins) {
			f := r.finding(LintUnknownTool, true, "it can never match: no tool of the host is called "+quote(r.pattern.name))
			f.Word, f.Choices = r.pattern.name, k.Builtins
			out = append(out, f)
		}
	}
	return out
}

func (k Known) bindingNames(r rule) []Finding {
	if k.Bindings == nil {
		return nil
	}
	var meant []string
	for _, b := range k.Bindings {
		if glob(r.pattern.binding, b) {
			meant = append(meant, b)
		}
	}
	if len(meant) == 0 && r.pattern.binding == "*" {
		return nil // there are no bindings yet
	}
	if len(meant) == 0 {
		f := r.finding(LintUnknownBinding, true, "it can never match: no server is called "+quote(r.pattern.binding))
		f.Word, f.Choices = r.pattern.binding, k.Bindings
		return []Finding{f}
	}
	var out []Finding
	if r.hints != (tool.Hints{}) && !slices.ContainsFunc(meant, func(b string) bool { return slices.Contains(k.Trusting, b) }) {
		out = append(out, r.finding(LintUntrustedHints, true,
			`it can never match: hints count only for a server with "trustAnnotations": true, and none that it is for has that`))
	}
	if f, ok := k.toolNames(r, meant); ok {
		out = append(out, f)
	}
	return out
}

// toolNames remarks on a tool that no server has whose tools are known. A rule
// may be meant for what is still to come, so that it is a remark only.
func (k Known) toolNames(r rule, meant []string) (Finding, bool) {
	var choices []string
	for _, b := range meant {
		tools, known := k.Tools[b]
		if !known || matchesAny(r.pattern.name, tools) {
			return Finding{}, false
		}
		choices = append(choices, tools...)
	}
	f := r.finding(LintUnknownTool, false, fmt.Sprintf("no tool of %s is called %s, as far as is known here", namesOf(meant), quote(r.pattern.name)))
	f.Word, f.Choices = r.pattern.name, choices
	return f, true
}

func namesOf(bindings []string) string {
	if len(bindings) == 1 {
		return quote(bindings[0])
	}
	return fmt.Sprintf("%d servers", len(bindings))
}

func matchesAny(g string, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return glob(g, n) })
}
