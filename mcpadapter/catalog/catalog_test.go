package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/looprig/looprig/mcpadapter/internal/protocol"
)

// pagesOf is a server whose listings are fixed; a family that is missing does
// not exist.
type pagesOf map[Family][]protocol.Page

func (p pagesOf) List(_ context.Context, fam Family, cursor string) (protocol.Page, error) {
	pages, ok := p[fam]
	if !ok {
		return protocol.Page{}, &protocol.Error{Class: protocol.ClassRemote, Op: string(fam), Code: protocol.CodeMethodNotFound}
	}
	i := 0
	if cursor != "" {
		if _, err := fmt.Sscanf(cursor, "c%d", &i); err != nil {
			return protocol.Page{}, err
		}
	}
	return pages[i], nil
}

func page(next string, items ...string) protocol.Page {
	p := protocol.Page{NextCursor: next}
	for _, it := range items {
		p.Items = append(p.Items, json.RawMessage(it))
	}
	return p
}

func lookup(extra string) string {
	return `{"name":"lookup","description":"finds","inputSchema":{"type":"object","properties":{"q":{"type":"string"}}}` + extra + `}`
}

func request() Request {
	return Request{
		Binding: "docs", Now: time.Unix(1, 0),
		Info: protocol.Info{Capabilities: json.RawMessage(`{"tools":{},"prompts":{},"resources":{}}`)},
	}
}

func fetch(t *testing.T, r Request, l Lister) *Generation {
	t.Helper()
	g, _, err := Fetch(t.Context(), l, r)
	if err != nil {
		t.Fatalf("Fetch: %v", err)
	}
	return g
}

func TestFetchFollowsEveryPageAndMissingFamiliesAreEmpty(t *testing.T) {
	t.Parallel()
	g := fetch(t, request(), pagesOf{
		protocol.Tools:   {page("c1", lookup(""), "null"), page("", `{"name":"b","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"destructiveHint":"x"}}`)},
		protocol.Prompts: {page("", `{"name":"p","arguments":[{"name":"who","required":true}]}`)},
	})
	if len(g.Tools) != 2 || len(g.Prompts) != 1 || len(g.Resources) != 0 || g.Number != 1 {
		t.Fatalf("got %d tools, %d prompts, %d resources, number %d", len(g.Tools), len(g.Prompts), len(g.Resources), g.Number)
	}
	if g.Tools[0].ModelName != "mcp__docs__lookup" || g.Tools[0].Input == nil {
		t.Errorf("first tool: %+v", g.Tools[0])
	}
	if h := g.Tools[1].Hints; h.ReadOnly == nil || !*h.ReadOnly || h.Destructive != nil {
		t.Errorf("hints: %+v", h)
	}
	if len(g.Warnings) != 1 || !strings.Contains(g.Warnings[0], "1 null") {
		t.Errorf("warnings: %q", g.Warnings)
	}
}

func TestFetchRefusesByName(t *testing.T) {
	t.Parallel()
	endless := lister(func(cursor string) protocol.Page {
		return page(cursor+"x", fmt.Sprintf(`{"name":"t%d","inputSchema":{}}`, len(cursor)))
	})
	for name, tc := range map[string]struct {
		l       Lister
		class   protocol.Class
		setting string
		is      error
	}{
		"repeated cursor": {lister(func(string) protocol.Page { return page("same") }), protocol.ClassCatalog, "", ErrRepeatedCursor},
		"endless pages":   {endless, protocol.ClassOverLimit, "limits.pages", nil},
		"long cursor":     {lister(func(string) protocol.Page { return page(strings.Repeat("x", 5000)) }), protocol.ClassOverLimit, "limits.cursorBytes", nil},
		"duplicate tool":  {pagesOf{protocol.Tools: {page("", lookup(""), lookup(""))}}, protocol.ClassCatalog, "", ErrDuplicateName},
		"duplicate key":   {pagesOf{protocol.Tools: {page("", `{"name":"a","name":"b"}`)}}, protocol.ClassMalformed, "", nil},
		"nested duplicate": {pagesOf{protocol.Tools: {page("", `{"name":"a","inputSchema":{"type":"object","type":"string"}}`)}},
			protocol.ClassMalformed, "", nil},
		"not an object": {pagesOf{protocol.Tools: {page("", `"a"`)}}, protocol.ClassMalformed, "", errNotObject},
		"many tools":    {pagesOf{protocol.Tools: {page("", slices.Repeat([]string{`{}`}, 1025)...)}}, protocol.ClassOverLimit, "limits.tools", nil},
		"large page":    {lister(func(string) protocol.Page { return protocol.Page{Raw: make([]byte, 4<<20+1)} }), protocol.ClassOverLimit, "limits.pageBytes", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := Fetch(t.Context(), tc.l, request())
			var pe *protocol.Error
			if !errors.As(err, &pe) || pe.Class != tc.class || pe.Setting != tc.setting {
				t.Fatalf("got %v", err)
			}
			if tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("%v is not %v", err, tc.is)
			}
			if pe.Class == protocol.ClassOverLimit && pe.Size <= pe.Limit {
				t.Errorf("size %d, limit %d", pe.Size, pe.Limit)
			}
		})
	}
}

type lister func(cursor string) protocol.Page

func (f lister) List(_ context.Context, _ Family, cursor string) (protocol.Page, error) {
	return f(cursor), nil
}

func TestFetchWithholdsWhatIsUnsafeAndKeepsTheRest(t *testing.T) {
	t.Parallel()
	g := fetch(t, request(), pagesOf{protocol.Tools: {page("",
		lookup(""),
		`{"name":"cycle","inputSchema":{"$ref":"#"}}`,
		`{"name":"out","inputSchema":{"type":"object"},"outputSchema":{"$ref":"#"}}`,
		`{"name":"long","description":"`+strings.Repeat("d", 65<<10)+`","inputSchema":{}}`,
		`{"name":"`+strings.Repeat("n", 600)+`","inputSchema":{}}`,
		`{"name":"","inputSchema":{}}`,
		`{"name":"bare"}`,
	)}})
	withheld := map[string]bool{}
	for _, tl := range g.Tools {
		withheld[tl.Name] = tl.Withheld != ""
	}
	want := map[string]bool{"lookup": false, "cycle": true, "out": false, "long": true, "bare": false}
	if fmt.Sprint(withheld) != fmt.Sprint(want) {
		t.Errorf("withheld %v, want %v", withheld, want)
	}
	long, _ := g.Tool("long")
	if !strings.Contains(long.Withheld, "descriptionBytes") || !strings.Contains(long.Withheld, "65536") {
		t.Errorf("reason: %q", long.Withheld)
	}
	if len(g.Tolerances) != 2 {
		t.Errorf("tolerances: %q", g.Tolerances)
	}
}

func TestDigestIgnoresFormAndSeesContent(t *testing.T) {
	t.Parallel()
	base := fetch(t, request(), pagesOf{protocol.Tools: {page("", lookup(""))}})
	again := request()
	again.Prev = base
	reordered := `{ "inputSchema" : {"properties":{"q":{"type":"string"}}, "type":"object"},"description":"finds","name":"lookup"}`
	if g, changed, err := Fetch(t.Context(), pagesOf{protocol.Tools: {page("", reordered)}}, again); err != nil || changed || g != base {
		t.Errorf("key order and white space: changed=%t err=%v", changed, err)
	}
	for _, extra := range []string{`,"_meta":{"a":1}`, `,"annotations":{"readOnlyHint":true}`, `,"icons":[]`, `,"title":"x"`, `,"unheardOf":0`} {
		g, changed, err := Fetch(t.Context(), pagesOf{protocol.Tools: {page("", lookup(extra))}}, again)
		if err != nil || !changed || g.Number != 2 || g.Tools[0].Digest == base.Tools[0].Digest {
			t.Errorf("%s: changed=%t err=%v", extra, changed, err)
		}
	}
	again.Info.Instructions = "do this"
	if _, changed, _ := Fetch(t.Context(), pagesOf{protocol.Tools: {page("", lookup(""))}}, again); !changed {
		t.Error("instructions are not covered")
	}
}

func TestRefreshReadsOnlyTheNamedFamilies(t *testing.T) {
	t.Parallel()
	base := fetch(t, request(), pagesOf{
		protocol.Tools:   {page("", lookup(""))},
		protocol.Prompts: {page("", `{"name":"p"}`)},
	})
	r := request()
	r.Prev, r.Families = base, []Family{protocol.Tools}
	g := fetch(t, r, pagesOf{protocol.Tools: {page("", lookup(""), `{"name":"new","inputSchema":{}}`)}})
	if len(g.Prompts) != 1 || len(g.Tools) != 2 || g.Number != 2 {
		t.Errorf("got %d prompts, %d tools, number %d", len(g.Prompts), len(g.Tools), g.Number)
	}
}

func TestDiffNamesTheParts(t *testing.T) {
	t.Parallel()
	a := fetch(t, request(), pagesOf{protocol.Tools: {page("", lookup(""), `{"name":"gone","inputSchema":{}}`)}})
	b := fetch(t, request(), pagesOf{protocol.Tools: {page("",
		`{"name":"lookup","description":"finds all","inputSchema":{"type":"object","properties":{"q":{"type":"number"}}}}`,
		`{"name":"new\u202e","inputSchema":{}}`)}})
	d := Diff(a, b)
	if want := []string{"tools/lookup: description, inputSchema /properties/q/type"}; !slices.Equal(d.Changed, want) {
		t.Errorf("changed: %q", d.Changed)
	}
	if !slices.Equal(d.Removed, []string{"tools/gone"}) || len(d.Added) != 1 || strings.ContainsRune(d.Added[0], '\u202e') {
		t.Errorf("added %q, removed %q", d.Added, d.Removed)
	}
	if d := Diff(nil, a); len(d.Added) != 2 || len(d.Changed) != 0 {
		t.Errorf("against nothing: %+v", d)
	}
}

func TestModelNamesProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		raws := rapid.SliceOfNDistinct(rapid.OneOf(
			rapid.StringMatching(`[a-c._ é]{1,6}`), rapid.StringMatching(`[a-z_]{40,60}`), rapid.String(),
		), 1, 12, rapid.ID[string]).Draw(t, "raws")
		if rapid.Bool().Draw(t, "forge") { // a tool that takes another's shortened name
			forged := strings.TrimPrefix(hashedName("b", raws[0]), "mcp__b__")
			if !slices.Contains(raws, forged) {
				raws = append(raws, forged)
			}
		}
		names := ModelNames("b", raws)
		seen := map[string]bool{}
		for i, n := range names {
			if n == "" || len(n) > MaxModelName || !strings.HasPrefix(n, "mcp__b__") || mapped(n) != n {
				t.Fatalf("name %q of %q", n, raws[i])
			}
			if seen[n] {
				t.Fatalf("%q twice", n)
			}
			seen[n] = true
			if n == plainName("b", raws[i]) {
				continue
			}
			if h := hashedName("b", raws[i]); n != h {
				t.Fatalf("%q of %q, want %q", n, raws[i], h)
			}
		}
		slices.Reverse(raws)
		back := ModelNames("b", raws)
		slices.Reverse(back)
		if !slices.Equal(names, back) {
			t.Fatalf("order matters: %q %q", names, back)
		}
	})
}

func TestModelNameOfAForgedSuffix(t *testing.T) {
	t.Parallel()
	forged := strings.TrimPrefix(hashedName("b", "a.b"), "mcp__b__")
	names := ModelNames("b", []string{"a.b", forged, "fine"})
	if names[0] == names[1] || names[1] == plainName("b", forged) || names[2] != "mcp__b__fine" {
		t.Errorf("got %q", names)
	}
}

func TestCheckBindingName(t *testing.T) {
	t.Parallel()
	for _, ok := range []string{"docs", "a", "9x", "a-b_c", strings.Repeat("a", 32)} {
		if err := CheckBindingName(ok); err != nil {
			t.Errorf("%q: %v", ok, err)
		}
	}
	for _, bad := range []string{"", "A", "_a", "-a", "a__b", "a_", "a.b", "é", strings.Repeat("a", 33), "mcp", "delegate", "a\nb"} {
		if err := CheckBindingName(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func FuzzFetch(f *testing.F) {
	f.Add([]byte(lookup("")))
	f.Add([]byte(`{"name":"a","inputSchema":{"$ref":"#"},"annotations":[1],"title":3}`))
	f.Add([]byte(`{"name":{},"arguments":null,"uri":1,"uriTemplate":"x"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		all := pagesOf{}
		for _, fam := range allFamilies {
			all[fam] = []protocol.Page{page("", string(raw))}
		}
		g, _, err := Fetch(context.Background(), all, request())
		if err != nil {
			return
		}
		for _, tl := range g.Tools {
			if tl.Withheld == "" && (tl.Input == nil || tl.ModelName == "") {
				t.Errorf("offered without schema or name: %+v", tl)
			}
		}
		if d := Diff(g, g); len(d.Added)+len(d.Removed)+len(d.Changed) != 0 {
			t.Errorf("differs from itself: %+v", d)
		}
	})
}
