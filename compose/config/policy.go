package config

import (
	"errors"
	"strings"

	"github.com/looprig/looprig/compose/config/doc"
	"github.com/looprig/looprig/harness/policy"
	"github.com/looprig/looprig/harness/tool"
)

// Policy holds the rules of a file, of a loop, or of a run.
type Policy struct {
	Deny, Ask, Allow []Rule
	Operator         string // "", "auto" or "ask"; not of a loop
}

// Rule is one rule: a pattern alone, or an object with conditions.
type Rule struct {
	// Tool is a pattern of identities; a binding that was said apart is in it.
	Tool  string
	Loop  string
	Hints tool.Hints
	When  string
	Pos   doc.Pos
	// File is where the rule was written, "" for the command line.
	File string `json:"-"`
}

// Place is where the rule was written, for people.
func (r Rule) Place() string {
	if r.File == "" {
		return ""
	}
	return doc.Fault{File: r.File, Pos: r.Pos}.Position()
}

// ReadPolicy takes rules out of an object with deny, ask, allow and operator.
func ReadPolicy(r *doc.Reader, o *doc.Obj) Policy {
	p := readLists(r, o, true)
	p.Operator = o.OneOf("operator", "", "auto", "ask")
	o.Done()
	return p
}

// ReadLoopPolicy takes the rules of one loop.
func ReadLoopPolicy(r *doc.Reader, o *doc.Obj) Policy {
	p := readLists(r, o, false)
	o.Done()
	return p
}

func readLists(r *doc.Reader, o *doc.Obj, loops bool) Policy {
	return Policy{Deny: readRules(r, o, "deny", loops), Ask: readRules(r, o, "ask", loops), Allow: readRules(r, o, "allow", loops)}
}

// ReadRules takes the rules out of one of an object's lists.
func ReadRules(r *doc.Reader, o *doc.Obj, key string) []Rule { return readRules(r, o, key, true) }

// readRules reads one list. loops says that a rule may name its loop.
func readRules(r *doc.Reader, o *doc.Obj, key string, loops bool) []Rule {
	var out []Rule
	for _, n := range o.Items(key) {
		if n.Kind == doc.String {
			if _, err := policy.ParsePattern(n.Text); err != nil {
				r.Fail(n.Pos, o.Path(key), "%s", err)
			}
			out = append(out, Rule{Tool: n.Text, Pos: n.Pos, File: r.File})
			continue
		}
		out = append(out, readRule(r.Object(n, o.Path(key)), n.Pos, r.File, loops))
	}
	return out
}

func readRule(o *doc.Obj, pos doc.Pos, file string, loops bool) Rule {
	out := Rule{Pos: pos, File: file, Tool: readTool(o), Hints: readHints(o.Sub("hints")), When: o.String("when", "")}
	if loops {
		out.Loop = o.String("loop", "")
	}
	if out.When != "" {
		checkPredicate(o, out.When)
	}
	o.Done()
	return out
}

// readTool reads what a rule is for: "tool" is a pattern of identities, "binding"
// a server; together, every tool of the server that the pattern selects.
func readTool(o *doc.Obj) string {
	binding, text := o.String("binding", ""), o.String("tool", "")
	switch {
	case binding == "" && text == "":
		return "*"
	case binding != "" && strings.ContainsAny(binding, ":"):
		o.Fail("binding", "a server's name has no colon; a pattern of tools is said with tool")
		return "*"
	case binding != "":
		all := "mcp:" + binding + ":"
		if name, ok := strings.CutPrefix(text, "mcp:*:"); ok {
			return all + name
		}
		if text != "" && text != "*" && !strings.HasPrefix(text, all) {
			o.Fail("tool", "beside binding it is a pattern of that server's tools: %q, or %q", "mcp:*:"+lastPart(text), all+lastPart(text))
			return "*"
		}
		if text == "" || text == "*" {
			return all + "*"
		}
	}
	if _, err := policy.ParsePattern(text); err != nil {
		o.Fail("tool", "%s", err)
	}
	return text
}

func lastPart(text string) string {
	if i := strings.LastIndexAny(text, ":"); i >= 0 {
		text = text[i+1:]
	} else if i := strings.LastIndex(text, "__"); i >= 0 {
		text = text[i+2:]
	}
	if text == "" {
		return "*"
	}
	return text
}

func readHints(o *doc.Obj) tool.Hints {
	read := func(key string) *bool {
		if !o.Has(key) {
			return nil
		}
		v := o.Bool(key, false)
		return &v
	}
	h := tool.Hints{ReadOnly: read("readOnly"), Destructive: read("destructive"), Idempotent: read("idempotent"), OpenWorld: read("openWorld")}
	for _, name := range []string{"readOnly", "destructive", "idempotent", "openWorld"} {
		if key := name + "Hint"; o.Node(key) != nil {
			o.Fail(key, "write %s", name)
		}
	}
	o.Done()
	return h
}

func checkPredicate(o *doc.Obj, when string) {
	err := policy.CheckPredicate(when)
	if err == nil {
		return
	}
	if pe, ok := errors.AsType[*policy.PredicateError](err); ok && pe.Line > 0 {
		o.Fail("when", "%s: line %d, column %d of the expression", pe.Reason, pe.Line, pe.Col)
		return
	}
	o.Fail("when", "%s", err)
}
