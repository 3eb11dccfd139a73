package session

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/looprig/looprig/harness/model/scripted"
	"github.com/looprig/looprig/harness/tool"
)

// The tools that a session has by itself are those that are told: of a loop that
// has all of them, and of the names in the source.
func TestHostTools(t *testing.T) {
	t.Parallel()
	want := slices.Sorted(slices.Values(HostTools()))
	m := scripted.New(scripted.Config{})
	w := open(t, Options{Loops: []LoopConfig{{Name: "main", Model: m, AskUser: true, Delegates: []string{"helper"}}}, Agents: []LoopConfig{{Name: "helper", Model: m}}}, nil,
		define("demo", "a", &fake{}, func(d *tool.Definition) { d.Deferred = true }))
	var have []string
	for _, d := range w.Tools("main").Definitions() {
		if d.Identity.Source == builtinSource {
			have = append(have, d.Identity.Name)
		}
	}
	if slices.Sort(have); !slices.Equal(have, want) {
		t.Errorf("a loop has %q, and %q are told", have, want)
	}
	if named := toolConstants(t); !slices.Equal(named, want) {
		t.Errorf("the source names %q, and %q are told", named, want)
	}
}

// toolConstants are the values of the constants that name a tool: Tool… = "…".
func toolConstants(t *testing.T) []string {
	t.Helper()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		src, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(src, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || len(v.Names) != 1 || len(v.Values) != 1 || !strings.HasPrefix(v.Names[0].Name, "Tool") {
				return true
			}
			if lit, ok := v.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				name, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, name)
			}
			return true
		})
	}
	slices.Sort(out)
	return out
}
