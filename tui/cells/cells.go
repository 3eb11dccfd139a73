// Package cells fits text into terminal cells: widths, cutting, padding and
// wrapping of lines that may carry styles. Input is text that is already clean
// (internal/safetext) or that this program wrote; the package does not clean. It
// must not import anything of the interface.
package cells

import "strings"

// Ellipsis marks a cut line.
const Ellipsis = "…"

// MaxWidth bounds the width of anything that is laid out, in cells. A terminal
// that claims more is drawn at this width.
const MaxWidth = 1000

// Width is the number of cells of a line.
func Width(s string) int {
	if plain(s) {
		return len(s)
	}
	return method().StringWidth(s)
}

// plain reports printable ASCII, whose width is its length.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// Cut shortens a line to at most w cells, ending it with an ellipsis when
// something was left out.
func Cut(s string, w int) string {
	if w <= 0 {
		return ""
	}
	if Width(s) <= w {
		return s
	}
	return truncate(s, w, Ellipsis)
}

// Fit makes a line exactly w cells wide: cut, or padded with spaces.
func Fit(s string, w int) string {
	if w <= 0 {
		return ""
	}
	n := Width(s)
	if n > w {
		s = truncate(s, w, Ellipsis)
		n = method().StringWidth(s)
	}
	if n < w {
		s += Spaces(w - n)
	}
	return s
}

// Spread puts left and right at the ends of a line of w cells. When both do not
// fit, right is kept and left is cut.
func Spread(left, right string, w int) string {
	rw := Width(right)
	if rw >= w {
		return Fit(right, w)
	}
	if rw == 0 {
		return Fit(left, w)
	}
	return Fit(left, w-rw-1) + " " + right
}

// Wrap breaks text at white space into lines of at most w cells; a word that is
// longer is broken. Line breaks in the text are kept. It always returns at
// least one line.
func Wrap(text string, w int) []string {
	w = max(w, 1)
	if len(text) <= w && plain(text) {
		return []string{text}
	}
	return within(method().Wrap(text, w, ""), w)
}

// within splits wrapped text. A character that is wider than the lines are has no
// room in any of them and is left out, visibly.
func within(wrapped string, w int) []string {
	lines := strings.Split(wrapped, "\n")
	for i, l := range lines {
		if Width(l) > w {
			lines[i] = truncate(l, w, Ellipsis)
		}
	}
	return lines
}

const manySpaces = "                                                                                "

// Spaces returns n spaces, at most MaxWidth.
func Spaces(n int) string {
	if n <= 0 {
		return ""
	}
	if n <= len(manySpaces) {
		return manySpaces[:n]
	}
	return strings.Repeat(" ", min(n, MaxWidth))
}

// Rule is a horizontal line of w cells.
func Rule(w int) string {
	if w <= 0 {
		return ""
	}
	return strings.Repeat("─", min(w, MaxWidth))
}

// Block makes exactly h lines of exactly w cells from lines.
func Block(lines []string, w, h int) []string {
	out := make([]string, h)
	for i := range out {
		if i < len(lines) {
			out[i] = Fit(lines[i], w)
		} else {
			out[i] = Spaces(w)
		}
	}
	return out
}

// Overlay draws the lines of a box over a frame, its top left corner at x, y.
// Both frame and box keep their widths.
func Overlay(frame, box []string, x, y int) []string {
	out := append([]string(nil), frame...)
	for i, b := range box {
		row := y + i
		if row < 0 || row >= len(out) {
			continue
		}
		w := Width(out[row])
		left := truncate(out[row], x, "")
		if n := Width(left); n < x {
			left += Spaces(x - n)
		}
		rest := ""
		if end := x + Width(b); end < w {
			rest = method().TruncateLeft(out[row], end, "")
			if n := Width(rest); n < w-end {
				rest = Spaces(w-end-n) + rest
			}
		}
		out[row] = left + "\x1b[m" + b + "\x1b[m" + rest
	}
	return out
}

// Break cuts text into lines of at most w cells without regard to white space.
// Line breaks in the text are kept.
func Break(text string, w int) []string {
	w = max(w, 1)
	return within(method().Hardwrap(text, w, true), w)
}

// Part is what a line has from one cell to another. (The library's own Cut takes
// the beginning twice where it counts characters.)
func Part(s string, from, to int) string {
	return method().TruncateLeft(truncate(s, max(to, 0), ""), from, "")
}
