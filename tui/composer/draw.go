package composer

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/theme"
)

// View is a drawn composer: the completions that stand above it, its lines, and
// the cursor's place in them (nil when it has none).
type View struct {
	Above  []string
	Lines  []string
	Cursor *tea.Cursor
}

// Draw lays the composer out in w cells.
func (c *Composer) Draw(th *theme.Theme, w int, focused bool) View {
	if c.search != nil {
		hit, _ := c.hit()
		line := "history: " + string(safetext.ToLine(c.search.query)) + "▏ " + string(safetext.ToLine(hit))
		return View{Lines: []string{cells.Fit(th.Accent.Render("? ")+line, w)}}
	}
	inner := max(w-2, 2)
	v := View{Above: c.menu(th, w)}
	lines := cells.Within(inner, c.lines)
	for i, l := range lines {
		lead := "  "
		if i == 0 {
			lead = th.Accent.Render("> ")
		}
		v.Lines = append(v.Lines, cells.Fit(lead+l, w))
	}
	if cur := c.area.Cursor(); cur != nil && focused {
		cur.Y = min(max(cur.Y, 0), len(v.Lines)-1)
		cur.X = min(cells.Column(lines[cur.Y], cur.X)+2, w-1)
		v.Cursor = cur
	}
	return v
}

// lines draws the text area in w cells.
func (c *Composer) lines(w int) []string {
	c.area.SetWidth(w)
	c.area.SetHeight(c.height(w))
	drawn := c.area.View()
	if cur := c.area.Cursor(); cur != nil && cur.Y >= c.area.Height() {
		// The view follows the cursor only once it knows its new lines.
		c.area.SetHeight(c.area.Height())
		drawn = c.area.View()
	}
	return strings.Split(drawn, "\n")
}

// height is how many lines the text needs, at most MaxLines.
func (c *Composer) height(w int) int {
	if c.area.Length() > MaxLines*w {
		return MaxLines
	}
	n := 0
	for line := range strings.SplitSeq(c.area.Value(), "\n") {
		n += cells.Clusters(line)/w + 1
	}
	return min(max(n, 1), MaxLines)
}

func (c *Composer) menu(th *theme.Theme, w int) []string {
	if !c.choosing() {
		return nil
	}
	first := max(0, min(c.pick-maxRows/2, len(c.found)-maxRows))
	var out []string
	for i := first; i < min(first+maxRows, len(c.found)); i++ {
		line := cells.Fit(cells.Spread("  "+c.found[i].Text, th.Muted.Render(cells.Cut(c.found[i].Note, w/2)), w), w)
		if i == c.pick {
			line = th.Selected.Render(cells.Fit(cells.Spread("▸ "+c.found[i].Text, cells.Cut(c.found[i].Note, w/2), w), w))
		}
		out = append(out, line)
	}
	if below := len(c.found) - first - maxRows; below > 0 {
		out = append(out, th.Muted.Render(cells.Cut(fmt.Sprintf("  +%d more", below), w)))
	}
	return out
}
