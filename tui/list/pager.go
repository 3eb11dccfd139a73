package list

import (
	"fmt"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/keymap"
	"github.com/looprig/looprig/tui/theme"
)

// Pager shows lines that are laid out for a width by whoever owns them. It is
// not safe for concurrent use.
type Pager struct {
	top   int
	total int
	page  int
}

// Key scrolls. It reports whether the pager was closed.
func (p *Pager) Key(k tea.KeyPressMsg, keys *keymap.Map) (closed bool) {
	id, _ := keys.Match(k, keymap.List)
	switch id {
	case keymap.ListClose:
		return true
	case keymap.ListUp:
		p.Scroll(-1)
	case keymap.ListDown:
		p.Scroll(1)
	case keymap.ListPgUp:
		p.Scroll(-p.page)
	case keymap.ListPgDn:
		p.Scroll(p.page)
	default:
		p.letter(k.String())
	}
	return false
}

func (p *Pager) letter(k string) {
	switch k {
	case "k":
		p.Scroll(-1)
	case "j":
		p.Scroll(1)
	case "space":
		p.Scroll(p.page)
	case "g", "home":
		p.top = 0
	case "G", "end":
		p.top = p.total
	}
}

// Scroll moves by lines.
func (p *Pager) Scroll(n int) { p.top = min(max(p.top+n, 0), max(p.total-1, 0)) }

// View shows h of the lines, the last of them saying where it is when not all
// fit.
func (p *Pager) View(th *theme.Theme, lines []string, w, h int) []string {
	h = max(h, 1)
	p.total = len(lines)
	if len(lines) <= h {
		p.top, p.page = 0, h
		return lines
	}
	p.page = max(h-1, 1)
	p.top = max(min(p.top, len(lines)-p.page), 0)
	out := append([]string(nil), lines[p.top:p.top+p.page]...)
	if h > 1 {
		where := fmt.Sprintf("lines %d–%d of %d · j/k, pgup/pgdn, g/G", p.top+1, p.top+p.page, len(lines))
		out = append(out, th.Muted.Render(cells.Cut(where, w)))
	}
	return out
}
