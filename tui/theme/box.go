package theme

import (
	"github.com/looprig/looprig/tui/cells"
)

// Box frames lines: title in the upper edge, hint in the lower one. The result
// is exactly w cells wide and len(lines)+2 lines high. Title and hint must be
// clean.
func (t *Theme) Box(title, hint string, lines []string, w int) []string {
	w = max(w, 4)
	inner := w - 4
	out := make([]string, 0, len(lines)+2)
	out = append(out, t.edge("╭", "╮", t.Bold.Render(cells.Cut(title, w-6)), w))
	side := t.Rule.Render("│")
	for _, l := range lines {
		out = append(out, side+" "+cells.Fit(l, inner)+" "+side)
	}
	return append(out, t.edge("╰", "╯", t.Muted.Render(cells.Cut(hint, w-6)), w))
}

func (t *Theme) edge(left, right, text string, w int) string {
	n := cells.Width(text)
	if n == 0 || w < 8 {
		return t.Rule.Render(left + cells.Rule(w-2) + right)
	}
	return t.Rule.Render(left+"─") + " " + text + " " + t.Rule.Render(cells.Rule(w-5-n)+right)
}
