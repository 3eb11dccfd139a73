package tui

import (
	"errors"
	"sort"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/internal/safetext"
	"github.com/looprig/looprig/tui/composer"
	"github.com/looprig/looprig/tui/keymap"
	"github.com/looprig/looprig/tui/list"
)

func (m *model) openTools() {
	defs := m.o.Session.Tools()
	entries := make([]list.Entry, 0, len(defs))
	for _, d := range defs {
		entries = append(entries, list.Entry{ID: d.Name, Label: spelled(d), Note: string(safetext.ToLineN(firstLine(d.Description), 80))})
	}
	m.push(&pickDialog{kind: pickTool, p: list.NewPicker("tools of all servers", entries), keys: m.keys, th: m.th})
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// openPalette offers every action and every tool.
func (m *model) openPalette() {
	var entries, last []list.Entry
	for _, a := range m.keys.Actions() {
		e := list.Entry{ID: string(a.ID), Label: a.Title, Note: a.Key(), Disabled: a.Disabled}
		switch {
		case a.Palette && a.Context == keymap.Always:
			last = append(last, e)
		case a.Palette:
			entries = append(entries, e)
		}
	}
	for _, b := range m.bindings {
		name := string(safetext.Ident(b.Name))
		for _, id := range []keymap.ID{keymap.BindingReconnect, keymap.BindingToggle, keymap.BindingReplace, keymap.BindingRemove} {
			a, _ := m.keys.Action(id)
			entries = append(entries, list.Entry{ID: string(id) + " " + b.Name, Label: a.Title + ": " + name, Note: a.Key(), Disabled: m.bindingDisabled(id, b)})
		}
	}
	for _, d := range m.o.Session.Tools() {
		entries = append(entries, list.Entry{ID: "call " + d.Name, Label: "Call " + spelled(d), Note: "tool"})
	}
	entries = append(entries, last...)
	m.push(&pickDialog{kind: pickAction, p: list.NewPicker("palette", entries), keys: m.keys, th: m.th})
}

func (m *model) picked(kind pickKind, e list.Entry) tea.Cmd {
	switch kind {
	case pickTool:
		return m.askCall(e.ID, nil)
	case pickSource:
		m.addForm(e.ID)
		return nil
	case pickPrompt, pickResource:
		return m.pickedItem(e.ID)
	case pickModel:
		return m.setModel(e.ID)
	case pickLoop:
		m.speakTo(e.ID)
		return nil
	default:
	}
	id, arg, _ := strings.Cut(e.ID, " ")
	if id == "call" {
		return m.askCall(arg, nil)
	}
	if arg != "" {
		return m.bindingAction(keymap.ID(id), arg)
	}
	return m.run(keymap.ID(id))
}

// complete offers completions for the text of the composer, from memory.
func (m *model) complete(text string) []composer.Candidate {
	const most = 50
	var out []composer.Candidate
	if !strings.HasPrefix(text, "/") {
		return m.mentionCandidates(text)
	}
	if out, ok := m.itemCandidates(text, most); ok {
		return out
	}
	if rest, ok := strings.CutPrefix(text, "/call "); ok {
		for _, d := range m.o.Session.Tools() {
			if s := typed(d); len(out) < most && s != rest && strings.Contains(strings.ToLower(s), strings.ToLower(rest)) {
				out = append(out, composer.Candidate{Text: "/call " + s, Note: string(safetext.ToLineN(firstLine(d.Description), 80))})
			}
		}
		return out
	}
	for _, op := range []string{"/mcp enable ", "/mcp disable ", "/mcp replace ", "/mcp remove ", "/mcp reconnect ", "/catalog "} {
		if rest, ok := strings.CutPrefix(text, op); ok {
			for _, b := range m.bindings {
				if strings.HasPrefix(b.Name, rest) && b.Name != rest {
					out = append(out, composer.Candidate{Text: op + b.Name, Note: string(b.State)})
				}
			}
			return out
		}
	}
	for _, c := range Commands() {
		if strings.HasPrefix(c.Name, text) && c.Name != text {
			full := c.Name
			if c.Args != "" {
				full += " "
			}
			out = append(out, composer.Candidate{Text: full, Note: c.Title})
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return len(out[i].Text) < len(out[j].Text) })
	return out
}

var errNoBinding = errors.New("there is no such binding")
