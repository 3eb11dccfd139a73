package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/looprig/looprig/compose/cli"
)

// Every command says what it does and shows how it is used.
func TestEveryCommandHasAnExample(t *testing.T) {
	t.Parallel()
	c := &command{CLI: &cli.CLI{}}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Short == "" || !strings.Contains(cmd.Example, "looprig") {
			t.Errorf("%s has no summary or no example", cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(c.root())
}
