package archtest

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// sdkPrefixes are the import paths whose types no exported API may show: the MCP SDK
// and the schema module that its own API is made of.
var sdkPrefixes = []string{sdkModule, "github.com/google/jsonschema-go"}

// ExportedLeaks lists every place in the exported API of a package where a type of
// the SDK shows: types, signatures, fields, embedded types and what they promote,
// constraints and type arguments. Unexported types and types of internal packages
// are followed, since a caller reaches what they export without naming them; other
// public packages are checked on their own.
func ExportedLeaks(fset *token.FileSet, module string, pkg *types.Package) []Violation {
	w := &apiWalker{fset: fset, module: module, pkg: pkg, seen: map[types.Type]bool{}}
	scope := pkg.Scope()
	for _, name := range scope.Names() {
		obj := scope.Lookup(name)
		if !obj.Exported() {
			continue
		}
		w.root = obj
		w.object(obj)
	}
	return w.out
}

// apiWalker walks the types that are reachable from one exported object.
type apiWalker struct {
	fset   *token.FileSet
	module string
	pkg    *types.Package
	root   types.Object
	seen   map[types.Type]bool
	out    []Violation
}

func (w *apiWalker) object(obj types.Object) {
	name, isType := obj.(*types.TypeName)
	if !isType {
		w.typ(obj.Type(), obj.Name())
		return
	}
	if alias, ok := obj.Type().(*types.Alias); ok {
		w.typ(alias.Rhs(), obj.Name())
		return
	}
	w.declared(name.Type(), obj.Name())
}

// declared walks the definition of a type of this package: what it is made of, and
// its exported methods.
func (w *apiWalker) declared(t types.Type, at string) {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok {
		w.typ(t, at)
		return
	}
	named = named.Origin()
	if w.seen[named] {
		return
	}
	w.seen[named] = true
	w.params(named.TypeParams(), at)
	w.typ(named.Underlying(), at)
	if types.IsInterface(named) {
		return
	}
	// The method set holds what embedded types promote as well.
	for sel := range types.NewMethodSet(types.NewPointer(named)).Methods() {
		if m := sel.Obj(); m.Exported() {
			w.typ(m.Type(), at+"."+m.Name())
		}
	}
}

func (w *apiWalker) typ(t types.Type, at string) {
	switch t := t.(type) {
	case *types.Alias:
		w.reference(t.Obj(), at)
		w.args(t.TypeArgs(), at)
		w.typ(t.Rhs(), at)
	case *types.Named:
		w.reference(t.Obj(), at)
		w.args(t.TypeArgs(), at)
		if w.unnameable(t.Obj()) {
			w.declared(t, at)
		}
	case *types.Pointer:
		w.typ(t.Elem(), at)
	case *types.Slice:
		w.typ(t.Elem(), at)
	case *types.Array:
		w.typ(t.Elem(), at)
	case *types.Chan:
		w.typ(t.Elem(), at)
	case *types.Map:
		w.typ(t.Key(), at)
		w.typ(t.Elem(), at)
	case *types.Signature:
		w.params(t.TypeParams(), at)
		w.tuple(t.Params(), at)
		w.tuple(t.Results(), at)
	case *types.Struct:
		w.fields(t, at)
	case *types.Interface:
		w.methods(t, at)
	case *types.Union:
		for term := range t.Terms() {
			w.typ(term.Type(), at)
		}
	}
}

// unnameable holds for types that a caller outside the module can hold but not name.
func (w *apiWalker) unnameable(obj *types.TypeName) bool {
	if obj.Pkg() == nil {
		return false
	}
	return obj.Pkg() == w.pkg && !obj.Exported() ||
		inTree(obj.Pkg().Path(), w.module) && isInternal(obj.Pkg().Path())
}

// fields walks what a struct shows: exported fields, and embedded types, whose
// methods are promoted whatever their name.
func (w *apiWalker) fields(t *types.Struct, at string) {
	for f := range t.Fields() {
		if f.Exported() || f.Embedded() {
			w.typ(f.Type(), at+"."+f.Name())
		}
	}
}

// methods walks the complete method set of an interface, and the types of its union.
func (w *apiWalker) methods(t *types.Interface, at string) {
	for m := range t.Methods() {
		if m.Exported() {
			w.typ(m.Type(), at+"."+m.Name())
		}
	}
	for e := range t.EmbeddedTypes() {
		w.typ(e, at)
	}
}

func (w *apiWalker) params(list *types.TypeParamList, at string) {
	for p := range list.TypeParams() {
		w.typ(p.Constraint(), at)
	}
}

func (w *apiWalker) args(list *types.TypeList, at string) {
	for a := range list.Types() {
		w.typ(a, at)
	}
}

func (w *apiWalker) tuple(t *types.Tuple, at string) {
	for v := range t.Variables() {
		w.typ(v.Type(), at)
	}
}

// reference records the use of a type name that belongs to the SDK.
func (w *apiWalker) reference(obj *types.TypeName, at string) {
	if obj.Pkg() == nil {
		return
	}
	for _, prefix := range sdkPrefixes {
		if inTree(obj.Pkg().Path(), prefix) {
			w.out = append(w.out, Violation{
				Where:  w.fset.Position(w.root.Pos()).String(),
				Detail: fmt.Sprintf("exported %s.%s shows %s.%s", w.pkg.Name(), at, obj.Pkg().Name(), obj.Name()),
			})
		}
	}
}

func isInternal(importPath string) bool {
	return strings.Contains("/"+importPath+"/", "/internal/")
}

// SDKReachers lists the directories of public packages that reach the SDK through
// their imports, directly or not: only they can show one of its types.
func SDKReachers(t *Tree) []string {
	imports, public := map[string][]string{}, map[string]bool{}
	for _, f := range t.Files {
		if f.Test {
			continue
		}
		for _, imp := range f.Imports {
			imports[f.Dir] = append(imports[f.Dir], imp.Path)
		}
		public[f.Dir] = f.Syntax.Name.Name != "main" && !isInternal(f.Dir)
	}
	reaches := map[string]bool{}
	var visit func(dir string) bool
	visit = func(dir string) bool {
		if known, ok := reaches[dir]; ok {
			return known
		}
		reaches[dir] = false
		for _, p := range imports[dir] {
			target, ours := t.inModule(p)
			if inAny(p, sdkPrefixes) || ours && visit(target) {
				reaches[dir] = true
			}
		}
		return reaches[dir]
	}
	var dirs []string
	for dir := range public {
		if public[dir] && visit(dir) {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	return dirs
}
