package cli

import (
	"os"
	"testing"

	"github.com/looprig/looprig/compose/exit"
	"github.com/looprig/looprig/harness/integration"
)

// A result that could not be printed is not a success.
func TestAFullStdoutIsAFailure(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here:", err)
	}
	defer full.Close()
	c := &CLI{Stdout: full, Stderr: os.Stderr, Output: OutputText, Home: t.TempDir()}
	if err := c.LedgerVerify(t.Context(), VerifyOptions{}); err == nil {
		t.Error("ledger verify succeeded")
	}
	if err := c.showBinding(integration.Binding{Name: "b"}, integration.Catalog{}, InspectOptions{}); err == nil {
		t.Error("inspect succeeded")
	}
	var out texts
	c.text(&out)("said")
	if exit.Of(out.failed()) != exit.Internal {
		t.Errorf("a script's text gave %v", out.failed())
	}
}
