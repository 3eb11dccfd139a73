package cells

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// Not parallel: the count is the terminal's, and so the process's.
func TestLinesAreAsWideAsTheRendererDrawsThem(t *testing.T) {
	texts := []string{
		strings.Repeat("👨‍👩‍👧", 40) + " end",
		strings.Repeat("👍🏽", 40) + " end",
		strings.Repeat("❤️", 40) + " end",
		strings.Repeat("🇩🇪", 40) + " end",
		strings.Repeat("é世", 30) + " end",
	}
	defer CountClusters(false)
	for _, clusters := range []bool{false, true} {
		CountClusters(clusters)
		drawn := ansi.WcWidth
		if clusters {
			drawn = ansi.GraphemeWidth
		}
		for _, text := range texts {
			for _, w := range []int{20, 79} {
				if n := drawn.StringWidth(Fit(text, w)); n != w {
					t.Errorf("clusters %v: %.12s… is fitted into %d cells and drawn in %d", clusters, text, w, n)
				}
				for _, l := range append(Wrap(text, w), Break(text, w)...) {
					if n := drawn.StringWidth(l); n > w {
						t.Errorf("clusters %v: a line of %.12s… is wrapped at %d cells and drawn in %d", clusters, text, w, n)
					}
				}
				for _, l := range Overlay([]string{Fit(text, w)}, []string{"│ box │"}, 5, 0) {
					if n := drawn.StringWidth(l); n != w {
						t.Errorf("clusters %v: a box over %.12s… makes %d cells of %d", clusters, text, n, w)
					}
				}
			}
			if all := strings.Join(Wrap(text, 20), ""); !strings.HasSuffix(all, "end") {
				t.Errorf("clusters %v: the end of %.12s… is missing", clusters, text)
			}
		}
	}
}
