// Command fuzzshort runs every fuzz target of the module for a short while.
//
//	fuzzshort [-total 60s] [-each 5s] [DIR]
//
// The time for fuzzing is shared out: each target gets at most -each, and at least a
// second, so that all of them together take about -total, building not counted. It
// stops at the first target that finds something, with the exit code of the go
// command. Targets in files with build constraints are left out.
//
// The command imports the standard library alone.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"strings"
	"time"
)

// minEach is the shortest time that is worth starting a fuzzer for.
const minEach = time.Second

// target is one fuzz function.
type target struct {
	dir  string // slash-separated, relative to the root
	name string
}

func main() {
	total := flag.Duration("total", time.Minute, "time for all targets together")
	each := flag.Duration("each", 5*time.Second, "most time for one target")
	flag.Parse()
	root := "."
	if flag.NArg() > 0 {
		root = flag.Arg(0)
	}
	if err := run(root, *total, *each); err != nil {
		fmt.Fprintln(os.Stderr, "fuzzshort:", err)
		code := 1
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() > 0 {
			code = exit.ExitCode()
		}
		os.Exit(code)
	}
}

func run(root string, total, each time.Duration) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	targets, err := find(os.DirFS(root))
	if err != nil {
		return err
	}
	share := shareOf(total, each, len(targets))
	fmt.Printf("%d fuzz targets, %v each\n", len(targets), share)
	for _, t := range targets {
		cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-fuzz", "^"+t.name+"$", "-fuzztime", share.String(), "./"+t.dir) //nolint:gosec // names from the source tree
		var out bytes.Buffer
		cmd.Dir, cmd.Stdout, cmd.Stderr = root, io.MultiWriter(os.Stdout, &out), os.Stderr
		if err := cmd.Run(); err != nil && !outOfTime(out.String()) {
			return fmt.Errorf("%s in %s: %w", t.name, t.dir, err)
		}
	}
	return nil
}

// outOfTime recognises the go tool's own end of time in the middle of an input,
// which it reports as a failure of the target. A target that fails has an input
// that it failed on, or says why in lines of its own.
func outOfTime(output string) bool {
	_, failure, failed := strings.Cut(output, "--- FAIL: ")
	if !failed || strings.Contains(output, "Failing input") || strings.Contains(output, "panic:") {
		return false
	}
	lines := strings.Split(strings.TrimSpace(failure), "\n")
	return len(lines) >= 3 && strings.TrimSpace(lines[1]) == "context deadline exceeded" && lines[2] == "FAIL"
}

// shareOf is the time for each of n targets.
func shareOf(total, each time.Duration, n int) time.Duration {
	if n == 0 {
		return each
	}
	return max(minEach, min(each, total/time.Duration(n)))
}

// find lists the fuzz targets below a module's root, in the order of their files.
func find(fsys fs.FS) ([]target, error) {
	var targets []target
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if p != "." && (name[0] == '.' || name[0] == '_' || name == "testdata" || name == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		found, err := inFile(fsys, p)
		targets = append(targets, found...)
		return err
	})
	return targets, err
}

func inFile(fsys fs.FS, p string) ([]target, error) {
	src, err := fs.ReadFile(fsys, p)
	if err != nil {
		return nil, err
	}
	f, err := parser.ParseFile(token.NewFileSet(), p, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, group := range f.Comments {
		if group.Pos() < f.Package && constraint.IsGoBuild(group.List[0].Text) {
			return nil, nil
		}
	}
	var targets []target
	for _, decl := range f.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Fuzz") {
			targets = append(targets, target{path.Dir(p), fn.Name.Name})
		}
	}
	return targets, nil
}
