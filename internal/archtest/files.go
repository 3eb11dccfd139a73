package archtest

import (
	"fmt"
	"go/ast"
	"path"
	"regexp"
	"strings"
)

const maxFileLines = 600

// FileLength refuses long source files: they hold more than one concern.
func FileLength(t *Tree) []Violation {
	var out []Violation
	for _, f := range t.Files {
		if !f.Generated && f.Lines > maxFileLines {
			out = append(out, Violation{f.Path, fmt.Sprintf("%d lines, more than %d: split it by concern", f.Lines, maxFileLines)})
		}
	}
	return out
}

// vagueNames say nothing about a package's job.
var vagueNames = map[string]bool{
	"util": true, "utils": true, "common": true, "helper": true, "helpers": true, "misc": true, "shared": true,
}

// PackageNames refuses package names that name no concern.
func PackageNames(t *Tree) []Violation {
	var out []Violation
	for _, f := range t.Files {
		if base := path.Base(f.Dir); vagueNames[base] || vagueNames[f.Syntax.Name.Name] {
			out = append(out, Violation{f.Path, "a package is named after its job, not " + base})
		}
	}
	return out
}

// PackageDocs wants a package comment in every package that is not tests alone.
func PackageDocs(t *Tree) []Violation {
	documented, first := map[string]bool{}, map[string]*File{}
	var dirs []string
	for _, f := range t.Files {
		if f.Test {
			continue
		}
		if first[f.Dir] == nil {
			first[f.Dir] = f
			dirs = append(dirs, f.Dir)
		}
		if f.Syntax.Doc != nil && strings.TrimSpace(f.Syntax.Doc.Text()) != "" {
			documented[f.Dir] = true
		}
	}
	var out []Violation
	for _, dir := range dirs {
		if !documented[dir] {
			out = append(out, Violation{first[dir].Path, "no file of the package says what it is for"})
		}
	}
	return out
}

// slowTags mark tests that a plain `go test ./...` leaves out.
var slowTags = []string{"integration", "external"}

// processImports are packages whose only use in a test is to start processes or
// terminals.
var processImports = []string{
	"os/exec", "github.com/creack/pty", "github.com/charmbracelet/x/xpty",
	"github.com/rogpeppe/go-internal/testscript", "internal/ptytest",
}

// processCalls are functions that start a process or open a socket, by import path.
// An entry that ends in "*" stands for every name with that prefix.
var processCalls = map[string][]string{
	"os":                {"StartProcess"},
	"syscall":           {"ForkExec", "StartProcess", "Exec", "Socket"},
	"net":               {"Listen*", "Dial*", "FileListener"},
	"net/http":          {"ListenAndServe*", "Serve*"},
	"net/http/httptest": {"NewServer", "NewTLSServer", "NewUnstartedServer"},
	"crypto/tls":        {"Listen", "Dial*"},
}

// Tests that start processes or sockets are left out of the fast run, by a tag. A
// name of net/http that only looks like a server start:
var processCallsExcept = map[string]bool{"net/http.ServeContent": true, "net/http.ServeFile": true, "net/http.ServeMux": true}

// UntaggedProcessTests refuses test files that start processes or open sockets
// without the integration (or external) build tag.
func UntaggedProcessTests(t *Tree) []Violation {
	var out []Violation
	for _, f := range t.Files {
		if !f.Test || f.Tagged(slowTags...) {
			continue
		}
		for _, imp := range f.Imports {
			target, ok := t.inModule(imp.Path)
			if !ok {
				target = imp.Path
			}
			if inAny(target, processImports) {
				out = append(out, Violation{t.at(f, imp.Line), "imports " + target + " without //go:build integration"})
			}
		}
		out = append(out, t.processCallsIn(f)...)
	}
	return out
}

func (t *Tree) processCallsIn(f *File) []Violation {
	local := map[string]string{}
	for _, imp := range f.Imports {
		name := imp.Name
		if name == "" {
			name = path.Base(imp.Path)
		}
		local[name] = imp.Path
	}
	var out []Violation
	ast.Inspect(f.Syntax, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		pkg, ok := sel.X.(*ast.Ident)
		if !ok {
			return true
		}
		name := local[pkg.Name] + "." + sel.Sel.Name
		if matches(processCalls[local[pkg.Name]], sel.Sel.Name) && !processCallsExcept[name] {
			out = append(out, Violation{t.at(f, t.line(sel)), "uses " + name + " without //go:build integration"})
		}
		return true
	})
	return out
}

func matches(patterns []string, name string) bool {
	for _, p := range patterns {
		if prefix, star := strings.CutSuffix(p, "*"); p == name || star && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

var taggedName = map[string]*regexp.Regexp{
	"integration": regexp.MustCompile(`(^|_)integration(_[a-z0-9]+)*_test\.go$`),
	"external":    regexp.MustCompile(`(^|_)external(_[a-z0-9]+)*_test\.go$`),
}

// TaggedTestNames wants the tag of a tagged test in its file name, and the other way
// round.
func TaggedTestNames(t *Tree) []Violation {
	var out []Violation
	for _, f := range t.Files {
		if !f.Test {
			continue
		}
		for _, tag := range slowTags {
			named, tagged := taggedName[tag].MatchString(path.Base(f.Path)), f.Tagged(tag)
			switch {
			case tagged && !named:
				out = append(out, Violation{f.Path, "has the build tag " + tag + ": call it *_" + tag + "_test.go"})
			case named && !tagged:
				out = append(out, Violation{f.Path, "is named like a test with the build tag " + tag + " and has none"})
			}
		}
	}
	return out
}

// CleanedText refuses conversions of computed strings to the types of cleaned text:
// only the cleaning functions may vouch for a string.
func CleanedText(t *Tree) []Violation {
	const home = "internal/safetext"
	var out []Violation
	for _, f := range t.Files {
		name := t.localName(f, t.Module+"/"+home)
		if name == "" || f.Test || f.Dir == home {
			continue
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || sel.Sel.Name != "Line" && sel.Sel.Name != "Block" {
				return true
			}
			pkg, isIdent := sel.X.(*ast.Ident)
			if _, literal := call.Args[0].(*ast.BasicLit); isIdent && pkg.Name == name && !literal {
				out = append(out, Violation{t.at(f, t.line(call)), "clean the text with To" + sel.Sel.Name + " instead of converting it"})
			}
			return true
		})
	}
	return out
}

// localName is the name by which a file refers to a package, "" if it does not.
func (t *Tree) localName(f *File, importPath string) string {
	for _, imp := range f.Imports {
		if imp.Path != importPath {
			continue
		}
		if imp.Name != "" {
			return imp.Name
		}
		return path.Base(importPath)
	}
	return ""
}
