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

// Within draws with a widget that counts clusters, whatever the terminal counts:
// it is given less room until what it draws has w cells at most. Otherwise the end
// of what is written would be out of sight.
func Within(w int, draw func(w int) []string) []string {
	const least, tries = 8, 8
	lines := draw(w)
	for room, n := w, 0; n < tries && room > least; n++ {
		widest := 0
		for _, l := range lines {
			widest = max(widest, Width(l))
		}
		if widest <= w {
			break
		}
		room = max(min(room-1, room*w/widest), least)
		lines = draw(room)
	}
	return lines
}

// Clusters is the width of a line that is counted by clusters, as widgets do.
func Clusters(line string) int { return ansi.GraphemeWidth.StringWidth(line) }

// Column is where a column stands in a line that was counted by clusters.
func Column(line string, x int) int {
	return Width(ansi.GraphemeWidth.Truncate(ansi.Strip(line), x, ""))
}
