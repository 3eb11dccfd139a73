package session

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/tool"
)

// share is the part of a result that goes to a model: all of it, or as much as
// the caps let through. The whole is in the journal whatever the share is.
type share struct {
	blocks []content.Block
	// structured is set for a record of an operator's call alone; a model's own
	// call carries it as text, where there is nothing else.
	structured json.RawMessage
	withheld   event.Withheld
	kinds      []content.Kind // of the blocks that are withheld, each once
}

// shareOf applies the caps. They count text alone: a picture takes one block,
// and what it is made of is bounded by its source.
func shareOf(r tool.Result, l Limits, record bool) share {
	s := share{}
	blocks, structured := r.Content, r.Structured
	if len(blocks) == 0 && len(structured) > 0 && (!record || len(structured) > l.ModelTextBytes) {
		blocks, structured = []content.Block{content.Text(string(structured))}, nil
	}
	left := l.ModelTextBytes
	for _, b := range blocks {
		w := weight(b)
		switch {
		case len(s.blocks) >= l.ModelBlocks:
			s.withhold(b, w)
		case w <= left:
			s.blocks = append(s.blocks, b)
			left -= w
		default:
			s.begin(b, w, left)
			left = 0
		}
	}
	if record && len(structured) > 0 {
		if len(structured) <= left {
			s.structured = structured
		} else {
			s.withheld.Bytes += int64(len(structured))
		}
	}
	return s
}

func (s *share) withhold(b content.Block, weight int) {
	s.withheld.Blocks++
	s.withheld.Bytes += int64(weight)
	if !slices.Contains(s.kinds, b.Kind) {
		s.kinds = append(s.kinds, b.Kind)
	}
}

// begin gives as much of a block's text as there is room for, in whole
// characters; a block without any is withheld.
func (s *share) begin(b content.Block, weight, room int) {
	n := room - (weight - len(b.Text))
	for n > 0 && !utf8.RuneStart(b.Text[n]) {
		n--
	}
	if n <= 0 {
		s.withhold(b, weight)
		return
	}
	s.withheld.Bytes += int64(len(b.Text) - n)
	b.Text = strings.Clone(b.Text[:n]) // the history must not hold the rest
	s.blocks = append(s.blocks, b)
}

// weight is the text of a block, in bytes.
func weight(b content.Block) int {
	n := len(b.Text) + len(b.JSON) + len(b.URI) + len(b.Name) + len(b.Title) + len(b.Description)
	for _, x := range b.Blocks {
		n += weight(x)
	}
	return n
}

// note says what was withheld and where it is, or nothing.
func (s share) note(call string) string {
	w := s.withheld
	if w == (event.Withheld{}) {
		return ""
	}
	var parts []string
	if w.Bytes > 0 {
		parts = append(parts, size(w.Bytes)+" more")
	}
	if w.Blocks > 0 {
		kinds := make([]string, len(s.kinds))
		for i, k := range s.kinds {
			kinds[i] = string(k)
		}
		parts = append(parts, fmt.Sprintf("%d of the blocks left out (%s)", w.Blocks, strings.Join(kinds, ", ")))
	}
	return "… " + strings.Join(parts, ", ") + ", kept as " + call + ": the operator can read the whole result. Ask for less, or for another part of it."
}

// size is a number of bytes for people.
func size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", (n+1<<9)>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
