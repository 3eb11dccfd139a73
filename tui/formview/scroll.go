package formview

import (
	"fmt"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/harness/form"
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/keymap"
)

// marked is the least height in which rows say how much there is beyond them.
const marked = 5

// scrollKey looks at what is above the focused field, and comes back; any other
// key shows the field again. A field that has pages of its own keeps the keys
// for pages.
func (f *Form) scrollKey(k tea.KeyPressMsg, id keymap.ID) bool {
	if s := k.String(); (s == "pgup" || s == "pgdown") && f.focus < len(f.fields) && f.fields[f.focus].paged() {
		return false
	}
	page := max(f.height-2, 1)
	switch id {
	case keymap.FormUp:
		f.back = min(f.back+page, f.top)
	case keymap.FormDown:
		f.back = max(f.back-page, 0)
	default:
		return false
	}
	return true
}

// paged reports a field whose own rows do not all fit.
func (fl *field) paged() bool {
	return fl.f.Kind == form.KindRaw || fl.picking() && fl.rows < len(fl.options)
}

// scroll keeps the lines from..to in view, and a row above and below them free
// for saying how much more there is.
func (f *Form) scroll(total, from, to, h int) {
	room := h
	if h >= marked && to < total-1 {
		room--
	}
	if f.focus == 0 && to < room {
		from = 0
	}
	if to > f.top+room-1 {
		f.top = to - room + 1
	}
	if h >= marked && from > 0 {
		from--
	}
	if from < f.top {
		f.top = from
	}
	f.top = max(min(f.top, total-h), 0)
}

// visible is the part of the body that is shown. What is below the field is
// reached by going to it, so that no key is named for it.
func (f *Form) visible(body []string, w, h int) []string {
	top := f.top - f.back
	out := append([]string(nil), body[top:min(top+h, len(body))]...)
	if h < marked {
		return out
	}
	say := func(i int, format string, n int, key keymap.ID) {
		text := fmt.Sprintf(format, n)
		if a, ok := f.o.Keys.Action(key); ok && a.Key() != "" && (key == keymap.FormUp || f.back > 0) {
			text += " · " + a.Key()
		}
		out[i] = f.o.Theme.Muted.Render(cells.Cut(text, w))
	}
	if top > 0 {
		say(0, "↑ %d more lines", top+1, keymap.FormUp)
	}
	if below := len(body) - top - h; below > 0 {
		say(len(out)-1, "↓ %d more lines", below+1, keymap.FormDown)
	}
	return out
}
