package tui

import (
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/status"
)

// The sizes at which the layout changes.
const (
	wideWidth  = 110
	tinyWidth  = 60
	tinyHeight = 15
	minWidth   = 8
	minHeight  = 3
	maxHeight  = 400
)

// mode is how much is shown at once.
type mode uint8

const (
	modeTiny   mode = iota // one pane, and how many gates are open
	modeNarrow             // header strip and ticker
	modeWide               // status pane
)

// rect is an area of the screen in cells.
type rect struct{ x, y, w, h int }

// needs is what the parts ask for, in lines.
type needs struct{ composer, above, queued int }

// areas is where everything goes. An area without height is not drawn.
type areas struct {
	mode                          mode
	w, h                          int
	header, ticker, topRule       rect
	transcript, side              rect
	queued, above, rule, composer rect
	footer                        rect
}

// layout divides a screen. It is pure, every area lies within the screen, and no
// two of them overlap.
func layout(w, h int, n needs) areas {
	w, h = min(max(w, minWidth), cells.MaxWidth), min(max(h, minHeight), maxHeight)
	a := areas{w: w, h: h, mode: modeNarrow}
	switch {
	case w < tinyWidth || h < tinyHeight:
		a.mode = modeTiny
	case w >= wideWidth:
		a.mode = modeWide
	}
	top, bottom := 0, h
	take := func(lines int) rect {
		lines = min(lines, max(bottom-top-1, 0))
		r := rect{y: top, w: w, h: lines}
		top += lines
		return r
	}
	drop := func(lines int) rect {
		lines = min(lines, max(bottom-top-1, 0))
		bottom -= lines
		return rect{y: bottom, w: w, h: lines}
	}
	a.header = take(1)
	if a.mode != modeTiny {
		a.footer = drop(1)
	}
	a.composer = drop(min(max(n.composer, 1), max(h/3, 1)))
	if a.mode != modeTiny {
		a.rule = drop(1)
		a.ticker = take(tickerLines(a.mode))
		a.topRule = take(1)
	}
	a.above = drop(min(n.above, max((bottom-top)/2, 0)))
	a.queued = drop(min(n.queued, max((bottom-top)/3, 0)))
	a.transcript = rect{y: top, w: w, h: max(bottom-top, 0)}
	if a.mode == modeWide {
		a.transcript.w = w - status.Width - 2
		a.side = rect{x: w - status.Width, y: top, w: status.Width, h: a.transcript.h}
	}
	return a
}

func tickerLines(m mode) int {
	if m == modeNarrow {
		return 1
	}
	return 0
}
