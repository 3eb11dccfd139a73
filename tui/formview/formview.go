// Package formview asks for the fields of a form.Schema. The widgets of texts,
// multi choices and raw JSON are huh's; single choices and everything around them is this package's own driver: the order of fields,
// paging, validation, submit, decline and cancel, heights, and the rule that a
// field which nobody touched is not sent.
//
// The driver exists because a form is written by a server. huh's own form panics
// without fields, its multi-select panics after a filter without match and
// mixes up equal titles, its select hides options that fit and writes the first
// one before any key, and it knows neither numbers, nor "unset", nor declining. So: a form without
// fields is refused here (it is a confirmation), filters are off, labels are made
// unique, optional choices have an explicit "leave unset", numbers stay text
// until they are submitted, widgets are rebuilt on every change of size, only
// key presses and pastes reach them, their commands are dropped, and a panic in
// one turns its field into a plain text field.
//
// The package must not import anything of the interface but cells, theme and
// keymap.
package formview

import (
	"encoding/json"
	"errors"
	"slices"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/harness/form"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/keymap"
	"github.com/looprig/looprig/tui/theme"
)

// maxPaste bounds what one paste puts into a field, in bytes.
const maxPaste = 64 << 10

// pastedBytes bounds what it has become when every character is written out.
const pastedBytes = 16 * maxPaste

// Outcome is what a key press decided.
type Outcome uint8

// The outcomes.
const (
	Open Outcome = iota
	Submitted
	Declined
	Cancelled
)

// Options describe a form.
type Options struct {
	Schema form.Schema
	// Prefill holds values that are set already, as by an earlier answer.
	Prefill form.Values
	// Message is the text above the fields. Foreign says that it and all titles
	// are a server's: they are then shown in a gutter.
	Message string
	Foreign bool
	// Note is host-written: what happens to the answer.
	Note string
	// Decline offers ctrl+d.
	Decline bool
	// SubmitWord is what submitting does: "submit", "call", "add".
	SubmitWord string
	Keys       *keymap.Map
	Theme      *theme.Theme
}

// ErrNoFields says that a form asks for nothing; it is a confirmation.
var ErrNoFields = errors.New("a form without fields is a confirmation")

// Form is an open form. It is not safe for concurrent use.
type Form struct {
	o      Options
	fields []*field
	focus  int // len(fields) is the submit row
	width  int
	height int      // of the body
	top    int      // first visible line of the body
	back   int      // how many lines above it are looked at instead
	fault  []string // what is wrong with the whole answer
	value  json.RawMessage
	head   head
	offer  suggestions
}

// New opens a form. It fails with ErrNoFields.
func New(o Options) (*Form, error) {
	if len(o.Schema.Fields) == 0 {
		return nil, ErrNoFields
	}
	if o.SubmitWord == "" {
		o.SubmitWord = "submit"
	}
	f := &Form{o: o, width: 60}
	for _, sf := range o.Schema.Fields {
		f.fields = append(f.fields, newField(sf, o.Prefill))
	}
	f.fields[0].open(f.width, f.o.Theme)
	return f, nil
}

// SetTheme redraws the form in other colours.
func (f *Form) SetTheme(th *theme.Theme) {
	f.o.Theme = th
	f.rebuild()
}

// SetSubmitWord says anew what submitting does.
func (f *Form) SetSubmitWord(word string) { f.o.SubmitWord = word }

// Len is the number of fields; Position is the one with the focus, from 1.
func (f *Form) Len() int { return len(f.fields) }

// Position is the focused field, counted from 1.
func (f *Form) Position() int { return min(f.focus+1, len(f.fields)) }

// Object is the submitted object: the bytes to send.
func (f *Form) Object() json.RawMessage { return f.value }

// Key handles a key press.
func (f *Form) Key(k tea.KeyPressMsg) Outcome {
	id, _ := f.o.Keys.Match(k, keymap.Form)
	if f.scrollKey(k, id) {
		return Open
	}
	f.back = 0
	if f.suggestKey(k, id) {
		return Open
	}
	switch id {
	case keymap.FormCancel:
		return Cancelled
	case keymap.FormDecline:
		if f.o.Decline {
			return Declined
		}
		return Open
	case keymap.FormSubmit:
		return f.submit()
	case keymap.FormNext:
		f.move(1)
		return Open
	case keymap.FormPrev:
		f.move(-1)
		return Open
	case keymap.FormUnset:
		if f.focus < len(f.fields) {
			f.fields[f.focus].reset(f.width, f.o.Theme)
		}
		return Open
	default:
	}
	if f.focus == len(f.fields) {
		return f.submitRow(k)
	}
	cur := f.fields[f.focus]
	switch s := k.String(); {
	case s == "enter" && !cur.multiline():
		f.move(1)
	case s == "up" && cur.singleLine():
		f.move(-1)
	case s == "down" && cur.singleLine():
		f.move(1)
	default:
		cur.key(k)
	}
	return Open
}

func (f *Form) submitRow(k tea.KeyPressMsg) Outcome {
	switch k.String() {
	case "enter":
		return f.submit()
	case "up":
		f.move(-1)
	}
	return Open
}

// Paste inserts text into the focused field. It never submits.
func (f *Form) Paste(text string) {
	f.back = 0
	if f.focus >= len(f.fields) {
		return
	}
	if len(text) > maxPaste {
		f.fields[f.focus].err = "the pasted text is larger than 64 KiB and was not inserted"
		return
	}
	f.fields[f.focus].paste(text)
}

// move goes to another field, checking the one that is left without holding on
// to it.
func (f *Form) move(by int) {
	n := len(f.fields) + 1
	if f.focus < len(f.fields) {
		f.check(f.fields[f.focus])
		f.fields[f.focus].close()
	}
	f.focus = ((f.focus+by)%n + n) % n
	if f.focus < len(f.fields) {
		f.fields[f.focus].open(f.width, f.o.Theme)
	}
}

func (f *Form) goTo(i int) {
	if f.focus < len(f.fields) {
		f.fields[f.focus].close()
	}
	f.focus = i
	f.fields[i].open(f.width, f.o.Theme)
}

func (f *Form) check(fl *field) {
	_, _, err := fl.json(f.o.Schema)
	fl.err = message(err)
}

// submit validates every field and then the whole object. The first field that
// does not fit gets the focus.
func (f *Form) submit() Outcome {
	f.fault = nil
	values := form.Values{}
	bad := -1
	for i, fl := range f.fields {
		v, set, err := fl.json(f.o.Schema)
		fl.err = message(err)
		if err != nil && bad < 0 {
			bad = i
		}
		if set && err == nil {
			values[fl.f.Name] = v
		}
	}
	if bad >= 0 {
		f.goTo(bad)
		return Open
	}
	obj, err := f.o.Schema.Encode(values)
	if err != nil {
		f.SetError(err)
		return Open
	}
	f.value = obj
	return Submitted
}

// Written reports whether somebody has put something into a field.
func (f *Form) Written() bool {
	return slices.ContainsFunc(f.fields, (*field).touched)
}

// Remark shows a host-written sentence above the fields, or takes it away.
func (f *Form) Remark(s string) {
	f.fault = nil
	if s != "" {
		f.fault = []string{s}
	}
}

// SetError shows why an answer was not taken and focuses the field at fault.
func (f *Form) SetError(err error) {
	var all form.Errors
	var ptr *form.Errors
	var one *form.FieldError
	switch {
	case errors.As(err, &ptr) && ptr != nil:
		all = *ptr
	case errors.As(err, &all):
	case errors.As(err, &one):
		all = form.Errors{one}
	default:
		f.fault = []string{string(safetext.ToLine(err.Error()))}
		return
	}
	f.fault = nil
	focused := false
	for _, fe := range all {
		i := f.index(fe.Field)
		if i < 0 {
			f.fault = append(f.fault, string(safetext.ToLine(fe.Error())))
			continue
		}
		f.fields[i].err = string(safetext.ToLine(fe.Message))
		if !focused {
			f.goTo(i)
			focused = true
		}
	}
}

func (f *Form) index(name string) int {
	for i, fl := range f.fields {
		if fl.f.Name == name {
			return i
		}
	}
	return -1
}

func (f *Form) rebuild() {
	if f.focus < len(f.fields) {
		f.fields[f.focus].open(f.width, f.o.Theme)
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	var fe *form.FieldError
	if errors.As(err, &fe) {
		return string(safetext.ToLine(fe.Message))
	}
	return string(safetext.ToLine(err.Error()))
}
