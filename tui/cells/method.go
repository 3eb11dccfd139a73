package cells

import (
	"strings"
	"sync/atomic"

	"github.com/charmbracelet/x/ansi"
)

// clusters reports that the terminal counts a cluster of characters (a family, a
// hand with a skin tone) as one. There is one terminal for a process.
var clusters atomic.Bool

// CountClusters says how the terminal counts cells, and reports whether that is
// another way than before. Text has to be laid out by the same count that the
// renderer draws it by: a line that is wider when it is drawn covers what stands
// beside it, and what is at its end is not seen. Until a terminal says that it
// knows clusters, the renderer adds up their characters.
func CountClusters(on bool) (changed bool) { return clusters.Swap(on) != on }

func method() ansi.Method {
	if clusters.Load() {
		return ansi.GraphemeWidth
	}
	return ansi.WcWidth
}

// truncate leaves out what is beyond w cells. The library asks first whether a
// line is too wide, and counts clusters for that whatever it counts by; with
// enough behind it every line is.
func truncate(s string, w int, tail string) string {
	if Width(s) <= w {
		return s
	}
	return method().Truncate(s+strings.Repeat(" ", w+1), w, tail)
}
