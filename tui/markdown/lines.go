package markdown

import (
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/theme"
)

// Lines lays the text out in lines of at most w cells.
func (d Doc) Lines(th *theme.Theme, w int) []string {
	w = max(w, 1)
	out := make([]string, 0, len(d.rows))
	for _, r := range d.rows {
		switch r.kind {
		case rowBlank:
			out = append(out, th.Muted.Render(cells.Cut(r.first, w)))
		case rowRule:
			out = append(out, cells.Cut(r.first, w)+th.Rule.Render(cells.Rule(w-cells.Width(r.first))))
		default:
			out = append(out, layRow(r, th, w)...)
		}
	}
	return out
}

// piece is a run of one style without white space or line break.
type piece struct {
	text  string
	width int
	style style
	space bool // white space stood before it
	brk   bool // a line break stood before it
}

func layRow(r row, th *theme.Theme, w int) []string {
	first, rest := fitPrefix(r.first, w), fitPrefix(r.rest, w)
	room := max(w-max(cells.Width(first), cells.Width(rest)), 1)
	var lines []string
	var line strings.Builder
	used := 0
	flush := func() {
		prefix := rest
		if len(lines) == 0 {
			prefix = first
		}
		lines = append(lines, th.Muted.Render(prefix)+line.String())
		line.Reset()
		used = 0
	}
	for _, p := range pieces(r, room) {
		gap := 0
		if p.space && used > 0 {
			gap = 1
		}
		if p.brk || used > 0 && used+gap+p.width > room && (p.space || p.width >= room) {
			flush()
			gap = 0
		}
		if gap > 0 {
			line.WriteByte(' ')
		}
		if p.text != "" {
			line.WriteString(paint(th, r.kind, p.style, p.text))
		}
		used += gap + p.width
	}
	flush()
	for i, l := range lines {
		lines[i] = cells.Cut(l, w)
	}
	return lines
}

func fitPrefix(p string, w int) string { return cells.Cut(p, w/2) }

func pieces(r row, room int) []piece {
	if r.kind == rowCode {
		var out []piece
		for i, l := range hard(joined(r.spans), room) {
			out = append(out, piece{text: l, width: cells.Width(l), style: styleCode, brk: i > 0})
		}
		return out
	}
	var out []piece
	space, brk := false, false
	for _, s := range r.spans {
		for i, part := range strings.Split(s.text, "\n") {
			if i > 0 {
				brk, space = true, false
			}
			for j, word := range strings.Split(part, " ") {
				if j > 0 {
					space = true
				}
				if word == "" {
					continue
				}
				for k, chunk := range hard(word, room) {
					out = append(out, piece{text: chunk, width: cells.Width(chunk), style: s.style, space: space && k == 0, brk: brk || k > 0})
					space, brk = false, false
				}
			}
		}
	}
	return out
}

func joined(spans []span) string {
	if len(spans) == 1 {
		return spans[0].text
	}
	var b strings.Builder
	for _, s := range spans {
		b.WriteString(s.text)
	}
	return b.String()
}

// hard breaks a text without regard to white space.
func hard(s string, room int) []string {
	if cells.Width(s) <= room {
		return []string{s}
	}
	return cells.Break(s, room)
}

func paint(th *theme.Theme, kind rowKind, st style, s string) string {
	if kind == rowHeading {
		return th.Heading.Render(s)
	}
	base := th.Text
	switch {
	case st&styleCode != 0:
		base = th.Code
	case st&styleLink != 0:
		base = th.Link
	case st&styleQuote != 0:
		base = th.Quote
	}
	if st&styleStrong != 0 {
		base = base.Bold(true)
	}
	if st&styleEmphasis != 0 {
		base = base.Italic(true)
	}
	if isPlain(base) {
		return s
	}
	return base.Render(s)
}

var plainStyle = lipgloss.NewStyle()

func isPlain(s lipgloss.Style) bool {
	return s.GetForeground() == plainStyle.GetForeground() && !s.GetBold() && !s.GetItalic() && !s.GetUnderline()
}
