package list

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/theme"
)

// Entries that begin alike can be told apart however long their notes are.
func TestEntriesThatBeginAlikeAreToldApart(t *testing.T) {
	t.Parallel()
	th, err := theme.Choose(theme.Mono, true, true)
	if err != nil {
		t.Fatal(err)
	}
	var entries []Entry
	for i := range 7 {
		entries = append(entries, Entry{ID: fmt.Sprint(i), Label: fmt.Sprintf("docs demo://resource/static/document/chapter-%d.md", i), Note: "Static document file exposed from the folder of documents"})
	}
	p := NewPicker("resources", entries)
	for _, w := range []int{40, 66, 100} {
		seen := map[string]bool{}
		for _, l := range p.View(th, w, 12) {
			if cells.Width(l) > w {
				t.Errorf("at %d: %q is wider", w, l)
			}
			if l = strings.TrimLeft(ansi.Strip(l), " ▸"); strings.HasPrefix(l, "docs") {
				seen[l] = true
			}
		}
		if len(seen) != len(entries) {
			t.Errorf("at %d, %d of %d rows differ: %v", w, len(seen), len(entries), seen)
		}
	}
}
