package archtest

import (
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
)

const moduleRoot = "../.."

// moduleTree parses the module once for all tests.
var moduleTree = sync.OnceValues(func() (*Tree, error) { return Load(os.DirFS(moduleRoot)) })

func realTree(t *testing.T) *Tree {
	t.Helper()
	tree, err := moduleTree()
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.Files) < 10 {
		t.Fatalf("only %d files were found", len(tree.Files))
	}
	return tree
}

var rules = []struct {
	name  string
	check func(*Tree) []Violation
}{
	{"InsideImports", InsideImports},
	{"OutsideImports", OutsideImports},
	{"FileLength", FileLength},
	{"PackageNames", PackageNames},
	{"PackageDocs", PackageDocs},
	{"UntaggedProcessTests", UntaggedProcessTests},
	{"TaggedTestNames", TaggedTestNames},
	{"CleanedText", CleanedText},
}

// The module keeps every rule.
func TestModule(t *testing.T) {
	t.Parallel()
	tree := realTree(t)
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			t.Parallel()
			for _, v := range rule.check(tree) {
				t.Error(v)
			}
		})
	}
}

// Every row of the tables is written the way the checks read it.
func TestTables(t *testing.T) {
	t.Parallel()
	for root, allowed := range inside {
		for _, p := range slices.Concat(allowed, []string{root}) {
			if p != strings.Trim(p, "/") || strings.Contains(p, "looprig/looprig") {
				t.Errorf("row %s: %q is no directory of the module", root, p)
			}
		}
	}
	for _, root := range outside[sdkModule] {
		if root == "mcpadapter" || root == "compose" {
			t.Errorf("the SDK is open to all of %s", root)
		}
	}
}

// breaches is one small tree for every way to break a rule, and its benign twin.
var breaches = []struct {
	name string
	rule string
	file string
	src  string
	want string // part of the violation; "" for a twin that must pass
}{
	{"harness to adapter", "InsideImports", "harness/tool/a.go", `package tool; import _ "example.org/m/mcpadapter"`, "harness must not import mcpadapter"},
	{"harness to tui", "InsideImports", "harness/session/a.go", `package session; import _ "example.org/m/tui/theme"`, "must not import tui/theme"},
	{"harness to compose", "InsideImports", "harness/session/a_windows.go", `package session; import _ "example.org/m/compose"`, "must not import compose"},
	{"harness to harness", "InsideImports", "harness/session/a.go", `package session; import _ "example.org/m/harness/tool"`, ""},
	{"tui to adapter", "InsideImports", "tui/a.go", `package tui; import _ "example.org/m/mcpadapter/catalog"`, "tui must not import mcpadapter/catalog"},
	{"tui to compose", "InsideImports", "tui/status/a.go", `package status; import _ "example.org/m/compose/config"`, "must not import compose/config"},
	{"tui tests to adapter", "InsideImports", "tui/a_test.go", `package tui; import _ "example.org/m/mcpadapter"`, "must not import mcpadapter"},
	{"tui to harness", "InsideImports", "tui/a.go", `package tui; import _ "example.org/m/harness/event"`, ""},
	{"adapter to journal", "InsideImports", "mcpadapter/a.go", `package mcpadapter; import _ "example.org/m/harness/journal"`, "must not import harness/journal"},
	{"adapter to session", "InsideImports", "mcpadapter/client/a.go", `package client; import _ "example.org/m/harness/session"`, "must not import harness/session"},
	{"adapter to ledger", "InsideImports", "mcpadapter/a.go", `package mcpadapter; import _ "example.org/m/harness/ledger"`, "must not import harness/ledger"},
	{"command to adapter", "InsideImports", "cmd/looprig/a.go", `package main; import _ "example.org/m/mcpadapter"`, "cmd/looprig must not import mcpadapter"},
	{"safetext to anything", "InsideImports", "internal/safetext/a.go", `package safetext; import _ "example.org/m/harness/tool"`, "must not import harness/tool"},
	{"off the map", "InsideImports", "extra/a.go", `package extra; import _ "example.org/m/harness/tool"`, "extra is no part of the map"},

	{"sdk in the adapter", "OutsideImports", "mcpadapter/client/a.go", `package client; import _ "github.com/modelcontextprotocol/go-sdk/mcp"`, "go-sdk may be imported by"},
	{"sdk in a command", "OutsideImports", "cmd/looprig/a.go", `package main; import _ "github.com/modelcontextprotocol/go-sdk/mcp"`, "go-sdk may be imported by"},
	{"sdk in a test", "OutsideImports", "compose/a_test.go", `package compose; import _ "github.com/modelcontextprotocol/go-sdk/mcp"`, "go-sdk may be imported by"},
	{"sdk behind a tag", "OutsideImports", "harness/tool/a.go", "//go:build plan9\n\npackage tool; import _ \"github.com/modelcontextprotocol/go-sdk/mcp\"", "go-sdk may be imported by"},
	{"sdk in its place", "OutsideImports", "mcpadapter/internal/protocol/a.go", `package protocol; import _ "github.com/modelcontextprotocol/go-sdk/mcp"`, ""},
	{"sdk in a transport", "OutsideImports", "mcpadapter/transport/stdio/a.go", `package stdio; import _ "github.com/modelcontextprotocol/go-sdk/mcp"`, ""},
	{"schema library", "OutsideImports", "harness/form/a.go", `package form; import _ "github.com/santhosh-tekuri/jsonschema/v6"`, "may be imported by harness/schema only"},
	{"jq", "OutsideImports", "harness/session/a.go", `package session; import _ "github.com/itchyny/gojq"`, "may be imported by harness/policy, compose/headless only"},
	{"sqlite", "OutsideImports", "harness/ledger/a.go", `package ledger; import _ "modernc.org/sqlite"`, "may be imported by harness/journal/sqlite only"},
	{"bubbletea", "OutsideImports", "compose/a.go", `package compose; import _ "charm.land/bubbletea/v2"`, "may be imported by tui only"},
	{"huh", "OutsideImports", "harness/form/a.go", `package form; import _ "charm.land/huh/v2"`, "may be imported by tui only"},
	{"lipgloss", "OutsideImports", "cmd/looprig/a.go", `package main; import _ "charm.land/lipgloss/v2"`, "may be imported by tui only"},
	{"goldmark", "OutsideImports", "compose/a.go", `package compose; import _ "github.com/yuin/goldmark/ast"`, "may be imported by tui only"},
	{"cobra", "OutsideImports", "compose/a.go", `package compose; import _ "github.com/spf13/cobra"`, "may be imported by cmd/looprig only"},
	{"fang", "OutsideImports", "internal/tools/x/a.go", `package main; import _ "charm.land/fang/v2"`, "may be imported by cmd/looprig only"},
	{"unknown module", "OutsideImports", "harness/tool/a.go", `package tool; import _ "example.com/left-pad"`, "example.com/left-pad is not in the dependency table"},
	{"test library in a test", "OutsideImports", "harness/tool/a_test.go", `package tool; import _ "pgregory.net/rapid"`, ""},
	{"test library outside a test", "OutsideImports", "harness/tool/a.go", `package tool; import _ "pgregory.net/rapid"`, "not in the dependency table"},

	{"long file", "FileLength", "harness/tool/a.go", "package tool\n" + strings.Repeat("//\n", 600), "601 lines"},
	{"long generated file", "FileLength", "harness/tool/a.go", "// Code generated by x; DO NOT EDIT.\n\npackage tool\n" + strings.Repeat("//\n", 600), ""},
	{"vague name", "PackageNames", "harness/util/a.go", "package util", "not util"},
	{"no package comment", "PackageDocs", "harness/tool/a.go", "package tool", "no file of the package says"},
	{"package comment", "PackageDocs", "harness/tool/a.go", "// Package tool is documented.\npackage tool", ""},

	{"untagged exec", "UntaggedProcessTests", "harness/tool/a_test.go", `package tool; import "os/exec"; var _ = exec.Command`, "imports os/exec"},
	{"untagged pty", "UntaggedProcessTests", "tui/a_test.go", `package tui; import _ "github.com/creack/pty"`, "imports github.com/creack/pty"},
	{"untagged terminal driver", "UntaggedProcessTests", "tui/a_test.go", `package tui; import _ "example.org/m/internal/ptytest"`, "imports internal/ptytest"},
	{"untagged listener", "UntaggedProcessTests", "compose/a_test.go", `package compose; import "net"; var _, _ = net.Listen("tcp", "")`, "uses net.Listen"},
	{"untagged listener, renamed", "UntaggedProcessTests", "compose/a_test.go", `package compose; import x "net"; var _ x.ListenConfig`, "uses net.ListenConfig"},
	{"untagged process", "UntaggedProcessTests", "compose/a_test.go", `package compose; import "os"; var _ = os.StartProcess`, "uses os.StartProcess"},
	{"untagged test server", "UntaggedProcessTests", "compose/a_test.go", `package compose; import "net/http/httptest"; var _ = httptest.NewServer`, "uses net/http/httptest.NewServer"},
	{"wrong tag", "UntaggedProcessTests", "compose/a_test.go", "//go:build linux || integration\n\npackage compose; import _ \"os/exec\"", "imports os/exec"},
	{"excluded system is no tag", "UntaggedProcessTests", "compose/a_test.go", "//go:build !windows\n\npackage compose; import _ \"os/exec\"", "imports os/exec"},
	{"tagged exec", "UntaggedProcessTests", "compose/a_integration_test.go", "//go:build integration && linux\n\npackage compose; import _ \"os/exec\"", ""},
	{"recorder", "UntaggedProcessTests", "compose/a_test.go", `package compose; import ("net"; "net/http/httptest"); var _ = httptest.NewRecorder; var _, _ = net.Pipe()`, ""},
	{"tag without the name", "TaggedTestNames", "compose/a_test.go", "//go:build integration\n\npackage compose", "call it *_integration_test.go"},
	{"name without the tag", "TaggedTestNames", "compose/a_integration_test.go", "package compose", "has none"},
	{"external tag without the name", "TaggedTestNames", "compose/a_test.go", "//go:build external\n\npackage compose", "call it *_external_test.go"},
	{"tag and name", "TaggedTestNames", "compose/a_integration_linux_test.go", "//go:build integration && !windows\n\npackage compose", ""},

	{"converted text", "CleanedText", "tui/a.go", `package tui; import "example.org/m/internal/safetext"; var s string; var _ = safetext.Line(s)`, "with ToLine"},
	{"converted block, renamed", "CleanedText", "tui/a.go", `package tui; import st "example.org/m/internal/safetext"; var s string; var _ = st.Block("a" + s)`, "with ToBlock"},
	{"literal and cleaned", "CleanedText", "tui/a.go", `package tui; import "example.org/m/internal/safetext"; var s string; var _ = safetext.Line("ok") + safetext.ToLine(s)`, ""},
}

// Every rule fails on a deliberate breach and passes its twin.
func TestRulesFailOnBreaches(t *testing.T) {
	t.Parallel()
	broken := map[string]bool{}
	for _, b := range breaches {
		broken[b.rule] = broken[b.rule] || b.want != ""
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			tree, err := Load(fstest.MapFS{
				"go.mod": {Data: []byte("module example.org/m\n")},
				b.file:   {Data: []byte(b.src)},
			})
			if err != nil {
				t.Fatal(err)
			}
			got := checkOf(b.rule)(tree)
			switch {
			case b.want == "" && len(got) > 0:
				t.Errorf("refused: %v", got)
			case b.want != "" && (len(got) != 1 || !strings.Contains(got[0].String(), b.want)):
				t.Errorf("got %v, want one violation with %q", got, b.want)
			case b.want != "" && !strings.HasPrefix(got[0].Where, b.file):
				t.Errorf("at %s, want %s", got[0].Where, b.file)
			}
		})
	}
	for _, rule := range rules {
		if !broken[rule.name] {
			t.Errorf("no breach shows that %s can fail", rule.name)
		}
	}
}

func checkOf(name string) func(*Tree) []Violation {
	for _, rule := range rules {
		if rule.name == name {
			return rule.check
		}
	}
	return nil
}

func TestLoadLeavesOut(t *testing.T) {
	t.Parallel()
	src := &fstest.MapFile{Data: []byte("package p\n")}
	tree, err := Load(fstest.MapFS{
		"go.mod": {Data: []byte("module example.org/m\n")}, "p/a.go": src, "p/testdata/b.go": src, ".cache/c.go": src,
		"_x/d.go": src, "node_modules/e.go": src, "nested/go.mod": {Data: []byte("module n\n")}, "nested/f.go": src,
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.Files) != 1 || tree.Files[0].Path != "p/a.go" || tree.Module != "example.org/m" {
		t.Errorf("loaded %d files of %s", len(tree.Files), tree.Module)
	}
}
