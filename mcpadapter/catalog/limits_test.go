package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/looprig/looprig/mcpadapter/internal/protocol"
)

// Each bound of a discovery: what is at it passes, what is one over it is
// refused by name, with size and setting.
func TestEveryLimitOfADiscovery(t *testing.T) {
	t.Parallel()
	tool := func(extra string) string { return `{"name":"a","inputSchema":{"type":"object"}` + extra + `}` }
	text := func(key string, n int) string { return `,"` + key + `":"` + strings.Repeat("x", n) + `"` }
	named := func(kind, key string, n int) []string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf(`{"%s":"%s%d","inputSchema":{}}`, key, kind, i))
		}
		return out
	}
	listed := func(fam Family, items ...string) Lister { return pagesOf{fam: {page("", items...)}} }
	nested := func(depth int) string {
		return strings.Repeat(`{"properties":{"p":`, depth-1) + `{"type":"object"}` + strings.Repeat(`}}`, depth-1)
	}
	with := func(n int) string { // a schema of n nodes
		var props []string
		for i := range n - 1 {
			props = append(props, fmt.Sprintf(`"p%d":{}`, i))
		}
		return `{"name":"a","inputSchema":{"properties":{` + strings.Join(props, ",") + `}}}`
	}
	sized := func(n int) string { // a schema of n bytes
		const frame = `{"description":""}`
		return `{"name":"a","inputSchema":{"description":"` + strings.Repeat("x", n-len(frame)) + `"}}`
	}
	pages := func(n int) Lister {
		var out []protocol.Page
		for i := range n {
			next := fmt.Sprintf("c%d", i+1)
			if i == n-1 {
				next = ""
			}
			out = append(out, page(next))
		}
		return pagesOf{protocol.Tools: out}
	}
	cursor := func(n int) Lister {
		return lister(func(c string) protocol.Page {
			if c != "" {
				return page("")
			}
			return page(strings.Repeat("c", n))
		})
	}
	raw := func(n int) Lister {
		return lister(func(string) protocol.Page { return protocol.Page{Raw: make(json.RawMessage, n)} })
	}
	for setting, tc := range map[string]struct {
		set  func(*Limits, int)
		n    int
		make func(n int) Lister
	}{
		"tools":        {func(l *Limits, n int) { l.Tools = n }, 3, func(n int) Lister { return listed(protocol.Tools, named("t", "name", n)...) }},
		"prompts":      {func(l *Limits, n int) { l.Prompts = n }, 3, func(n int) Lister { return listed(protocol.Prompts, named("p", "name", n)...) }},
		"resources":    {func(l *Limits, n int) { l.Resources = n }, 3, func(n int) Lister { return listed(protocol.Resources, named("r:", "uri", n)...) }},
		"templates":    {func(l *Limits, n int) { l.Templates = n }, 3, func(n int) Lister { return listed(protocol.Templates, named("r:", "uriTemplate", n)...) }},
		"pages":        {func(l *Limits, n int) { l.Pages = n }, 3, pages},
		"cursorBytes":  {func(l *Limits, n int) { l.CursorBytes = n }, 10, cursor},
		"pageBytes":    {func(l *Limits, n int) { l.PageBytes = n }, 100, raw},
		"catalogBytes": {func(l *Limits, n int) { l.CatalogBytes = n }, 100, raw},
		"schemaBytes":  {func(l *Limits, n int) { l.SchemaBytes = n }, 100, func(n int) Lister { return listed(protocol.Tools, sized(n)) }},
		"schemaDepth": {func(l *Limits, n int) { l.SchemaDepth = n }, 5, func(n int) Lister {
			return listed(protocol.Tools, `{"name":"a","inputSchema":`+nested(n)+`}`)
		}},
		"schemaNodes": {func(l *Limits, n int) { l.SchemaNodes = n }, 12, func(n int) Lister { return listed(protocol.Tools, with(n)) }},
		"nameBytes": {func(l *Limits, n int) { l.NameBytes = n }, 10, func(n int) Lister {
			return listed(protocol.Tools, `{"name":"`+strings.Repeat("x", n)+`","inputSchema":{}}`)
		}},
		"titleBytes":        {func(l *Limits, n int) { l.TitleBytes = n }, 10, func(n int) Lister { return listed(protocol.Tools, tool(text("title", n))) }},
		"descriptionBytes":  {func(l *Limits, n int) { l.DescriptionBytes = n }, 10, func(n int) Lister { return listed(protocol.Tools, tool(text("description", n))) }},
		"instructionsBytes": {func(l *Limits, n int) { l.InstructionsBytes = n }, 10, nil},
	} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			for over := range 2 {
				r := request()
				r.Limits = Limits{}
				tc.set(&r.Limits, tc.n)
				r.Limits = r.Limits.withDefaults()
				l := Lister(pagesOf{})
				if tc.make != nil {
					l = tc.make(tc.n + over)
				} else {
					r.Info.Instructions = strings.Repeat("x", tc.n+over)
				}
				if strings.HasSuffix(setting, "ageBytes") || setting == "catalogBytes" {
					r.Info.Capabilities = json.RawMessage(`{"tools":{}}`)
				}
				said := verdict(t, r, l)
				want := fmt.Sprintf("%d over the limit of %d (setting limits.%s)", tc.n+1, tc.n, setting)
				if over == 0 && said != "" || over == 1 && !strings.Contains(said, want) {
					t.Errorf("%d with a limit of %d: %q", tc.n+over, tc.n, said)
				}
			}
		})
	}
}

// verdict is what a discovery says of what it refuses, "" when it refuses
// nothing.
func verdict(t *testing.T, r Request, l Lister) string {
	t.Helper()
	g, _, err := Fetch(t.Context(), l, r)
	var pe *protocol.Error
	if err != nil {
		if !errors.As(err, &pe) || pe.Class != protocol.ClassOverLimit {
			t.Errorf("class %s: %v", protocol.ClassOf(err), err)
		}
		return err.Error()
	}
	var said []string
	for _, tl := range g.Tools {
		if tl.Withheld != "" {
			said = append(said, tl.Withheld)
		}
	}
	return strings.Join(append(said, g.Warnings...), "; ")
}

// A family that is refused takes neither the tools nor what was known of it
// away; a strict binding takes nothing of such a server.
func TestARefusedFamilyIsItsOwnMisfortune(t *testing.T) {
	t.Parallel()
	sound := pagesOf{protocol.Tools: {page("", lookup(""))}, protocol.Prompts: {page("", `{"name":"p"}`)}}
	prev := fetch(t, request(), sound)
	for name, prompts := range map[string][]protocol.Page{
		"too many":        {page("", `{"name":"p"}`, `{"name":"q"}`)},
		"repeated cursor": {page("c0", `{"name":"p"}`)},
		"duplicate keys":  {page("", `{"name":"a","name":"b"}`)},
	} {
		broken := pagesOf{protocol.Tools: {page("", lookup(`,"title":"new"`))}, protocol.Prompts: prompts}
		for _, known := range []*Generation{nil, prev} {
			r := request()
			r.Limits.Prompts, r.Prev = 1, known
			var told []Family
			r.Refused = func(fam Family, err error) { told = append(told, fam) }
			g, changed, err := Fetch(t.Context(), broken, r)
			if err != nil || !changed || len(g.Tools) != 1 || g.Tools[0].Title != "new" {
				t.Fatalf("%s: %v", name, err)
			}
			if want := len(prev.Prompts); known != nil && len(g.Prompts) != want || known == nil && len(g.Prompts) != 0 {
				t.Errorf("%s: %d prompts", name, len(g.Prompts))
			}
			if len(told) != 1 || told[0] != protocol.Prompts || !strings.Contains(strings.Join(g.Warnings, " "), "prompts is kept") {
				t.Errorf("%s: told %v, warnings %q", name, told, g.Warnings)
			}
			r.Strict = true
			if _, _, err := Fetch(t.Context(), broken, r); err == nil {
				t.Errorf("%s: a strict binding takes it", name)
			}
		}
	}
}
