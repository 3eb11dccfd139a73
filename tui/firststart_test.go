package tui

import (
	"strings"
	"testing"

	"github.com/looprig/looprig/harness/integration"
)

func TestTheFirstStepsNameAServerThatIsBound(t *testing.T) {
	t.Parallel()
	for want, bindings := range map[string][]integration.Binding{
		"`/call SERVER TOOL` calls":  nil,
		"`/call SERVER TOOL` calls ": {{Name: "demo", Kind: "stdio"}},
		"`/call demo add` calls":     {{Name: "demo", Kind: "builtin"}},
		"`/call try-1 add` calls":    {{Name: "files", Kind: "stdio"}, {Name: "try-1", Kind: "builtin"}},
	} {
		if got := firstSteps(bindings); !strings.Contains(got, want) {
			t.Errorf("%v: %s", bindings, got)
		}
	}
}
