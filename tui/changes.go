package tui

import (
	"errors"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/harness/form"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/bindings"
	"github.com/looprig/looprig/tui/keymap"
)

// nameField is the field that names a binding in the form for adding one.
const nameField = "name"

// appliedMsg is what came of a change.
type appliedMsg struct {
	op  int
	c   integration.Change
	err error
}

func (m *model) bindingData() bindings.Data {
	d := bindings.Data{Bindings: m.bindings, Busy: m.busy, Now: m.now}
	if m.watcher != nil {
		d.Logs, d.Trace = m.watcher.Logs, m.watcher.Trace
	}
	return d
}

func (m *model) openBindings(name string) {
	m.screen = screenBindings
	m.bindings = m.o.Port.Bindings()
	if name != "" {
		m.bind.Focus(name)
	}
}

func (m *model) binding(name string) (integration.Binding, bool) {
	for _, b := range m.bindings {
		if b.Name == name {
			return b, true
		}
	}
	return integration.Binding{}, false
}

// bindingDisabled says why an action cannot be used on a binding now, or "".
func (m *model) bindingDisabled(id keymap.ID, b integration.Binding) string {
	if op := m.busy[b.Name]; op != "" {
		return op + " is still going on"
	}
	switch id {
	case keymap.BindingReconnect:
		if !b.Enabled {
			return "the binding is disabled"
		}
	case keymap.BindingReplace:
		if _, _, ok := m.o.Port.Current(b.Name); !ok {
			return "this binding's definition cannot be changed here"
		}
	default:
	}
	return ""
}

// bindingAction does an action of the bindings screen.
func (m *model) bindingAction(id keymap.ID, name string) tea.Cmd {
	switch id {
	case keymap.BindingAdd:
		m.addBinding()
		return nil
	case keymap.BindingCatalog:
		m.openCatalog(name)
		return nil
	case keymap.BindingToggle, keymap.BindingReplace, keymap.BindingRemove, keymap.BindingReconnect:
	default:
		return m.run(id)
	}
	b, ok := m.binding(name)
	if !ok {
		m.say(errNoBinding.Error())
		return nil
	}
	if why := m.bindingDisabled(id, b); why != "" {
		m.say(why)
		return nil
	}
	switch id {
	case keymap.BindingToggle:
		op := integration.OpEnable
		if b.Enabled {
			op = integration.OpDisable
		}
		return m.apply(integration.Change{Op: op, Binding: name, Save: m.o.SaveTarget != ""}, nil)
	case keymap.BindingReconnect:
		return m.apply(integration.Change{Op: integration.OpReconnect, Binding: name}, nil)
	case keymap.BindingReplace:
		m.replaceForm(name)
	case keymap.BindingRemove:
		m.push(&changeDialog{question: "Remove " + string(safetext.Ident(name)) + "?", details: []string{"Its tools are withdrawn at the next idle boundary and its process ends."},
			c: integration.Change{Op: integration.OpRemove, Binding: name, Save: m.o.SaveTarget != ""}, target: m.o.SaveTarget, builtin: b.Kind == "builtin", keys: m.keys, th: m.th})
	default:
	}
	return nil
}

// mcpCommand is "/mcp [operation [binding]]".
func (m *model) mcpCommand(rest string) tea.Cmd {
	op, name, _ := strings.Cut(rest, " ")
	name = strings.TrimSpace(name)
	id, known := map[string]keymap.ID{
		"": keymap.OpenBindings, "add": keymap.BindingAdd, "enable": keymap.BindingToggle, "disable": keymap.BindingToggle,
		"replace": keymap.BindingReplace, "remove": keymap.BindingRemove, "reconnect": keymap.BindingReconnect,
	}[op]
	if !known {
		m.say("/mcp takes add, enable, disable, replace, remove or reconnect")
		return nil
	}
	b, exists := m.binding(name)
	switch {
	case op == "" || op == "add":
	case !exists:
		m.say("name a binding: " + m.bindingNames())
		return nil
	case op == "enable" && b.Enabled, op == "disable" && !b.Enabled:
		m.say(string(safetext.Ident(name)) + " is " + op + "d already")
		return nil
	}
	m.cp.Take()
	return m.bindingAction(id, name)
}

func (m *model) bindingNames() string {
	var names []string
	for _, b := range m.bindings {
		names = append(names, string(safetext.Ident(b.Name)))
	}
	return strings.Join(names, ", ")
}

func (m *model) actChange(d *changeDialog, c integration.Change) tea.Cmd {
	m.remove(d)
	if d.form != nil {
		m.remove(d.form)
	}
	return m.apply(c, d.form)
}

// apply makes a change in a command. A form is kept until the change has taken
// effect, so that it can be corrected.
func (m *model) apply(c integration.Change, f *formDialog) tea.Cmd {
	c.By = m.o.Operator
	m.lastOp++
	op := m.lastOp
	if f != nil {
		m.forms[op] = f
	}
	m.busy[c.Binding] = string(c.Op)
	m.say(string(c.Op) + " " + string(safetext.Ident(c.Binding)) + "…")
	port, ctx := m.o.Port, m.ctx
	return func() tea.Msg { return appliedMsg{op: op, c: c, err: port.Apply(ctx, c)} }
}

func (m *model) applied(msg appliedMsg) {
	f := m.forms[msg.op]
	delete(m.forms, msg.op)
	delete(m.busy, msg.c.Binding)
	m.bindings = m.o.Port.Bindings()
	name := string(safetext.Ident(msg.c.Binding))
	if msg.err == nil {
		m.say(name + ": " + string(msg.c.Op) + " done")
		if msg.c.Op == integration.OpAdd || msg.c.Op == integration.OpReplace {
			m.bind.Focus(msg.c.Binding)
		}
		return
	}
	m.say(name + ": " + string(msg.c.Op) + " failed: " + clean(msg.err).Error())
	if f != nil { // below whatever was opened meanwhile
		f.f.SetError(clean(msg.err))
		if _, there := m.binding(msg.c.Binding); there && msg.c.Op == integration.OpAdd {
			// It was added and did not come up: what is corrected replaces it.
			f.title, f.word = "replace · "+name, string(integration.OpReplace)
			f.f.SetSubmitWord(f.word)
			f.use.change = &integration.Change{Op: integration.OpReplace, Binding: msg.c.Binding, Kind: msg.c.Kind}
		}
		m.dialogs = slices.Insert(m.dialogs, 0, dialog(f))
	}
}

// correctable reports an error that says which field is wrong.
func correctable(err error) bool {
	var all form.Errors
	var ptr *form.Errors
	var one *form.FieldError
	return errors.As(err, &all) || errors.As(err, &ptr) || errors.As(err, &one)
}
