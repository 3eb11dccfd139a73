package main

import (
	"fmt"
	"html"
	"image/color"
	"strings"

	"github.com/charmbracelet/x/vt"
)

// Attribute bits of a cell, as the terminal emulator numbers them.
const (
	attrBold    = 1 << 0
	attrFaint   = 1 << 1
	attrItalic  = 1 << 2
	attrReverse = 1 << 5
	attrStrike  = 1 << 7
)

// Measures of a picture, in pixels.
const (
	cellWidth, cellHeight = 8.43, 16
	fontSize              = 14
	baseline              = 12.5
	margin                = 10
)

var (
	defaultFg = color.RGBA{0xd6, 0xd8, 0xe0, 0xff}
	defaultBg = color.RGBA{0x16, 0x18, 0x21, 0xff}
)

// screen is a copy of what a terminal shows.
type screen struct {
	width  int
	rows   [][]cell
	cursor *position // nil when hidden
}

type position struct{ x, y int }

// cell is one character with everything that decides its look; comparable, so that
// equal neighbours are drawn together.
type cell struct {
	text   string
	width  int
	fg, bg color.RGBA
	attrs  uint8
	under  bool
}

func copyScreen(emu *vt.Emulator) screen {
	s := screen{width: emu.Width()}
	if at := emu.CursorPosition(); !emu.CursorHidden() {
		s.cursor = &position{at.X, at.Y}
	}
	for y := range emu.Height() {
		var row []cell
		for x := 0; x < s.width; {
			c := cell{text: " ", width: 1, fg: defaultFg, bg: defaultBg}
			if src := emu.CellAt(x, y); src != nil && src.Width > 0 {
				st := src.Style
				c = cell{src.Content, src.Width, rgba(st.Fg, defaultFg), rgba(st.Bg, defaultBg), st.Attrs, st.Underline != 0}
			}
			if c.attrs&attrReverse != 0 {
				c.fg, c.bg = c.bg, c.fg
			}
			row = append(row, c)
			x += c.width
		}
		s.rows = append(s.rows, row)
	}
	return s
}

func rgba(c color.Color, fallback color.RGBA) color.RGBA {
	if c == nil {
		return fallback
	}
	return color.RGBAModel.Convert(c).(color.RGBA)
}

// drawSVG draws the screen, one element for a run of cells that look alike.
func drawSVG(s screen) string {
	var b strings.Builder
	w, h := float64(s.width)*cellWidth+2*margin, len(s.rows)*cellHeight+2*margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" viewBox="0 0 %.0f %d" role="img">`+"\n", w, h, w, h)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" rx="6" fill="%s"/>`+"\n", hex(defaultBg))
	fmt.Fprintf(&b, `<g font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="%d" xml:space="preserve">`+"\n", fontSize)
	for y, row := range s.rows {
		drawRow(&b, y, row)
	}
	if s.cursor != nil {
		fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s" opacity="0.5"/>`+"\n",
			left(s.cursor.x), top(s.cursor.y), cellWidth, cellHeight, hex(defaultFg))
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

func drawRow(b *strings.Builder, y int, row []cell) {
	x := 0
	for i := 0; i < len(row); {
		run := row[i]
		n, columns, text := i, 0, ""
		for n < len(row) && alike(row[n], run) {
			columns += row[n].width
			text += row[n].text
			n++
		}
		drawRun(b, x, y, columns, run, text)
		i, x = n, x+columns
	}
}

func alike(a, b cell) bool {
	a.text, a.width, b.text, b.width = "", 0, "", 0
	return a == b
}

func drawRun(b *strings.Builder, x, y, columns int, look cell, text string) {
	width := float64(columns) * cellWidth
	if look.bg != defaultBg {
		fmt.Fprintf(b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`, left(x), top(y), width, cellHeight, hex(look.bg))
	}
	if strings.TrimSpace(text) != "" {
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" textLength="%.1f" fill="%s"%s>%s</text>`,
			left(x), float64(top(y))+baseline, width, hex(look.fg), look.attributes(), html.EscapeString(text))
		b.WriteByte('\n')
	}
}

func (c cell) attributes() string {
	var s string
	if c.attrs&attrBold != 0 {
		s += ` font-weight="bold"`
	}
	if c.attrs&attrItalic != 0 {
		s += ` font-style="italic"`
	}
	if c.attrs&attrFaint != 0 {
		s += ` opacity="0.6"`
	}
	switch {
	case c.under:
		s += ` text-decoration="underline"`
	case c.attrs&attrStrike != 0:
		s += ` text-decoration="line-through"`
	}
	return s
}

func left(x int) float64 { return margin + float64(x)*cellWidth }
func top(y int) int      { return margin + y*cellHeight }

func hex(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }
