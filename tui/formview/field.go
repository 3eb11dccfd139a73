package formview

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/huh/v2"
	"github.com/looprig/looprig/harness/form"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/theme"
)

// maxRows is how many options of a multi choice are visible at once.
const maxRows = 8

// field is one field with what the person did to it.
type field struct {
	f   form.Field
	err string

	// preset is a value that was set before the form was opened.
	preset json.RawMessage

	text, initial string // texts, numbers and raw JSON
	options       []option
	pick, first   int   // of a single choice
	picks, start  []int // of a multi choice
	cursor        int   // row of a multi choice, which huh forgets when it is built anew
	rows          int   // options of a single choice that were visible last

	widget huh.Field // built while the field has the focus
	broken bool      // the widget panicked: the field is plain text now
}

// option is one choice; a nil value is "leave unset".
type option struct {
	label string
	value json.RawMessage
}

func newField(f form.Field, prefill form.Values) *field {
	fl := &field{f: f, preset: prefill[f.Name]}
	shown := f.Default
	if fl.preset != nil {
		shown = fl.preset
	}
	switch f.Kind {
	case form.KindBoolean:
		fl.options = []option{{"yes", json.RawMessage("true")}, {"no", json.RawMessage("false")}}
		fl.single(shown)
	case form.KindChoice:
		fl.options = listed(f.Options)
		fl.single(shown)
	case form.KindMulti:
		fl.options = listed(f.Options)
		fl.several(shown)
	default:
		fl.text = textOf(f.Kind, shown)
		fl.initial = fl.text
	}
	return fl
}

// listed makes labels clean and different from each other.
func listed(in []form.Option) []option {
	out := make([]option, len(in))
	seen := map[string]int{}
	for i, o := range in {
		label := o.Label
		if label == "" {
			label = o.Title
		}
		if label == "" {
			label = textOf(form.KindText, o.Value)
		}
		label = string(safetext.ToLine(label))
		if label == "" {
			label = `""`
		}
		seen[label]++
		if n := seen[label]; n > 1 {
			label = fmt.Sprintf("%s (%d)", label, n)
		}
		out[i] = option{label: label, value: o.Value}
	}
	return out
}

// single prepares a single choice. Without a default there is a first row that
// chooses nothing, because a select always has a row selected.
func (fl *field) single(shown json.RawMessage) {
	if fl.f.Nullable && !slices.ContainsFunc(fl.options, func(o option) bool { return string(o.value) == "null" }) {
		fl.options = append(fl.options, option{"null", json.RawMessage("null")})
	}
	if fl.f.Default == nil {
		word := "leave unset"
		if fl.f.Required {
			word = "choose one"
		}
		fl.options = append([]option{{label: "‹" + word + "›"}}, fl.options...)
	}
	for i, o := range fl.options {
		if o.value != nil && same(o.value, shown) {
			fl.pick = i
		}
	}
	fl.first = fl.pick
}

func (fl *field) several(shown json.RawMessage) {
	var values []json.RawMessage
	if shown != nil {
		_ = json.Unmarshal(shown, &values) // anything but an array selects nothing
	}
	for i, o := range fl.options {
		if slices.ContainsFunc(values, func(v json.RawMessage) bool { return same(o.value, v) }) {
			fl.picks = append(fl.picks, i)
		}
	}
	fl.start = slices.Clone(fl.picks)
}

// same compares two JSON values by their compact text.
func same(a, b json.RawMessage) bool {
	if a == nil || b == nil {
		return false
	}
	var x, y bytes.Buffer
	if json.Compact(&x, a) != nil || json.Compact(&y, b) != nil {
		return false
	}
	return bytes.Equal(x.Bytes(), y.Bytes())
}

// textOf is the text to edit for a value: a string's content, or JSON as it is.
func textOf(k form.Kind, v json.RawMessage) string {
	if v == nil {
		return ""
	}
	var s string
	if k == form.KindText && json.Unmarshal(v, &s) == nil {
		return string(safetext.ToLine(s))
	}
	if k == form.KindRaw {
		var buf bytes.Buffer
		if json.Indent(&buf, v, "", "  ") == nil {
			return string(safetext.ToBlock(buf.String()))
		}
		return string(safetext.ToBlock(string(v)))
	}
	return string(safetext.ToLine(string(v)))
}

func (fl *field) multiline() bool { return fl.f.Kind == form.KindRaw && !fl.broken }

// singleLine reports that up and down are free to change fields.
func (fl *field) singleLine() bool {
	switch fl.f.Kind {
	case form.KindText, form.KindNumber, form.KindInteger:
		return true
	default:
	}
	return fl.broken
}

// touched reports whether the person changed the field.
func (fl *field) touched() bool {
	if fl.broken {
		return fl.text != fl.initial
	}
	switch fl.f.Kind {
	case form.KindBoolean, form.KindChoice:
		return fl.pick != fl.first
	case form.KindMulti:
		return !slices.Equal(fl.picks, fl.start)
	default:
	}
	return fl.text != fl.initial
}

// json is the field's value; set is false for a field that nobody set, which is
// then sent by its default or not at all.
func (fl *field) json(s form.Schema) (v json.RawMessage, set bool, err error) {
	if !fl.touched() {
		if fl.preset == nil && fl.f.Kind == form.KindMulti && fl.f.Required && fl.f.Default == nil {
			return json.RawMessage("[]"), true, nil
		}
		return fl.preset, fl.preset != nil, nil
	}
	if fl.broken {
		return json.RawMessage(fl.text), true, nil
	}
	switch fl.f.Kind {
	case form.KindBoolean, form.KindChoice:
		v := fl.options[fl.pick].value
		return v, v != nil, nil
	case form.KindMulti:
		if len(fl.picks) == 0 && !fl.f.Required && fl.f.Default == nil {
			return nil, false, nil
		}
		return fl.array(), true, nil
	default:
	}
	if fl.text == "" && fl.f.Default == nil {
		return nil, false, nil
	}
	if fl.text == "" && fl.f.Kind == form.KindText {
		return json.RawMessage(`""`), true, nil
	}
	v, err = s.ParseText(fl.f, fl.text)
	return v, err == nil, err
}

func (fl *field) array() json.RawMessage {
	out := []byte{'['}
	for i, p := range fl.picks {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, fl.options[p].value...)
	}
	return append(out, ']')
}

// reset goes back to what the form was opened with.
func (fl *field) reset(w int, th *theme.Theme) {
	fl.text, fl.pick, fl.picks, fl.err = fl.initial, fl.first, slices.Clone(fl.start), ""
	if fl.f.Default == nil {
		fl.preset = nil
		fl.text, fl.initial, fl.picks, fl.start = "", "", nil, nil
		if len(fl.options) > 0 && fl.options[0].value == nil {
			fl.pick, fl.first = 0, 0
		}
	}
	fl.open(w, th)
}

// key gives a key press to the widget.
func (fl *field) key(k tea.KeyPressMsg) {
	switch {
	case fl.broken:
		fl.plainKey(k)
		return
	case fl.picking():
		fl.pickKey(k)
		return
	}
	fl.track(k)
	fl.guard(func() { fl.widget.Update(k) })
	fl.err = ""
}

// track follows the cursor of a multi choice.
func (fl *field) track(k tea.KeyPressMsg) {
	switch k.String() {
	case "up", "k":
		fl.cursor = max(fl.cursor-1, 0)
	case "down", "j":
		fl.cursor = max(min(fl.cursor+1, len(fl.options)-1), 0)
	case "home", "g":
		fl.cursor = 0
	case "end", "G":
		fl.cursor = max(len(fl.options)-1, 0)
	}
}

// paste inserts a text; characters that cannot be shown are written out, so that
// what is shown is what is sent.
func (fl *field) paste(s string) {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	if fl.broken {
		fl.text += string(safetext.ToLine(s))
		return
	}
	if fl.picking() {
		return
	}
	fl.guard(func() { fl.widget.Update(tea.PasteMsg{Content: string(safetext.ToBlockN(s, pastedBytes))}) })
	fl.err = ""
}

// guard runs the widget and turns a panic into a plain text field.
func (fl *field) guard(run func()) {
	defer func() {
		if recover() != nil {
			fl.breakDown()
		}
	}()
	run()
}

func (fl *field) breakDown() {
	fl.broken, fl.widget = true, nil
	if fl.f.Kind == form.KindText {
		fl.text, fl.initial = "", ""
	}
	fl.err = "this field's widget failed; type its value as JSON"
}

// plainKey edits without a widget.
func (fl *field) plainKey(k tea.KeyPressMsg) {
	switch k.String() {
	case "backspace":
		if r := []rune(fl.text); len(r) > 0 {
			fl.text = string(r[:len(r)-1])
		}
	case "ctrl+u":
		fl.text = ""
	default:
		fl.text += k.Text
	}
}
