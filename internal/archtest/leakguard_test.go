package archtest

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/go/packages"
)

// No public package of the module shows a type of the MCP SDK.
func TestNoSDKTypeInExportedAPI(t *testing.T) {
	t.Parallel()
	tree := realTree(t)
	var patterns []string
	for _, dir := range SDKReachers(tree) {
		patterns = append(patterns, tree.Module+"/"+dir)
	}
	if len(patterns) == 0 {
		t.Skip("no public package reaches the SDK yet")
	}
	fset := token.NewFileSet()
	pkgs, err := packages.Load(&packages.Config{Dir: moduleRoot, Fset: fset, Mode: packages.LoadTypes}, patterns...)
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range pkgs {
		if n := len(pkg.Errors); n > 0 {
			t.Errorf("%s does not compile: %v (%d errors)", pkg.PkgPath, pkg.Errors[0], n)
		}
		if pkg.Types == nil {
			continue
		}
		for _, v := range ExportedLeaks(fset, tree.Module, pkg.Types) {
			t.Error(v)
		}
	}
}

func TestSDKReachers(t *testing.T) {
	t.Parallel()
	file := func(src string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(src)} }
	tree, err := Load(fstest.MapFS{
		"go.mod":              file("module example.org/m\n"),
		"a/internal/p/p.go":   file(`package p; import _ "github.com/modelcontextprotocol/go-sdk/mcp"`),
		"a/a.go":              file(`package a; import _ "example.org/m/a/internal/p"`),
		"b/b.go":              file(`package b; import _ "example.org/m/a"`),
		"b/b_test.go":         file(`package b`),
		"c/c.go":              file(`package c`),
		"c/c_test.go":         file(`package c; import _ "example.org/m/a"`),
		"cmd/x/main.go":       file(`package main; import _ "example.org/m/a"`),
		"harness/tool/t.go":   file(`package tool`),
		"harness/other/o.go":  file(`package other; import _ "example.org/m/harness/tool"`),
		"harness/other/o2.go": file(`package other; import _ "example.org/m/harness/other"`),
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := SDKReachers(tree); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %v", got)
	}
}

// sources are packages that the leak cases import.
var sources = map[string]string{
	sdkModule + "/mcp": `package mcp
type Tool struct{ Name string }
type Transport interface{ Connect() error }
type Session struct{}
func (*Session) Ping() *Tool { return nil }`,
	"example.org/m/internal/wire": `package wire
import "` + sdkModule + `/mcp"
type Clean struct{ N int }
type Dialer interface{ Dial() mcp.Transport }
type Holder struct{ S *mcp.Session }`,
}

var leaks = []struct {
	name, decl string
	want       string // "" for a declaration that shows nothing
}{
	{"parameter", `func F(t mcp.Tool) {}`, "p.F shows mcp.Tool"},
	{"result", `func F() (*mcp.Tool, error) { return nil, nil }`, "p.F shows mcp.Tool"},
	{"callback", `type F func(map[string][]*mcp.Tool)`, "p.F shows mcp.Tool"},
	{"field", `type T struct{ X chan mcp.Tool }`, "p.T.X shows mcp.Tool"},
	{"embedding", `type T struct{ mcp.Tool }`, "p.T.Tool shows mcp.Tool"},
	{"hidden embedding", `type inner struct{ *mcp.Session }; type T struct{ inner }`, "shows mcp.Session"},
	{"interface embedding", `type T interface{ mcp.Transport }`, "p.T shows mcp.Transport"},
	{"method", `type T struct{}; func (T) M(mcp.Tool) {}`, "p.T.M shows mcp.Tool"},
	{"interface method", `type T interface{ M() mcp.Tool }`, "p.T.M shows mcp.Tool"},
	{"alias", `type T = mcp.Tool`, "p.T shows mcp.Tool"},
	{"variable", `var V = mcp.Tool{}`, "p.V shows mcp.Tool"},
	{"constraint", `func F[P mcp.Transport](P) {}`, "p.F shows mcp.Transport"},
	{"union", `type C interface{ mcp.Tool | int }`, "p.C shows mcp.Tool"},
	{"type argument", `type G[P any] struct{ p P }; var V G[mcp.Tool]`, "p.V shows mcp.Tool"},
	{"through an unexported type", `type t struct{}; func (t) M() mcp.Tool { return mcp.Tool{} }; func F() t { return t{} }`, "p.F.M shows mcp.Tool"},
	{"through an internal type", `func F() wire.Dialer { return nil }`, "p.F.Dial shows mcp.Transport"},
	{"promoted from an internal type", `type T struct{ wire.Holder }`, "shows mcp.Session"},

	{"unexported field", `type T struct{ x mcp.Tool }`, ""},
	{"unexported function", `func f(mcp.Tool) {}`, ""},
	{"unexported method", `type T struct{}; func (T) m(mcp.Tool) {}`, ""},
	{"body", `func F() { var t mcp.Tool; _ = t }`, ""},
	{"clean internal type", `func F() wire.Clean { return wire.Clean{} }`, ""},
}

// The guard fails on every way to show a type, and on nothing else.
func TestLeakGuardFailsOnLeaks(t *testing.T) {
	t.Parallel()
	for _, c := range leaks {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			imp := &memImporter{fset: token.NewFileSet(), done: map[string]*types.Package{}}
			src := "package p\nimport \"" + sdkModule + "/mcp\"\nimport \"example.org/m/internal/wire\"\n" +
				"var _ mcp.Tool\nvar _ wire.Clean\n" + c.decl
			pkg, err := imp.check("example.org/m/p", src)
			if err != nil {
				t.Fatal(err)
			}
			got := ExportedLeaks(imp.fset, "example.org/m", pkg)
			if c.want == "" {
				if len(got) > 0 {
					t.Errorf("refused: %v", got)
				}
				return
			}
			for _, v := range got {
				if strings.Contains(v.Detail, c.want) {
					return
				}
			}
			t.Errorf("got %v, want %q", got, c.want)
		})
	}
}

// memImporter type-checks the packages of sources on demand.
type memImporter struct {
	fset *token.FileSet
	done map[string]*types.Package
}

func (m *memImporter) Import(path string) (*types.Package, error) {
	if pkg := m.done[path]; pkg != nil {
		return pkg, nil
	}
	src, ok := sources[path]
	if !ok {
		return nil, errors.New("no source for " + path)
	}
	return m.check(path, src)
}

func (m *memImporter) check(path, src string) (*types.Package, error) {
	f, err := parser.ParseFile(m.fset, path+".go", src, 0)
	if err != nil {
		return nil, err
	}
	pkg, err := (&types.Config{Importer: m}).Check(path, m.fset, []*ast.File{f}, nil)
	m.done[path] = pkg
	return pkg, err
}
