package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/compose/headless"
	"github.com/looprig/looprig/harness/tool"
)

// What an unknown name is answered with can be taken over as it stands.
func TestACallTakesTheNameThatSaysItsBindingAsWell(t *testing.T) {
	t.Parallel()
	def := func(binding, name, model string) tool.Definition {
		return tool.Definition{Name: model, Identity: tool.Identity{Source: "mcp", Binding: binding, Name: name}}
	}
	set, err := tool.NewSet([]tool.Definition{
		def("fx", "add", "mcp__fx__add"), def("fx", "a b", "mcp__fx__a_b_1234abcd"), def("fx", "mcp:fx:add", "mcp__fx__mcp_fx_add_99999999"),
		def("other", "only", "mcp__other__only"),
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"add":                   "fx add",
		"a b":                   "fx a b",
		"mcp__fx__add":          "mcp:fx:add",
		"mcp:fx:a b":            "mcp:fx:a b",
		"mcp__fx__a_b_1234abcd": "mcp:fx:a b",
		"mcp:fx:add":            "fx mcp:fx:add", // a tool's own name comes first
		"mcp:other:only":        "fx mcp:other:only",
		"only":                  "fx only",
		"nothing":               "fx nothing",
	} {
		if got := spellingOf(set, "fx", name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestAnUnknownServerIsToldFromItsNeighbour(t *testing.T) {
	t.Parallel()
	f := &config.MCPFile{Path: "mcp.json", Servers: []config.Server{{Name: "files"}, {Name: "docs"}}}
	_, err := lookup(f, "filez")
	if err == nil || !strings.Contains(err.Error(), `has no server "filez" (did you mean "files"?); it has: files, docs`) {
		t.Error(err)
	}
}

func TestACallWithoutAResultPrintsNone(t *testing.T) {
	t.Parallel()
	for want, res := range map[string]*headless.Result{
		"":     {Outcome: tool.InvalidArguments},
		"\n":   {Outcome: tool.OK},
		"no\n": {Outcome: tool.ToolError, Text: "no"},
	} {
		path := filepath.Join(t.TempDir(), "stdout")
		f, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		c := &CLI{Stdout: f, Output: OutputText}
		err = c.printResult(t.Context(), res, nil, nil)
		if got, rerr := os.ReadFile(path); err != nil || rerr != nil || string(got) != want {
			t.Errorf("%s: %q, %v, %v", res.Outcome, got, err, rerr)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
