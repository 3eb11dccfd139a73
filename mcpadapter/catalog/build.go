package catalog

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/looprig/looprig/harness/schema"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/mcpadapter/internal/protocol"
)

const (
	// bytesPerToken is a rough average over schemas and English prose.
	bytesPerToken = 4
	// maxRemarks bounds the warnings, and the tolerances, of one generation.
	maxRemarks = 64
)

// anyObject stands in for an input schema that a server left out.
var anyObject = json.RawMessage(`{"type":"object"}`)

type builder struct {
	r      Request
	g      *Generation
	known  map[string]Tool // by digest: compiled schemas are reused
	hidden [2]int          // remarks beyond the bound: warnings, tolerances
}

// build makes a generation out of what was read.
func build(r Request, families map[Family]familyPages, tolerances []string) (*Generation, error) {
	g := &Generation{
		Revision:     r.Info.Revision,
		Capabilities: r.Info.Capabilities,
		Server:       Server{Name: r.Info.ServerName, Version: r.Info.ServerVersion},
		Instructions: r.Info.Instructions,
		FetchedAt:    r.Now,
		families:     families,
	}
	b := &builder{r: r, g: g, known: map[string]Tool{}}
	if r.Prev != nil {
		for _, t := range r.Prev.Tools {
			b.known[t.Digest] = t
		}
	}
	for _, t := range tolerances {
		b.tolerate("%s", t)
	}
	if n := len(g.Instructions); n > r.Limits.InstructionsBytes {
		g.Instructions = ""
		b.warn("the server's instructions were refused: %s", limitText(n, r.Limits.InstructionsBytes, "limits.instructionsBytes"))
	}
	for _, fam := range allFamilies {
		for _, w := range families[fam].warnings {
			b.warn("%s", w)
		}
	}
	if err := b.tools(families[protocol.Tools].items); err != nil {
		return nil, err
	}
	b.prompts(families[protocol.Prompts].items)
	g.Resources = b.resources(protocol.Resources, "uri", families[protocol.Resources].items)
	g.Templates = b.resources(protocol.Templates, "uriTemplate", families[protocol.Templates].items)
	b.closeRemarks()
	g.Digest, g.RawDigest = g.digest(), g.rawDigest()
	for _, pages := range families {
		for _, it := range pages.items {
			g.Bytes += it.size()
		}
	}
	return g, nil
}

func (b *builder) warn(format string, args ...any) {
	if len(b.g.Warnings) >= maxRemarks {
		b.hidden[0]++
		return
	}
	b.g.Warnings = append(b.g.Warnings, fmt.Sprintf(format, args...))
}

func (b *builder) tolerate(format string, args ...any) {
	if len(b.g.Tolerances) >= maxRemarks {
		b.hidden[1]++
		return
	}
	b.g.Tolerances = append(b.g.Tolerances, fmt.Sprintf(format, args...))
}

func (b *builder) closeRemarks() {
	if n := b.hidden[0]; n > 0 {
		b.g.Warnings = append(b.g.Warnings, fmt.Sprintf("and %d more warnings", n))
	}
	if n := b.hidden[1]; n > 0 {
		b.g.Tolerances = append(b.g.Tolerances, fmt.Sprintf("and %d more tolerances", n))
	}
}

// key reads the member that identifies an item. An item without a usable one is
// dropped with a warning.
func (b *builder) key(fam Family, it item, member string, seen map[string]bool) (string, bool) {
	k, ok := it.text(member)
	switch {
	case !ok || k == "":
		b.warn("an entry of %s without a %s was dropped", fam, member)
		return "", false
	case len(k) > b.r.Limits.NameBytes:
		b.warn("the entry %s of %s was dropped: %s", safetext.ToLineN(k, 80), fam, limitText(len(k), b.r.Limits.NameBytes, "limits.nameBytes"))
		return "", false
	case seen[k] && fam != protocol.Tools:
		b.warn("a second entry %s of %s was dropped", safetext.Ident(k), fam)
		return "", false
	}
	return k, true
}

func (b *builder) tools(items []item) error {
	seen := map[string]bool{}
	for _, it := range items {
		name, ok := b.key(protocol.Tools, it, "name", seen)
		if !ok {
			continue
		}
		if seen[name] {
			err := fmt.Errorf("%w: %s", ErrDuplicateName, safetext.Ident(name))
			return refused(protocol.Tools, protocol.ClassCatalog, err)
		}
		seen[name] = true
		b.g.Tools = append(b.g.Tools, b.tool(name, it))
	}
	b.names()
	return nil
}

func (b *builder) tool(name string, it item) Tool {
	digest := it.digest(domainItem + string(protocol.Tools))
	t := Tool{Name: name, Digest: digest, item: it, InputSchema: it.raw("inputSchema"), OutputSchema: it.raw("outputSchema")}
	var okTitle, okDescription bool
	t.Title, okTitle = it.text("title")
	t.Description, okDescription = it.text("description")
	annotations := readAnnotations(it.raw("annotations"))
	t.Hints = annotations.hints()
	if t.Title == "" {
		t.Title = annotations.Title
	}
	lim := b.r.Limits
	switch {
	case !okTitle:
		t.Withheld = "its title is not a string"
	case !okDescription:
		t.Withheld = "its description is not a string"
	case len(t.Title) > lim.TitleBytes:
		t.Withheld = "its title is refused: " + limitText(len(t.Title), lim.TitleBytes, "limits.titleBytes")
	case len(t.Description) > lim.DescriptionBytes:
		t.Withheld = "its description is refused: " + limitText(len(t.Description), lim.DescriptionBytes, "limits.descriptionBytes")
	default:
		b.schemas(&t)
	}
	t.Tokens = (len(t.Name) + len(t.Description) + len(t.InputSchema)) / bytesPerToken
	return t
}

// schemas compiles what a tool declares, or withholds it.
func (b *builder) schemas(t *Tool) {
	if t.InputSchema == nil {
		if b.r.Strict {
			t.Withheld = "it has no input schema"
			return
		}
		t.InputSchema = anyObject
		b.tolerate("missing_input_schema: tools/%s", safetext.Ident(t.Name))
	}
	if known, ok := b.known[t.Digest]; ok && known.Input != nil && (known.Output != nil || t.OutputSchema == nil) {
		t.Input, t.Output = known.Input, known.Output
	} else {
		b.compile(t)
	}
	if t.Input != nil {
		if n := len(t.Input.Unchecked()); n > 0 {
			b.warn("tools/%s: %d keywords of the input schema are left to the server", safetext.Ident(t.Name), n)
		}
	}
}

func (b *builder) compile(t *Tool) {
	lim := schema.Limits{
		Bytes: b.r.Limits.SchemaBytes, Depth: b.r.Limits.SchemaDepth,
		Nodes: b.r.Limits.SchemaNodes, JSONDepth: b.r.Limits.JSONDepth,
	}
	in, err := schema.Compile(t.InputSchema, lim)
	if err != nil {
		t.Withheld = "its input schema is refused: " + schemaText(err)
		b.warn("tools/%s is withheld: %s", safetext.Ident(t.Name), t.Withheld)
		return
	}
	t.Input = in
	if t.OutputSchema == nil {
		return
	}
	out, err := schema.Compile(t.OutputSchema, lim)
	switch {
	case err == nil:
		t.Output = out
	case b.r.Strict:
		t.Withheld = "its output schema is refused: " + schemaText(err)
	default:
		b.tolerate("invalid_output_schema: tools/%s: %s", safetext.Ident(t.Name), schemaText(err))
	}
}

// schemaText says why a schema is refused, with the setting as it is configured
// where it is one of ours.
func schemaText(err error) string {
	var se *schema.Error
	if !errors.As(err, &se) {
		return err.Error()
	}
	switch se.Setting {
	case "schemaBytes", "schemaDepth", "schemaNodes", "jsonDepth":
		e := *se
		e.Setting = "limits." + e.Setting
		return e.Error()
	}
	return err.Error()
}

// names gives the tools their model-facing names.
func (b *builder) names() {
	raw := make([]string, len(b.g.Tools))
	for i, t := range b.g.Tools {
		raw[i] = t.Name
	}
	for i, n := range ModelNames(b.r.Binding, raw) {
		t := &b.g.Tools[i]
		t.ModelName = n
		lossy := n != plainName(b.r.Binding, t.Name)
		switch {
		case n == "":
			t.Withheld = "no model-facing name of its own could be made for it"
		case lossy && b.r.Strict:
			t.Withheld = "its name cannot be shown to models unchanged"
		case lossy:
			b.tolerate("changed_name: tools/%s is %s to models", safetext.Ident(t.Name), n)
		}
	}
}

func (b *builder) prompts(items []item) {
	seen := map[string]bool{}
	for _, it := range items {
		name, ok := b.key(protocol.Prompts, it, "name", seen)
		if !ok {
			continue
		}
		p := Prompt{Name: name, Digest: it.digest(domainItem + string(protocol.Prompts)), item: it}
		if !b.describe(protocol.Prompts, name, it, &p.Title, &p.Description) {
			continue
		}
		if raw := it.raw("arguments"); raw != nil {
			if err := json.Unmarshal(raw, &p.Arguments); err != nil {
				b.warn("prompts/%s was dropped: its arguments are malformed", safetext.Ident(name))
				continue
			}
		}
		seen[name] = true
		b.g.Prompts = append(b.g.Prompts, p)
	}
}

func (b *builder) resources(fam Family, key string, items []item) []Resource {
	var out []Resource
	seen := map[string]bool{}
	for _, it := range items {
		uri, ok := b.key(fam, it, key, seen)
		if !ok {
			continue
		}
		r := Resource{URI: uri, Digest: it.digest(domainItem + string(fam)), item: it}
		r.Name, _ = it.text("name")
		r.MIME, _ = it.text("mimeType")
		if !b.describe(fam, uri, it, &r.Title, &r.Description) {
			continue
		}
		r.Size = ByteSize(it.raw("size"))
		if raw := it.raw("annotations"); raw != nil && json.Unmarshal(raw, &r.Notes) != nil {
			r.Notes = Annotations{}
			b.warn("%s/%s: its annotations are malformed and are left out", fam, safetext.Ident(uri))
		}
		seen[uri] = true
		out = append(out, r)
	}
	return out
}

// describe reads title and description of an item that is no tool; over a limit
// the item is dropped with a warning.
func (b *builder) describe(fam Family, key string, it item, title, description *string) bool {
	lim := b.r.Limits
	*title, _ = it.text("title")
	*description, _ = it.text("description")
	var why string
	switch {
	case len(*title) > lim.TitleBytes:
		why = limitText(len(*title), lim.TitleBytes, "limits.titleBytes")
	case len(*description) > lim.DescriptionBytes:
		why = limitText(len(*description), lim.DescriptionBytes, "limits.descriptionBytes")
	default:
		return true
	}
	b.warn("%s/%s was dropped: %s", fam, safetext.Ident(key), why)
	return false
}

func limitText(size, limit int, setting string) string {
	return fmt.Sprintf("%d over the limit of %d (setting %s)", size, limit, setting)
}

type annotations struct {
	Title       string
	ReadOnly    *bool
	Destructive *bool
	Idempotent  *bool
	OpenWorld   *bool
}

// readAnnotations reads each hint by itself: one of the wrong type says nothing
// and does not take the others with it.
func readAnnotations(raw json.RawMessage) annotations {
	var a annotations
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return a
	}
	_ = json.Unmarshal(m["title"], &a.Title)
	for key, dst := range map[string]**bool{
		"readOnlyHint": &a.ReadOnly, "destructiveHint": &a.Destructive,
		"idempotentHint": &a.Idempotent, "openWorldHint": &a.OpenWorld,
	} {
		var v *bool
		if json.Unmarshal(m[key], &v) == nil {
			*dst = v
		}
	}
	return a
}

func (a annotations) hints() tool.Hints {
	return tool.Hints{ReadOnly: a.ReadOnly, Destructive: a.Destructive, Idempotent: a.Idempotent, OpenWorld: a.OpenWorld}
}
