package tui

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"

	tea "charm.land/bubbletea/v2"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/looprig/looprig/harness/form"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/formview"
	"github.com/looprig/looprig/tui/list"
)

func (m *model) addBinding() {
	kinds := m.o.Port.Kinds()
	switch len(kinds) {
	case 0:
		m.say("nothing can be added here")
	case 1:
		m.addForm(kinds[0].Name)
	default:
		var entries []list.Entry
		for _, k := range kinds {
			entries = append(entries, list.Entry{ID: k.Name, Label: string(safetext.ToLine(k.Title)), Note: string(safetext.Ident(k.Name))})
		}
		m.push(&pickDialog{kind: pickSource, p: list.NewPicker("what to add", entries), keys: m.keys, th: m.th})
	}
}

func (m *model) kind(name string) (integration.SourceKind, bool) {
	for _, k := range m.o.Port.Kinds() {
		if k.Name == name {
			return k, true
		}
	}
	return integration.SourceKind{}, false
}

// addForm asks for a new binding. The name is asked for here when the kind's
// form does not ask itself.
func (m *model) addForm(kind string) {
	k, ok := m.kind(kind)
	if !ok {
		m.say("no such kind: " + kind)
		return
	}
	s, named := k.Form, false
	if _, has := s.Field(nameField); !has {
		s.Fields = append([]form.Field{{Name: nameField, Title: "Name", Description: "what to call the binding", Kind: form.KindText, Required: true}}, s.Fields...)
		s.Raw, named = nil, true
	}
	m.sourceForm("add · "+string(safetext.ToLine(k.Title)), s, nil, formUse{change: &integration.Change{Op: integration.OpAdd, Kind: kind}, named: named})
}

func (m *model) replaceForm(name string) {
	kind, values, ok := m.o.Port.Current(name)
	k, known := m.kind(kind)
	if !ok || !known {
		m.say("this binding's definition cannot be changed here")
		return
	}
	prefill, err := k.Form.Decode(values)
	if err != nil {
		m.say("the present definition does not fit the form: " + err.Error())
	}
	m.sourceForm("replace · "+string(safetext.Ident(name)), k.Form, prefill, formUse{change: &integration.Change{Op: integration.OpReplace, Binding: name, Kind: kind}})
}

func (m *model) sourceForm(title string, s form.Schema, prefill form.Values, use formUse) {
	f, err := formview.New(formview.Options{Schema: s, Prefill: prefill, SubmitWord: string(use.change.Op), Keys: m.keys, Theme: m.th})
	if err != nil {
		m.say("nothing can be changed: " + err.Error())
		return
	}
	m.push(&formDialog{title: title, f: f, use: use, th: m.th, keys: m.keys, word: string(use.change.Op)})
}

// previewMsg is what an answer to a form would run.
type previewMsg struct {
	d   *formDialog
	c   integration.Change
	p   integration.Preview
	err error
}

// confirmForm asks before a form changes something: first what the answer would
// run, in a command because that may read files, then the person.
func (m *model) confirmForm(d *formDialog) tea.Cmd {
	c := *d.use.change
	name, values, err := splitName(d.f.Object(), d.use.named)
	if err != nil {
		d.f.SetError(clean(err))
		return nil
	}
	if c.Op == integration.OpAdd {
		c.Binding = name
	}
	c.Values, c.Save = values, m.o.SaveTarget != ""
	c.By = m.o.Operator
	d.checking = true
	port, ctx := m.o.Port, m.ctx
	return func() tea.Msg {
		p, err := port.Preview(ctx, c)
		return previewMsg{d: d, c: c, p: p, err: err}
	}
}

// previewed shows what would run, or what to correct in the form, which keeps
// everything that was typed.
func (m *model) previewed(msg previewMsg) {
	d, c := msg.d, msg.c
	d.checking = false
	at := slices.Index(m.dialogs, dialog(d))
	switch {
	case at < 0: // cancelled meanwhile
		return
	case msg.err != nil:
		d.f.SetError(clean(msg.err))
		return
	}
	what := "Add "
	if c.Op == integration.OpReplace {
		what = "Replace "
	}
	confirm := &changeDialog{question: what + string(safetext.Ident(c.Binding)) + "?", preview: &msg.p, c: c, target: m.o.SaveTarget, form: d, keys: m.keys, th: m.th}
	if len(msg.p.Facts) == 0 {
		confirm.details = summary(c.Values)
	}
	m.dialogs = slices.Insert(m.dialogs, at+1, dialog(confirm))
}

// position is where a fault stands in a document that nobody sees here: the
// entry that was made of the form.
var position = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b(?:entry|form):\d+:\d+:\s*`) })

// clean takes positions in documents that the person never wrote out of the
// message of an error, which keeps the fields that it names.
func clean(err error) error {
	var all form.Errors
	if errors.As(err, &all) {
		out := make(form.Errors, len(all))
		for i, e := range all {
			out[i] = &form.FieldError{Field: e.Field, Message: position().ReplaceAllString(e.Message, "")}
		}
		return out
	}
	if correctable(err) {
		return err
	}
	if text := err.Error(); position().MatchString(text) {
		return errors.New(position().ReplaceAllString(text, ""))
	}
	return err
}

// splitName takes the name out of an answer; ours says that the field was added
// here and is not part of the values.
func splitName(obj json.RawMessage, ours bool) (string, json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(obj, &fields); err != nil {
		return "", nil, fmt.Errorf("the answer is not an object: %w", err)
	}
	var name string
	if raw, ok := fields[nameField]; ok {
		if err := json.Unmarshal(raw, &name); err != nil {
			return "", nil, form.Errors{{Field: nameField, Message: "must be a text"}}
		}
	}
	if !ours {
		return name, obj, nil
	}
	delete(fields, nameField)
	values, err := json.Marshal(fields)
	return name, values, err
}

// summary is an answer for the confirmation, a member a line, in its order.
func summary(values json.RawMessage) []string {
	dec := jsontext.NewDecoder(bytes.NewReader(values))
	if t, err := dec.ReadToken(); err != nil || t.Kind() != jsontext.KindBeginObject {
		return nil
	}
	var out []string
	for dec.PeekKind() != jsontext.KindEndObject {
		name, err := dec.ReadToken()
		if err != nil {
			return out
		}
		label := string(safetext.Ident(name.String()))
		value, err := dec.ReadValue()
		if err != nil {
			return out
		}
		out = append(out, label+": "+string(safetext.ToLineN(string(value), 600)))
	}
	return out
}
