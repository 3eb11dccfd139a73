package tool

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/looprig/looprig/internal/safetext"
	"pgregory.net/rapid"
)

func def(binding, name string) Definition {
	d := Definition{Name: "mcp__" + binding + "__" + name, Identity: Identity{Source: "mcp", Binding: binding, Name: name}, Digest: "sha256:" + name}
	if binding == "" {
		d.Name, d.Identity.Source = name, "builtin"
	}
	return d
}

func mustSet(t testing.TB, slots ...[]Definition) *Set {
	t.Helper()
	s, err := NewSet(slots...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSetRefusesToShadow(t *testing.T) {
	t.Parallel()
	first, second := def("", "search"), def("docs", "search")
	second.Name = "search"
	var dup *DuplicateModelNameError
	if _, err := NewSet([]Definition{first}, []Definition{second}); !errors.As(err, &dup) || dup.Incumbent != first.Identity || dup.Newcomer != second.Identity {
		t.Fatalf("%v", err)
	}
}

func TestSetIsImmutable(t *testing.T) {
	t.Parallel()
	defs := []Definition{def("demo", "add"), def("demo", "echo")}
	s := mustSet(t, defs)
	digest := s.Digest()
	defs[0].Name = "changed"
	s.Definitions()[1].Name = "changed"
	if _, ok := s.Lookup("mcp__demo__add"); !ok || s.Digest() != digest || s.Definitions()[1].Name != "mcp__demo__echo" {
		t.Fatal("a caller changed the set")
	}
	if _, ok := s.Lookup("changed"); ok {
		t.Fatal("a caller renamed a tool")
	}
	if d, ok := s.ByIdentity(Identity{"mcp", "demo", "echo"}); !ok || d.Name != "mcp__demo__echo" {
		t.Fatalf("%+v", d)
	}
}

// The digest covers what steers a model or a policy, and not the order.
func TestSetDigest(t *testing.T) {
	t.Parallel()
	base := mustSet(t, []Definition{def("a", "x"), def("b", "y")}).Digest()
	if other := mustSet(t, []Definition{def("b", "y")}, []Definition{def("a", "x")}).Digest(); other != base {
		t.Error("the order of the tools changed the digest")
	}
	changes := map[string]func(*Definition){
		"name":         func(d *Definition) { d.Name += "2" },
		"identity":     func(d *Definition) { d.Identity.Binding = "c" },
		"digest":       func(d *Definition) { d.Digest = "sha256:zz" },
		"deferred":     func(d *Definition) { d.Deferred = true },
		"instructions": func(d *Definition) { d.Instructions = "x" },
		"trust":        func(d *Definition) { d.Trust = TrustOnce },
	}
	for what, change := range changes {
		d := def("a", "x")
		change(&d)
		if mustSet(t, []Definition{d, def("b", "y")}).Digest() == base {
			t.Errorf("%s is not in the digest", what)
		}
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	s := mustSet(t,
		[]Definition{def("", "ask_user")},
		[]Definition{def("demo", "add"), def("demo", "ask-name"), def("other", "lookup"), def("demo", "lookup"), def("fs", "read file"), def("a", "b.c"), def("a.b", "c")})
	good := map[string]string{
		"mcp__demo__add": "mcp:demo:add", "mcp:demo:add": "mcp:demo:add", "demo.add": "mcp:demo:add", "demo add": "mcp:demo:add",
		"demo/add": "mcp:demo:add", "demo:add": "mcp:demo:add", "demo__add": "mcp:demo:add", "add": "mcp:demo:add",
		"  demo   add ": "mcp:demo:add", "ask_user": "builtin:ask_user", "builtin:ask_user": "builtin:ask_user",
		"demo lookup": "mcp:demo:lookup", "fs read file": "mcp:fs:read file", "read file": "mcp:fs:read file",
		"ask-name": "mcp:demo:ask-name", "a b.c": "mcp:a:b.c",
	}
	for spelling, want := range good {
		if d, err := s.Resolve(spelling); err != nil || d.Identity.String() != want {
			t.Errorf("%q is %s (%v), want %s", spelling, d.Identity, err, want)
		}
	}
	bad := map[string]struct {
		suggestions []string
		ambiguous   bool
	}{
		"lookup":                  {[]string{"mcp:other:lookup", "mcp:demo:lookup"}, true},
		"a.b.c":                   {[]string{"mcp:a:b.c", "mcp:a.b:c"}, true},
		"demo.ad":                 {[]string{"mcp:demo:add"}, false},
		"mcp__demo__ADD":          {[]string{"mcp:demo:add"}, false},
		"demo ask_name":           {[]string{"mcp:demo:ask-name"}, false},
		"":                        {nil, false},
		"nothing-like-it":         {nil, false},
		strings.Repeat("x", 5000): {nil, false},
	}
	for spelling, want := range bad {
		_, err := s.Resolve(spelling)
		var unknown *UnknownToolError
		if !errors.As(err, &unknown) || !slices.Equal(unknown.Suggestions, want.suggestions) || unknown.Ambiguous != want.ambiguous || unknown.Spelling != spelling {
			t.Errorf("%.40q: %#v", spelling, err)
		}
	}
}

// A name can be given as it is shown, and a suggestion taken over as it stands.
func TestResolveReadsNamesAsTheyAreShown(t *testing.T) {
	t.Parallel()
	names := []string{"a b", "tab\there", "\u202eevil", `say "hi"`, `back\slash`, "ünï", "p\u0430y", "  spaced  ", ""}
	var defs []Definition
	for i, n := range names {
		d := def("demo", n)
		d.Name = fmt.Sprintf("tool-%d", i)
		defs = append(defs, d)
	}
	quoted := def("other", `"a b"`)
	quoted.Name = "tool-quoted"
	s := mustSet(t, append(defs, quoted))
	for _, d := range defs {
		for _, spelling := range []string{safetext.Ident(d.Identity.String()).String(), "demo " + safetext.Ident(d.Identity.Name).String(), " demo/" + safetext.Ident(d.Identity.Name).String() + " "} {
			if got, err := s.Resolve(spelling); err != nil || got.Name != d.Name {
				t.Errorf("%s is %q (%v), want %q", spelling, got.Identity, err, d.Identity)
			}
		}
	}
	if got, err := s.Resolve(`other "a b"`); err != nil || got.Name != quoted.Name {
		t.Errorf("%q, %v", got.Identity, err)
	}
	for _, spelling := range []string{`"`, `demo "a b`, `demo "a b" c`, `demo "a"b"`} {
		if got, err := s.Resolve(spelling); err == nil {
			t.Errorf("%s is %q", spelling, got.Identity)
		}
	}
}

func TestUnknownToolErrorIsInert(t *testing.T) {
	t.Parallel()
	s := mustSet(t, []Definition{def("demo", "add\x1b[2J")})
	_, err := s.Resolve("demo.add\x1b[2K")
	if err == nil || strings.ContainsRune(err.Error(), 0x1b) || !strings.Contains(err.Error(), "did you mean") {
		t.Fatalf("%q", err)
	}
}

// Every tool of a set is found by its model name and by its identity, whatever
// else is in the set.
func TestResolveFindsEveryTool(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.StringMatching(`[a-c._/ -]{1,4}`)
		var defs []Definition
		seen := map[Identity]bool{}
		for i := range rapid.IntRange(1, 8).Draw(t, "n") {
			d := def(part.Draw(t, "binding"), part.Draw(t, "name"))
			d.Name = fmt.Sprintf("tool-%d", i)
			if !seen[d.Identity] {
				seen[d.Identity] = true
				defs = append(defs, d)
			}
		}
		s, err := NewSet(defs)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range defs {
			for _, spelling := range []string{d.Name, d.Identity.String()} {
				if got, err := s.Resolve(spelling); err != nil || got.Identity != d.Identity {
					t.Fatalf("%q is %v (%v)", spelling, got.Identity, err)
				}
			}
		}
	})
}

func TestEditDistance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"add", "add", 0}, {"ab", "ba", 2}} {
		if got := editDistance(c.a, c.b); got != c.want || editDistance(c.b, c.a) != c.want {
			t.Errorf("%q %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	err := &ArgumentError{Tool: "mcp:demo:add", Problems: []ArgumentProblem{{Pointer: "/a", Message: "missing"}, {Message: "too big"}}}
	if got := err.Error(); got != "invalid arguments for mcp:demo:add: /a: missing; too big" {
		t.Error(got)
	}
	if got := (&Refusal{Unavailable, "gone"}).Error(); got != "unavailable: gone" {
		t.Error(got)
	}
}

// A call of a tool that nobody has is named by what was asked for, in quotes.
func TestAsked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ identity, name, want string }{
		{"mcp:demo:add", "mcp__demo__add", "mcp:demo:add"},
		{Identity{}.String(), "nope", `"nope" (no such tool)`},
		{"", "no such", `"no such" (no such tool)`},
		{"", "", `"" (no tool was named)`},
		{"", "  ", `"  " (no tool was named)`},
	} {
		if got := Asked(c.identity, c.name).String(); got != c.want {
			t.Errorf("%q %q: %s, not %s", c.identity, c.name, got, c.want)
		}
	}
}
