package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
)

// Tree is the parsed source of one module.
type Tree struct {
	Module string // module path
	Files  []*File
	fset   *token.FileSet
}

// File is one Go file.
type File struct {
	Path       string // slash-separated, relative to the module root
	Dir        string // directory of Path, "." for the root
	Test       bool   // *_test.go
	Generated  bool
	Lines      int
	Imports    []Import
	Constraint constraint.Expr // nil when the file has none
	Syntax     *ast.File
}

// Import is one import of a file.
type Import struct {
	Path string
	Name string // the local name if one is given
	Line int
}

// Violation is one breach of a rule.
type Violation struct {
	Where  string // path or path:line
	Detail string
}

func (v Violation) String() string { return v.Where + ": " + v.Detail }

// Load parses every Go file below the root of a module. Directories that the go
// command ignores, nested modules and testdata are left out. Build constraints are
// recorded, not applied.
func Load(fsys fs.FS) (*Tree, error) {
	mod, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return nil, fmt.Errorf("read the module file: %w", err)
	}
	tree := &Tree{Module: modfile.ModulePath(mod), fset: token.NewFileSet()}
	err = fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return enter(fsys, p)
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		return tree.add(fsys, p)
	})
	return tree, err
}

// enter decides whether a directory belongs to the module.
func enter(fsys fs.FS, dir string) error {
	if dir == "." {
		return nil
	}
	name := path.Base(dir)
	if name == "testdata" || name == "vendor" || name == "node_modules" || name[0] == '.' || name[0] == '_' {
		return fs.SkipDir
	}
	if _, err := fs.Stat(fsys, path.Join(dir, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

func (t *Tree) add(fsys fs.FS, p string) error {
	src, err := fs.ReadFile(fsys, p)
	if err != nil {
		return err
	}
	syntax, err := parser.ParseFile(t.fset, p, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("parse: %w", err)
	}
	f := &File{
		Path: p, Dir: path.Dir(p), Test: strings.HasSuffix(p, "_test.go"),
		Generated: ast.IsGenerated(syntax),
		Lines:     bytes.Count(src, []byte("\n")),
		Syntax:    syntax,
	}
	for _, spec := range syntax.Imports {
		imp := Import{Line: t.line(spec)}
		if imp.Path, err = strconv.Unquote(spec.Path.Value); err != nil {
			return fmt.Errorf("%s: import path: %w", p, err)
		}
		if spec.Name != nil {
			imp.Name = spec.Name.Name
		}
		f.Imports = append(f.Imports, imp)
	}
	if f.Constraint, err = fileConstraint(syntax); err != nil {
		return fmt.Errorf("%s: %w", p, err)
	}
	t.Files = append(t.Files, f)
	return nil
}

// fileConstraint finds the //go:build line above the package clause.
func fileConstraint(f *ast.File) (constraint.Expr, error) {
	for _, group := range f.Comments {
		if group.Pos() > f.Package {
			break
		}
		for _, c := range group.List {
			if constraint.IsGoBuild(c.Text) {
				return constraint.Parse(c.Text)
			}
		}
	}
	return nil, nil
}

func (t *Tree) line(n ast.Node) int { return t.fset.Position(n.Pos()).Line }

func (t *Tree) at(f *File, line int) string { return f.Path + ":" + strconv.Itoa(line) }

// maxConstraintTags bounds the enumeration in Tagged.
const maxConstraintTags = 16

// Tagged reports whether the file is never built without one of the given build tags,
// whatever the other tags are.
func (f *File) Tagged(tags ...string) bool {
	if f.Constraint == nil {
		return false
	}
	var free []string // every other tag of the constraint
	eachTag(f.Constraint, func(tag string) {
		if !slices.Contains(tags, tag) && !slices.Contains(free, tag) {
			free = append(free, tag)
		}
	})
	if len(free) > maxConstraintTags {
		return false
	}
	for set := range 1 << len(free) {
		if f.Constraint.Eval(func(tag string) bool {
			i := slices.Index(free, tag)
			return i >= 0 && set&(1<<i) != 0
		}) {
			return false
		}
	}
	return true
}

func eachTag(x constraint.Expr, visit func(string)) {
	switch x := x.(type) {
	case *constraint.TagExpr:
		visit(x.Tag)
	case *constraint.NotExpr:
		eachTag(x.X, visit)
	case *constraint.AndExpr:
		eachTag(x.X, visit)
		eachTag(x.Y, visit)
	case *constraint.OrExpr:
		eachTag(x.X, visit)
		eachTag(x.Y, visit)
	}
}

// inTree reports whether a slash-separated path is root or lies below it.
func inTree(p, root string) bool {
	return root == "" || p == root || strings.HasPrefix(p, root+"/")
}

func inAny(p string, roots []string) bool {
	for _, r := range roots {
		if inTree(p, r) {
			return true
		}
	}
	return false
}

// longest returns the most specific of the roots that p lies in.
func longest[V any](p string, table map[string]V) (root string, ok bool) {
	for r := range table {
		if inTree(p, r) && (!ok || len(r) > len(root)) {
			root, ok = r, true
		}
	}
	return root, ok
}
