package main

//go:generate go test -run TestReference -args -update

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/looprig/looprig/compose/cli"
)

var update = flag.Bool("update", false, "write the reference page")

// TestReference keeps docs/reference/commands.md as the command tree has it.
func TestReference(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "reference", "commands.md")
	want := reference()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s is stale (%v): run make generate", path, err)
	}
}

func reference() string {
	var b strings.Builder
	b.WriteString("# Commands\n\nGenerated from the command tree by `make generate`.\n")
	c := &command{CLI: &cli.CLI{}}
	describe(&b, c.root())
	return b.String()
}

func describe(b *strings.Builder, cmd *cobra.Command) {
	fmt.Fprintf(b, "\n## %s\n\n%s.\n", cmd.CommandPath(), strings.TrimSuffix(cmd.Short, "."))
	if cmd.Runnable() {
		fmt.Fprintf(b, "\n    %s\n", cmd.UseLine())
	}
	fmt.Fprintf(b, "\nFor example:\n\n    %s\n", strings.ReplaceAll(strings.TrimSpace(cmd.Example), "\n", "\n  "))
	rows := ""
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		rows += fmt.Sprintf("| `%s` | %s |\n", strings.TrimSpace(name+" "+value), strings.ReplaceAll(usage, "|", `\|`))
	})
	if rows != "" {
		fmt.Fprintf(b, "\n| flag | meaning |\n|---|---|\n%s", rows)
	}
	for _, sub := range cmd.Commands() {
		if sub.Name() != "help" && sub.Name() != "completion" {
			describe(b, sub)
		}
	}
}
