package formview

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/looprig/looprig/harness/form"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/theme"
)

// maxMessageLines bounds how much of the text above the fields is laid out;
// it scrolls with the fields.
const maxMessageLines = 200

// labelShare is the part of the width that labels take.
const labelShare = 3

// View lays the form out in at most h lines of at most w cells, scrolled so that
// the focused field is visible.
func (f *Form) View(w, h int) []string {
	w, h = max(w, 1), max(h, 1)
	if inner := max(w-4, 6); inner != f.width {
		f.width = inner
		f.rebuild()
	}
	faults := f.faults(w, h/2)
	h = max(h-len(faults), 1)
	f.height = h
	body, from, to := f.body(w)
	f.scroll(len(body), from, to, h)
	f.back = min(f.back, f.top)
	return append(faults, f.visible(body, w, h)...)
}

// faults are the lines above everything that say what is wrong with the whole
// answer; they do not scroll away.
func (f *Form) faults(w, most int) []string {
	var out []string
	for _, s := range f.fault {
		for _, l := range cells.Wrap(theme.SymbolBad+" "+s, w) {
			if len(out) < most {
				out = append(out, f.o.Theme.Bad.Render(cells.Cut(l, w)))
			}
		}
	}
	return out
}

// body is all lines, and where the focused field is among them.
func (f *Form) body(w int) (lines []string, from, to int) {
	th := f.o.Theme
	lines = append(lines, f.message(w)...)
	for i, fl := range f.fields {
		if i != f.focus {
			lines = append(lines, fl.summary(th, w))
			if fl.err != "" {
				lines = append(lines, errorLine(th, fl.err, w))
			}
			continue
		}
		from = len(lines)
		lines = append(lines, f.focused(fl, w)...)
		to = len(lines) - 1
	}
	if f.focus == len(f.fields) {
		from, to = len(lines), len(lines)
	}
	lines = append(lines, f.submitLine(w))
	return lines, from, to
}

// message is laid out once per width and theme.
func (f *Form) message(w int) []string {
	if f.head.lines == nil || f.head.width != w || f.head.th != f.o.Theme {
		f.head = head{width: w, th: f.o.Theme, lines: f.layMessage(w)}
	}
	return f.head.lines
}

type head struct {
	width int
	th    *theme.Theme
	lines []string
}

func (f *Form) layMessage(w int) []string {
	th := f.o.Theme
	var out []string
	text := f.o.Message
	if text == "" {
		text = strings.TrimSpace(f.o.Schema.Title + "\n" + f.o.Schema.Description)
	}
	if text != "" {
		for _, l := range safetext.ToBlock(text).Lines() {
			for _, part := range cells.Wrap(string(l), w-2) {
				if f.o.Foreign {
					part = th.Gutter.Render("│") + " " + part
				}
				out = append(out, cells.Cut(part, w))
			}
		}
		if len(out) > maxMessageLines {
			more := fmt.Sprintf("… %d more lines", len(out)-maxMessageLines)
			out = append(out[:maxMessageLines:maxMessageLines], th.Muted.Render(cells.Cut(more, w)))
		}
	}
	if f.o.Note != "" {
		for _, l := range cells.Wrap(f.o.Note, w) {
			out = append(out, th.Muted.Render(l))
		}
	}
	if len(out) > 0 {
		return append(out, "")
	}
	return []string{}
}

func (f *Form) submitLine(w int) string {
	text := "  [ " + f.o.SubmitWord + " ]"
	if f.focus == len(f.fields) {
		return f.o.Theme.Selected.Render(cells.Cut("▌ [ "+f.o.SubmitWord+" ]", w))
	}
	return f.o.Theme.Muted.Render(cells.Cut(text, w))
}

// label is the field's name for people; the star marks what is required.
func (fl *field) label() string {
	s := string(safetext.ToLineN(fl.f.DisplayName(), 256))
	if fl.f.Name == "" && s == "" {
		s = "JSON"
	}
	if fl.f.Required {
		s += " *"
	}
	return s
}

func (fl *field) summary(th *theme.Theme, w int) string {
	lw := max(w/labelShare, 6)
	rule := fl.rule()
	value := fl.shown()
	if value == "" {
		value = th.Muted.Render("–")
	}
	line := "  " + cells.Fit(fl.label(), lw-3) + " " + value
	return cells.Spread(line, th.Muted.Render(cells.Cut(rule, w/labelShare)), w)
}

// shown is the value on one line.
func (fl *field) shown() string {
	if fl.broken {
		return string(safetext.ToLine(fl.text))
	}
	switch fl.f.Kind {
	case form.KindBoolean, form.KindChoice:
		if fl.options[fl.pick].value == nil {
			return ""
		}
		return fl.options[fl.pick].label
	case form.KindMulti:
		labels := make([]string, len(fl.picks))
		for i, p := range fl.picks {
			labels[i] = fl.options[p].label
		}
		return strings.Join(labels, ", ")
	default:
	}
	return string(safetext.ToLine(fl.text))
}

func (f *Form) focused(fl *field, w int) []string {
	th := f.o.Theme
	out := []string{cells.Spread(th.Accent.Render("▌ ")+th.Bold.Render(fl.label()), th.Muted.Render(cells.Cut(fl.rule(), w/2)), w)}
	if fl.f.Description != "" {
		out = append(out, f.describe(string(safetext.ToBlockN(fl.f.Description, 4<<10)), w)...)
	}
	if fl.f.Note != "" {
		for _, l := range cells.Wrap(string(safetext.ToLine(fl.f.Note)), w-2) {
			out = append(out, th.Muted.Render("  "+l))
		}
	}
	out = append(out, fl.draw(w, f.height-len(out)-2, th)...)
	if full := fl.fullLabel(w - 8); full != "" {
		out = append(out, f.describe(full, w)...)
	}
	if fl.err != "" {
		out = append(out, errorLine(th, fl.err, w))
	}
	return append(out, f.suggestLines(w)...)
}

// describe shows a server's text about a field, in the gutter, a few lines of it.
func (f *Form) describe(text string, w int) []string {
	const most = 6
	var out []string
	lines := cells.Wrap(text, w-4)
	for i, l := range lines {
		if i == most {
			l = fmt.Sprintf("… %d more lines", len(lines)-most)
		}
		lead := "  "
		if f.o.Foreign {
			lead = "  " + f.o.Theme.Gutter.Render("│") + " "
		}
		out = append(out, lead+f.o.Theme.Muted.Render(cells.Cut(l, w-4)))
		if i == most {
			break
		}
	}
	return out
}

// fullLabel is the whole label of the option under the cursor, when its row
// could not hold it.
func (fl *field) fullLabel(w int) string {
	at := fl.pick
	if fl.f.Kind == form.KindMulti {
		at = fl.cursor
	}
	if fl.broken || at >= len(fl.options) || cells.Width(fl.options[at].label) <= w {
		return ""
	}
	return fl.options[at].label
}

// draw is the widget's own lines; a choice takes at most most of them.
func (fl *field) draw(w, most int, th *theme.Theme) []string {
	if fl.picking() {
		return fl.drawPick(w, most, th)
	}
	if fl.widget != nil {
		lines := cells.Within(w-2, func(n int) []string {
			view := ""
			fl.guard(func() {
				if n < w-2 { // less than it was made for
					fl.size(n)
					defer fl.size(max(w, 10))
				}
				view = fl.widget.View()
			})
			lines := strings.Split(strings.TrimRight(view, "\n"), "\n")
			for i, l := range lines {
				lines[i] = strings.TrimRight(l, " ")
			}
			return lines
		})
		if !fl.broken {
			for i, l := range lines {
				lines[i] = "  " + cells.Cut(l, w-2)
			}
			return lines
		}
	}
	return []string{cells.Cut("  "+string(safetext.ToLine(fl.text))+th.Accent.Render("▏"), w)}
}

func errorLine(th *theme.Theme, msg string, w int) string {
	return th.Bad.Render(cells.Cut("  "+theme.SymbolBad+" "+msg, w))
}

// rule says, host-written, what fits into the field.
func (fl *field) rule() string {
	f := fl.f
	var parts []string
	switch f.Kind {
	case form.KindText:
		parts = append(parts, word(string(f.Format), "text"), span(intText(f.MinLength), intText(f.MaxLength)))
	case form.KindNumber, form.KindInteger:
		parts = append(parts, string(f.Kind), span(lower(f), upper(f)))
	case form.KindBoolean:
		parts = append(parts, "yes or no")
	case form.KindChoice:
		parts = append(parts, "one of "+strconv.Itoa(len(f.Options)))
	case form.KindMulti:
		parts = append(parts, strconv.Itoa(len(fl.picks))+" of "+word(span(intText(f.MinItems), intText(f.MaxItems)), strconv.Itoa(len(f.Options))))
	case form.KindRaw:
		parts = append(parts, "JSON")
	}
	if f.Default != nil && !fl.touched() && fl.preset == nil {
		parts = append(parts, "default")
	}
	return strings.Join(compactWords(parts), " ")
}

func word(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return string(safetext.ToLineN(s, 64))
}

func compactWords(in []string) []string {
	var out []string
	for _, s := range in {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

func lower(f form.Field) string {
	if f.ExclusiveMinimum != "" {
		return ">" + num(f.ExclusiveMinimum)
	}
	return num(f.Minimum)
}

func upper(f form.Field) string {
	if f.ExclusiveMaximum != "" {
		return "<" + num(f.ExclusiveMaximum)
	}
	return num(f.Maximum)
}

func num(n json.Number) string { return string(safetext.ToLineN(n.String(), 64)) }

func intText(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

func span(low, high string) string {
	switch {
	case low == "" && high == "":
		return ""
	case high == "":
		return "≥ " + strings.TrimPrefix(low, ">")
	case low == "":
		return "≤ " + strings.TrimPrefix(high, "<")
	}
	return low + "–" + high
}
