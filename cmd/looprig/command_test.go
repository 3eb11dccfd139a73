package main

import (
	"strings"
	"testing"

	"github.com/looprig/looprig/compose/cli"
	"github.com/looprig/looprig/compose/exit"
)

func TestUnknownSubcommandsAreUsage(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"mcp lst":       `looprig mcp has no command "lst" (did you mean "list"?)`,
		"ledger x":      `looprig ledger has no command "x"`,
		"sessions shwo": `(did you mean "show"?)`,
		"cal demo add":  `looprig has no command "cal" (did you mean "call"?)`,
		"mcp add":       "looprig mcp add needs NAME: NAME is missing",
	} {
		c := &command{CLI: &cli.CLI{}}
		root := c.root()
		root.SilenceErrors, root.SilenceUsage = true, true
		root.SetArgs(strings.Fields(args))
		err := root.Execute()
		if err == nil || !strings.Contains(err.Error(), want) || c.code(err) != exit.Usage {
			t.Errorf("%s: %v, want %s", args, err, want)
		}
	}
}

func TestJSONIsAskedForBeforeFlagsAreRead(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]bool{
		"call x --output json --bad": true, "call --output=json": true, "call --output text": false, "call --output": false, "json": false,
	} {
		if got := asksForJSON(strings.Fields(args)); got != want {
			t.Errorf("%s: %t", args, got)
		}
	}
}
