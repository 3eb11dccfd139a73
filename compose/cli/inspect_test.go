package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/looprig/looprig/harness/integration"
)

// What was left out of a catalog is told where the catalog is shown.
func TestInspectTellsWhatWasLeftOut(t *testing.T) {
	t.Parallel()
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := integration.Binding{Name: "b", Warnings: []string{"a tool's name is over the limit\nforged"}, Tolerances: []string{"an undeclared change"}}
	if err := (&CLI{Stdout: f}).showBinding(b, integration.Catalog{}, InspectOptions{}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"  warning: a tool's name is over the limit", "  tolerated: an undeclared change\n"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%q is not in %q", want, got)
		}
	}
	if strings.Contains(string(got), "\nforged") {
		t.Errorf("a warning took two lines: %q", got)
	}
}
