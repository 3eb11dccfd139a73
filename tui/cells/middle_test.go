package cells

import (
	"strings"
	"testing"
)

func TestCutMiddleKeepsBothEnds(t *testing.T) {
	t.Parallel()
	const uri = "demo://resource/static/document/architecture.md"
	for w, want := range map[int]string{
		0: "", 5: "demo…", 20: "demo://…hitecture.md", len(uri): uri, len(uri) - 1: "demo://resource/st…ic/document/architecture.md",
	} {
		if got := CutMiddle(uri, w); got != want {
			t.Errorf("%d: %q, want %q", w, got, want)
		}
	}
	for _, s := range []string{strings.Repeat("漢字", 20), "a" + strings.Repeat("漢字", 20) + "b", strings.Repeat("e\u0301", 40), strings.Repeat("👩‍👩‍👧", 12)} {
		for w := range Width(s) + 2 {
			got := CutMiddle(s, w)
			if least := min(w, Width(s)) - 12; Width(got) > w || w >= 8 && Width(got) < least { // a cluster may have no room at either end
				t.Errorf("%q at %d: %q has %d cells", s, w, got, Width(got))
			}
			if w >= 8 && w < Width(s) && strings.Count(got, Ellipsis) != 1 {
				t.Errorf("%q at %d: %q", s, w, got)
			}
		}
	}
}
