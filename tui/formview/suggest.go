package formview

import (
	"fmt"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/harness/form"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/keymap"
)

const (
	// maxSuggestions is how many values are kept, suggestRows how many are seen.
	maxSuggestions = 100
	suggestRows    = 5
)

// suggestions are values that a server offers for what is being typed. None is
// chosen until the person moves to one.
type suggestions struct {
	field, text string
	values      []string
	total       int // what the server says that there are
	at          int // -1 chooses none
}

// Typing is the text field that has the focus and what is written in it; ok is
// false when suggestions have no place.
func (f *Form) Typing() (field, text string, ok bool) {
	if f.focus >= len(f.fields) {
		return "", "", false
	}
	fl := f.fields[f.focus]
	return fl.f.Name, fl.text, fl.f.Kind == form.KindText && !fl.broken
}

// Texts are the text fields that hold something, by name.
func (f *Form) Texts() map[string]string {
	out := map[string]string{}
	for _, fl := range f.fields {
		if fl.f.Kind == form.KindText && !fl.broken && fl.text != "" {
			out[fl.f.Name] = fl.text
		}
	}
	return out
}

// Suggest offers values for a field, asked for when it held text; when it holds
// something else by now they are dropped. Values are raw: one that would not be
// seen as it is sent is not offered.
func (f *Form) Suggest(field, text string, values []string, total int) {
	name, now, ok := f.Typing()
	if !ok || name != field || now != text {
		return
	}
	s := suggestions{field: field, text: text, at: -1}
	for _, v := range values {
		if len(s.values) < maxSuggestions && v != "" && v != text && string(safetext.ToLine(v)) == v {
			s.values = append(s.values, v)
		}
	}
	s.total = max(total, len(s.values))
	f.offer = s
}

// offered are the suggestions for what the focused field holds now.
func (f *Form) offered() *suggestions {
	if name, text, ok := f.Typing(); ok && len(f.offer.values) > 0 && f.offer.field == name && f.offer.text == text {
		return &f.offer
	}
	return nil
}

// suggestKey moves among suggestions and takes one. It reports whether the key
// was its own.
func (f *Form) suggestKey(k tea.KeyPressMsg, id keymap.ID) bool {
	s := f.offered()
	if s == nil {
		return false
	}
	switch key := k.String(); {
	case key == "down":
		s.at = min(s.at+1, len(s.values)-1)
	case s.at < 0:
		return false
	case key == "up":
		s.at--
	case id == keymap.FormCancel:
		s.at = -1
	case key == "enter":
		f.takeSuggestion(s)
	case id == keymap.FormNext:
		f.takeSuggestion(s)
		return false // and on to the next field
	default:
		return false
	}
	return true
}

func (f *Form) takeSuggestion(s *suggestions) {
	fl := f.fields[f.focus]
	fl.text, fl.err = s.values[s.at], ""
	f.offer = suggestions{}
	fl.open(f.width, f.o.Theme)
}

// suggestLines draws the suggestions below their field, in the gutter of what a
// server wrote.
func (f *Form) suggestLines(w int) []string {
	s := f.offered()
	if s == nil {
		return nil
	}
	th := f.o.Theme
	first := max(0, min(s.at-suggestRows/2, len(s.values)-suggestRows))
	last := min(first+suggestRows, len(s.values))
	var out []string
	for i := first; i < last; i++ {
		lead := "  " + th.Gutter.Render("│") + " "
		text := cells.Cut(s.values[i], w-6)
		if i == s.at {
			out = append(out, lead+th.Accent.Render("▸ "+text))
			continue
		}
		out = append(out, lead+"  "+text)
	}
	if n := s.total - (last - first); n > 0 {
		out = append(out, "  "+th.Muted.Render(cells.Cut(fmt.Sprintf("  +%d more", n), w-4)))
	}
	return out
}
