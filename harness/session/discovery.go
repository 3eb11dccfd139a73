package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/policy"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/internal/safetext"
)

// The names of the tools by which a model finds deferred ones. No other tool
// may have them, whether there are deferred tools or not.
const (
	ToolSearch = "tool_search"
	ToolSchema = "tool_schema"
)

// RuleDiscovery is what the decision on a call of ToolSearch or ToolSchema says
// where no rule denies it: they tell what this very session offers, and are not
// asked about.
const RuleDiscovery = "built-in"

// Bounds of the search.
const (
	defaultFound   = 10
	maxFound       = 50
	maxToolName    = 512 // bytes of a name that is asked about
	maxSourcesTold = 16  // bindings that the search's description names
	maxAlike       = 3   // tools that an unknown name is answered with
)

// discovery is what the deferred tools of one toolset are found with. It is made
// together with the set and belongs to it: a search can never tell of tools that
// another generation had.
type discovery struct {
	set      *tool.Set
	deferred []tool.Definition
	index    func() *tool.Index
}

func newDiscovery(deferred []tool.Definition) *discovery {
	return &discovery{
		deferred: deferred,
		index:    sync.OnceValue(func() *tool.Index { return tool.NewIndex(deferred) }),
	}
}

// reserved refuses tools of others that have the names of the search.
func reserved(defs []tool.Definition) error {
	for _, d := range defs {
		if d.Name == ToolSearch || d.Name == ToolSchema {
			return &tool.DuplicateModelNameError{Name: d.Name, Incumbent: builtin(d.Name), Newcomer: d.Identity}
		}
	}
	return nil
}

func builtin(name string) tool.Identity { return tool.Identity{Source: builtinSource, Name: name} }

// deferredOf collects the tools that a model has to search for.
func deferredOf(slots []slot) []tool.Definition {
	var out []tool.Definition
	for _, s := range slots {
		for _, d := range s.defs {
			if d.Deferred {
				out = append(out, d)
			}
		}
	}
	return out
}

const (
	searchSchema = `{"type":"object","properties":{` +
		`"query":{"type":"string","maxLength":400,"description":"words of what is to be done, or of a tool's name; empty lists the tools"},` +
		`"limit":{"type":"integer","minimum":1,"maximum":50,"default":10}},"required":["query"],"additionalProperties":false}`
	schemaSchema = `{"type":"object","properties":{"name":{"type":"string","minLength":1,"maxLength":512,` +
		`"description":"a name that tool_search gave"}},"required":["name"],"additionalProperties":false}`
)

// definitions are the two tools.
func (d *discovery) definitions() []tool.Definition {
	yes := true
	entry := func(name, title, about, schema string, run func(json.RawMessage) (tool.Prepared, error)) tool.Definition {
		return tool.Definition{
			Name: name, Title: title, Description: about, InputSchema: json.RawMessage(schema), Identity: builtin(name),
			Hints: tool.Hints{ReadOnly: &yes}, HintsTrusted: true, Trust: tool.TrustBuiltin, Parallel: true,
			Digest: digest([]byte(name + "\n" + about + "\n" + schema)), Tokens: (len(name) + len(about) + len(schema)) / 4,
			Handler: discoverer(run),
		}
	}
	return []tool.Definition{
		entry(ToolSearch, "Search for tools", "Finds further tools by words. "+d.sources()+
			" Answers with names and one line about each; then ask "+ToolSchema+" for what you want to call.", searchSchema, d.prepareSearch),
		entry(ToolSchema, "Look up a tool", "Tells the whole description and the argument schema of a tool, which can be called from your next step on.",
			schemaSchema, d.prepareSchema),
	}
}

// sources says where there are how many tools.
func (d *discovery) sources() string {
	var order []string
	count := map[string]int{}
	for _, t := range d.deferred {
		b := t.Identity.Binding
		if count[b]++; count[b] == 1 {
			order = append(order, b)
		}
	}
	var parts []string
	for i, b := range order {
		if i == maxSourcesTold {
			parts = append(parts, fmt.Sprintf("%d more", len(order)-i))
			break
		}
		name := safetext.Ident(b).String()
		if b == "" {
			name = "the host"
		}
		parts = append(parts, fmt.Sprintf("%s (%d)", name, count[b]))
	}
	return fmt.Sprintf("There are %d, of: %s.", len(d.deferred), strings.Join(parts, ", "))
}

// discoverer is the handler of both.
type discoverer func(json.RawMessage) (tool.Prepared, error)

var _ tool.Handler = discoverer(nil)

func (f discoverer) Prepare(_ context.Context, args json.RawMessage) (tool.Prepared, error) {
	return f(args)
}

// lookup is one prepared call of either. It sends nothing to anybody.
type lookup struct {
	args json.RawMessage
	run  func() tool.Result
	// opens is the tool whose schema was asked for, once run has found it.
	opens *tool.Definition
}

var _ tool.Prepared = (*lookup)(nil)

func (l *lookup) Args() json.RawMessage                         { return l.args }
func (l *lookup) Check(context.Context) *tool.Refusal           { return nil }
func (l *lookup) Invoke(context.Context, tool.Call) tool.Result { return l.run() }

// arguments reads an object of known members.
func arguments(name string, args json.RawMessage, into any) error {
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return &tool.ArgumentError{Tool: name, Problems: []tool.ArgumentProblem{{Message: safetext.ToLineN(err.Error(), maxReasonBytes).String()}}}
	}
	return nil
}

func misfit(name, pointer, format string, args ...any) error {
	return &tool.ArgumentError{Tool: name, Problems: []tool.ArgumentProblem{{Pointer: pointer, Message: fmt.Sprintf(format, args...)}}}
}

func (d *discovery) prepareSearch(args json.RawMessage) (tool.Prepared, error) {
	in := struct {
		Query *string `json:"query"`
		Limit int     `json:"limit"`
	}{Limit: defaultFound}
	if err := arguments(ToolSearch, args, &in); err != nil {
		return nil, err
	}
	switch {
	case in.Query == nil:
		return nil, misfit(ToolSearch, "/query", "is required")
	case len(*in.Query) > tool.MaxQuery:
		return nil, misfit(ToolSearch, "/query", "is %d bytes, more than %d", len(*in.Query), tool.MaxQuery)
	case in.Limit < 1 || in.Limit > maxFound:
		return nil, misfit(ToolSearch, "/limit", "must be 1 to %d", maxFound)
	}
	sent, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	return &lookup{args: sent, run: func() tool.Result { return d.search(*in.Query, in.Limit) }}, nil
}

// foundTool is one tool of the search's structured result.
type foundTool struct {
	Name        string `json:"name"`
	Binding     string `json:"binding,omitempty"`
	Description string `json:"description,omitempty"`
}

func (d *discovery) search(query string, limit int) tool.Result {
	best, total := d.index().Search(query, limit)
	var text strings.Builder
	fmt.Fprintf(&text, "%d of %d tools", total, len(d.deferred))
	if strings.TrimSpace(query) != "" {
		fmt.Fprintf(&text, " match “%s”", safetext.ToLine(query))
	}
	out := struct {
		Total int         `json:"total"`
		Tools []foundTool `json:"tools"`
	}{total, []foundTool{}}
	if total == 0 {
		text.WriteString(". Try other or fewer words; an empty query lists the tools.")
	} else {
		text.WriteString(". What is said of each is its source's own word. Ask " + ToolSchema + " before you call one.")
	}
	for _, m := range best {
		f := foundTool{safetext.ToLineN(m.Definition.Name, maxToolName).String(), safetext.Ident(m.Definition.Identity.Binding).String(), m.Summary}
		if m.Definition.Identity.Binding == "" {
			f.Binding = ""
		}
		out.Tools = append(out.Tools, f)
		text.WriteString("\n- " + f.Name)
		if f.Description != "" {
			text.WriteString(": " + f.Description)
		}
	}
	if more := total - len(best); more > 0 {
		fmt.Fprintf(&text, "\n%d more are not listed: use more words, or a limit of up to %d.", more, maxFound)
	}
	r := tool.Result{Outcome: tool.OK, Content: []content.Block{content.Text(text.String())}, Attempts: 1}
	if b, err := json.Marshal(out); err == nil {
		r.Structured = b
	}
	return r
}

func (d *discovery) prepareSchema(args json.RawMessage) (tool.Prepared, error) {
	var in struct {
		Name string `json:"name"`
	}
	if err := arguments(ToolSchema, args, &in); err != nil {
		return nil, err
	}
	switch {
	case in.Name == "":
		return nil, misfit(ToolSchema, "/name", "is required")
	case len(in.Name) > maxToolName:
		return nil, misfit(ToolSchema, "/name", "is %d bytes, more than %d", len(in.Name), maxToolName)
	}
	sent, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	l := &lookup{args: sent}
	l.run = func() tool.Result {
		def, err := d.set.Resolve(in.Name)
		if err != nil {
			return tool.Result{Outcome: tool.ToolError, Reason: "no such tool", Content: []content.Block{content.Text(d.unknown(in.Name, err))}, Attempts: 1}
		}
		l.opens = &def
		return tool.Result{Outcome: tool.OK, Content: []content.Block{content.Text(describe(def))}, Attempts: 1}
	}
	return l, nil
}

// unknown says which tools may have been meant: those that are spelled alike,
// else those that a search finds.
func (d *discovery) unknown(name string, err error) string {
	text := "No tool is called "
	var alike []string
	if u, ok := errors.AsType[*tool.UnknownToolError](err); ok {
		if u.Ambiguous {
			text = "More than one tool is called "
		}
		for _, s := range u.Suggestions {
			if def, err := d.set.Resolve(s); err == nil {
				alike = append(alike, safetext.Ident(def.Name).String())
			}
		}
	}
	if len(alike) == 0 {
		best, _ := d.index().Search(name, maxAlike)
		for _, m := range best {
			alike = append(alike, safetext.Ident(m.Definition.Name).String())
		}
	}
	text += safetext.Ident(name).String() + "."
	if len(alike) > 0 {
		text += " Did you mean " + strings.Join(alike, " or ") + "?"
	}
	return text + " " + ToolSearch + " finds tools by words."
}

// describe is a definition as one JSON object. Its strings are the source's
// own, unchanged, and every character that is not plainly visible is escaped.
func describe(def tool.Definition) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(struct {
		Name         string          `json:"name"`
		Title        string          `json:"title,omitempty"`
		Description  string          `json:"description"`
		InputSchema  json.RawMessage `json:"input_schema"`
		OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	}{def.Name, def.Title, def.Description, asJSON(def.InputSchema), outputSchema(def)})
	if err != nil {
		return "the definition cannot be shown; the tool can be called all the same"
	}
	return string(event.Escape(bytes.TrimSpace(out.Bytes())))
}

func outputSchema(def tool.Definition) json.RawMessage {
	if !json.Valid(def.OutputSchema) {
		return nil
	}
	return def.OutputSchema
}

// lookup returns the call's own lookup when it is one of the two tools.
func (c *call) lookup() (*lookup, bool) {
	l, ok := c.prepared.(*lookup)
	return l, ok
}

// withoutGate lets a lookup through that no rule denies.
func (c *call) withoutGate() {
	if _, ok := c.lookup(); !ok || c.pol.Verdict != policy.Ask {
		return
	}
	c.pol.Considered = append(c.pol.Considered, RuleDiscovery)
	c.pol.Verdict, c.pol.Rule, c.pol.Reason = policy.Allow, RuleDiscovery, ""
}
