package archtest

import (
	"fmt"
	"strings"
)

// InsideImports checks the edges between packages of the module.
func InsideImports(t *Tree) []Violation {
	return t.eachImport(func(f *File, imp Import) string {
		target, ok := t.inModule(imp.Path)
		if !ok {
			return ""
		}
		row, listed := longest(f.Dir, inside)
		switch {
		case !listed:
			return fmt.Sprintf("%s is no part of the map: add its tree to the table", f.Dir)
		case inTree(target, row), inAny(target, inside[row]):
			return ""
		case f.Test && inAny(target, insideTests):
			return ""
		}
		return fmt.Sprintf("%s must not import %s", row, target)
	})
}

// OutsideImports checks where third-party modules are imported.
func OutsideImports(t *Tree) []Violation {
	return t.eachImport(func(f *File, imp Import) string {
		if _, ok := t.inModule(imp.Path); ok || isStandard(imp.Path) {
			return ""
		}
		if f.Test && inAny(imp.Path, outsideTests) {
			return ""
		}
		module, listed := longest(imp.Path, outside)
		switch {
		case !listed:
			return fmt.Sprintf("%s is not in the dependency table", imp.Path)
		case inAny(f.Dir, outside[module]):
			return ""
		}
		return fmt.Sprintf("%s may be imported by %s only", module, strings.Join(outside[module], ", "))
	})
}

func (t *Tree) eachImport(check func(*File, Import) string) []Violation {
	var out []Violation
	for _, f := range t.Files {
		for _, imp := range f.Imports {
			if detail := check(f, imp); detail != "" {
				out = append(out, Violation{t.at(f, imp.Line), detail})
			}
		}
	}
	return out
}

// inModule returns the directory of an import path of this module.
func (t *Tree) inModule(importPath string) (string, bool) {
	if importPath == t.Module {
		return ".", true
	}
	return strings.CutPrefix(importPath, t.Module+"/")
}

// isStandard holds for import paths whose first element has no dot.
func isStandard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}
