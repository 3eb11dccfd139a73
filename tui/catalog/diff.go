package catalog

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/cells"
)

const (
	// maxDiff is the longest text, in lines, that is compared line by line.
	maxDiff = 600
	// around is how many unchanged lines are shown beside a change.
	around = 2
)

// The words for what became of an item; each begins with its symbol.
const (
	added   = "+ new"
	changed = "~ changed"
	removed = "− removed"
)

// change is what became of one item.
type change struct {
	op       string
	old, now integration.Item
}

func key(it integration.Item) string { return it.Kind + "\x00" + it.Name }

// compare lists what changed from one generation to the next: what there is now
// in its order, then what is gone.
func compare(old, now *integration.Catalog) []change {
	before := map[string]integration.Item{}
	for _, it := range old.Items {
		before[key(it)] = it
	}
	var out []change
	for _, it := range now.Items {
		was, there := before[key(it)]
		delete(before, key(it))
		switch {
		case !there:
			out = append(out, change{op: added, now: it})
		case !equal(was, it):
			out = append(out, change{op: changed, old: was, now: it})
		}
	}
	for _, it := range old.Items {
		if _, gone := before[key(it)]; gone {
			out = append(out, change{op: removed, old: it})
			delete(before, key(it))
		}
	}
	return out
}

// equal compares items as data; a digest that both have decides alone.
func equal(a, b integration.Item) bool {
	if a.Digest != "" && b.Digest != "" {
		return a.Digest == b.Digest && a.Withheld == b.Withheld
	}
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// diffs are the changes between the generations that are shown, found once.
func (s *Screen) diffs(d Data) []change {
	if d.Before == nil || d.Catalog == nil {
		return nil
	}
	c := &s.changes
	if c.of == nil || c.of.Generation != d.Catalog.Generation || c.with.Generation != d.Before.Generation || c.of.Digest != d.Catalog.Digest || c.of.Binding != d.Catalog.Binding {
		c.of, c.with, c.list = d.Catalog, d.Before, compare(d.Before, d.Catalog)
	}
	return c.list
}

// compared are the items that changed.
func (s *Screen) compared(d Data) []integration.Item {
	var out []integration.Item
	for _, c := range s.diffs(d) {
		if c.op == removed {
			out = append(out, c.old)
		} else {
			out = append(out, c.now)
		}
	}
	return out
}

func (s *Screen) changeOf(it integration.Item, d Data) (change, uint64) {
	for _, c := range s.diffs(d) {
		if c.op == removed && key(c.old) == key(it) || c.op != removed && key(c.now) == key(it) {
			return c, d.Before.Generation
		}
	}
	return change{}, 0
}

// compared shows what changed in an item.
func (p *printer) compared(c change, before uint64) {
	switch c.op {
	case added:
		p.field("since", fmt.Sprintf("not in gen %d", before))
		p.texts(c.now)
		return
	case removed:
		p.field("since", fmt.Sprintf("gone; it was in gen %d", before))
		p.texts(c.old)
		return
	}
	for _, part := range []struct{ title, old, now string }{
		{"TITLE", c.old.Title, c.now.Title},
		{"DESCRIPTION", c.old.Description, c.now.Description},
		{"TYPE", c.old.MIME, c.now.MIME},
		{"WITHHELD", c.old.Withheld, c.now.Withheld},
		{"CLAIMS", hints(c.old.Hints), hints(c.now.Hints)},
		{"ARGUMENTS", arguments(c.old), arguments(c.now)},
		{"INPUT SCHEMA", pretty(c.old.InputSchema), pretty(c.now.InputSchema)},
		{"OUTPUT SCHEMA", pretty(c.old.OutputSchema), pretty(c.now.OutputSchema)},
		{"DIGEST", c.old.Digest, c.now.Digest},
	} {
		if part.old != part.now {
			p.heading(part.title)
			p.diff(part.old, part.now)
		}
	}
}

func arguments(it integration.Item) string {
	var out []string
	for _, a := range it.Arguments {
		line := a.Name
		if a.Required {
			line += " *"
		}
		out = append(out, strings.TrimSpace(line+"  "+a.Description))
	}
	return strings.Join(out, "\n")
}

// diff shows two texts line by line: what is gone, what is new, and a little of
// what stands around.
func (p *printer) diff(old, now string) {
	a, b := clean(old), clean(now)
	if len(a) > maxDiff || len(b) > maxDiff {
		p.out = append(p.out, cells.Cut(fmt.Sprintf("too long to compare: %d lines became %d", len(a), len(b)), p.w))
		return
	}
	lines := edits(a, b)
	near := make([]bool, len(lines))
	for i, l := range lines {
		if l.sign != ' ' {
			for j := max(i-around, 0); j <= min(i+around, len(lines)-1); j++ {
				near[j] = true
			}
		}
	}
	skipped := false
	for i, l := range lines {
		if !near[i] {
			if !skipped {
				p.out = append(p.out, p.th.Muted.Render("│ …"))
			}
			skipped = true
			continue
		}
		skipped = false
		p.edit(l)
	}
}

func (p *printer) edit(l edit) {
	style := p.th.Text
	switch l.sign {
	case '+':
		style = p.th.Good
	case '-':
		style = p.th.Bad
	}
	for _, part := range cells.Wrap(l.text, max(p.w-4, 1)) {
		p.out = append(p.out, p.th.Gutter.Render("│")+" "+style.Render(string(l.sign)+" "+part))
	}
}

func clean(s string) []string {
	if s == "" {
		return nil
	}
	lines := safetext.ToBlockN(s, maxText).Lines()
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = string(l)
	}
	return out
}

// edit is a line of a comparison: ' ', '-' or '+'.
type edit struct {
	sign rune
	text string
}

// edits is the shortest way from a to b, by the longest common subsequence.
func edits(a, b []string) []edit {
	n, m := len(a), len(b)
	common := make([][]int, n+1)
	for i := range common {
		common[i] = make([]int, m+1)
	}
	for i := n - 1; i >= 0; i-- {
		for j := m - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var out []edit
	i, j := 0, 0
	for i < n && j < m {
		switch {
		case a[i] == b[j]:
			out = append(out, edit{' ', a[i]})
			i, j = i+1, j+1
		case common[i+1][j] >= common[i][j+1]:
			out = append(out, edit{'-', a[i]})
			i++
		default:
			out = append(out, edit{'+', b[j]})
			j++
		}
	}
	for ; i < n; i++ {
		out = append(out, edit{'-', a[i]})
	}
	for ; j < m; j++ {
		out = append(out, edit{'+', b[j]})
	}
	return out
}
