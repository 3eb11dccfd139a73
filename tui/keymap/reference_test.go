package keymap

//go:generate go test -run TestReference -args -update

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/looprig/looprig/internal/refpage"
)

// TestReference keeps docs/reference/keymap.md as the registry has it.
func TestReference(t *testing.T) {
	t.Parallel()
	refpage.Check(t, filepath.Join("..", ".."), "keymap.md", reference())
}

func reference() string {
	var b strings.Builder
	b.WriteString("# Keys\n\nGenerated from the registry of actions by `make generate`. Every action can be bound to other\n" +
		"keys by its id, in `config.yaml`: `ui: {keys: {binding.reconnect: [f8]}}`.\n")
	for _, c := range Contexts() {
		rows := ""
		for _, a := range All() {
			if a.Context == c {
				rows += row(a)
			}
		}
		if rows != "" {
			fmt.Fprintf(&b, "\n## %s\n\n| keys | does | id |\n|---|---|---|\n%s", c.Title(), rows)
		}
	}
	return b.String()
}

func row(a Action) string {
	keys := make([]string, len(a.Keys))
	for i, k := range a.Keys {
		keys[i] = "`" + strings.ReplaceAll(k, "|", `\|`) + "`"
	}
	title := a.Title
	if a.Disabled != "" {
		title += " — not yet: " + a.Disabled
	}
	return fmt.Sprintf("| %s | %s | `%s` |\n", strings.Join(keys, " "), title, a.ID)
}
