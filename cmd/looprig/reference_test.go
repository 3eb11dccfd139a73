package main

//go:generate go test -run TestReference -args -update

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/looprig/looprig/compose/cli"
	"github.com/looprig/looprig/internal/refpage"
)

// TestReference keeps docs/reference/commands.md as the command tree has it.
func TestReference(t *testing.T) {
	t.Parallel()
	refpage.Check(t, filepath.Join("..", ".."), "commands.md", reference())
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
