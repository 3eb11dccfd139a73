package cli

import (
	"strings"
	"testing"

	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/integration"
)

func TestWithheldToolIsNoUnknownTool(t *testing.T) {
	t.Parallel()
	cat := integration.Catalog{Items: []integration.Item{
		{Kind: "tool", Name: "add", ModelName: "mcp__fx__add"},
		{Kind: "tool", Name: "bad", ModelName: "mcp__fx__bad", Withheld: "its schema refers to itself"},
		{Kind: "prompt", Name: "hello"},
	}}
	for _, name := range []string{"add", "hello", "nothing"} {
		if err := withheldIn(cat, "fx", name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"bad", "mcp__fx__bad"} {
		err := withheldIn(cat, "fx", name)
		if err == nil || exit.Of(err) != exit.Usage || !strings.Contains(err.Error(), "withheld: its schema refers to itself") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
