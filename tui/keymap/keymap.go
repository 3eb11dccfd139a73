// Package keymap is the one registry of actions: every action of the interface
// has an id, a title, a context in which it is available and its keys. The
// dispatcher, the palette, the help and the generated key reference all read
// it. It must not import any screen.
package keymap

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/tui/cells"
)

// ID names an action: "binding.reconnect".
type ID string

// Context is where an action's keys are live.
type Context string

// The contexts. Global keys are live everywhere but in open gates and forms,
// which only let the keys of Always through.
const (
	Always         Context = "always"
	Global         Context = "global"
	Leader         Context = "leader" // after ctrl+x
	Composer       Context = "composer"
	Transcript     Context = "transcript"
	Bindings       Context = "bindings"
	Catalog        Context = "catalog"
	List           Context = "list" // palette, pickers, help, notices
	Notices        Context = "notices"
	Fetched        Context = "fetched"
	Sessions       Context = "sessions"
	GatePermission Context = "gate.permission"
	GateConfirm    Context = "gate.confirm"
	GateURL        Context = "gate.open_url"
	GateServer     Context = "gate.untrusted_server"
	GateSampling   Context = "gate.sampling"
	Form           Context = "form"
	Confirm        Context = "confirm"
)

// Contexts lists the contexts in the order of the help.
func Contexts() []Context {
	return []Context{Always, Global, Leader, Composer, Transcript, Bindings, Catalog, List, Notices, Fetched, Sessions,
		GatePermission, GateConfirm, GateURL, GateServer, GateSampling, Form, Confirm}
}

// Title is what to call a context in the help.
func (c Context) Title() string {
	switch c {
	case Always:
		return "Everywhere, gates and forms included"
	case Global:
		return "Everywhere"
	case Leader:
		return "After ctrl+x"
	case Composer:
		return "Composer"
	case Transcript:
		return "Transcript"
	case Bindings:
		return "Bindings"
	case Catalog:
		return "Catalog"
	case List:
		return "Lists: palette, help, notices"
	case Notices:
		return "Notices, stderr and logs"
	case Fetched:
		return "A prompt or a resource"
	case Sessions:
		return "Sessions"
	case GatePermission:
		return "Gate: permission"
	case GateConfirm:
		return "Gate: confirm"
	case GateURL:
		return "Gate: open url"
	case GateServer:
		return "Gate: untrusted server"
	case GateSampling:
		return "Gate: sampling"
	case Form:
		return "Forms"
	case Confirm:
		return "Confirmation of a change"
	}
	return string(c)
}

// Action is one thing that a person can do.
type Action struct {
	ID      ID
	Title   string
	Context Context
	// Keys are written as Bubble Tea writes a key press: "ctrl+s", "R", "space".
	Keys []string
	// Palette offers the action in the palette.
	Palette bool
	// Disabled says why the action cannot be used at all, or "".
	Disabled string
}

// Key is the first key, as people read it.
func (a Action) Key() string {
	if len(a.Keys) == 0 {
		return ""
	}
	return Pretty(a.Keys[0])
}

// Pretty writes a key for people: "^P", "⏎", "⇧⇥".
func Pretty(k string) string {
	switch k {
	case "enter":
		return "⏎"
	case "shift+tab":
		return "⇧tab"
	case "shift+enter":
		return "⇧⏎"
	case "up":
		return "↑"
	case "down":
		return "↓"
	}
	if rest, ok := strings.CutPrefix(k, "ctrl+"); ok && len(rest) == 1 {
		return "^" + rest
	}
	if len(k) > 1 && k[0] == 'f' && strings.Trim(k[1:], "0123456789") == "" {
		return "F" + k[1:]
	}
	return k
}

// All lists every action in the order of the help. The slice is a copy.
func All() []Action {
	out := make([]Action, len(registry))
	for i, a := range registry {
		a.Keys = slices.Clone(a.Keys)
		out[i] = a
	}
	return out
}

// UnknownActionError says that a configuration names no action.
type UnknownActionError struct{ ID ID }

func (e *UnknownActionError) Error() string {
	return fmt.Sprintf("keys: unknown action %q", string(e.ID))
}

// ClashError says that one key would do two things in one place.
type ClashError struct {
	Key           string
	First, Second ID
}

func (e *ClashError) Error() string {
	return fmt.Sprintf("keys: %q is bound to both %s and %s", e.Key, e.First, e.Second)
}

// Map finds actions by key. It is immutable.
type Map struct {
	actions []Action
	byID    map[ID]int
	byKey   map[Context]map[string]ID
}

// New makes a map of the registry with overrides: action id to its keys. An
// unknown id or a clash is an error.
func New(overrides map[string][]string) (*Map, error) {
	m := &Map{actions: All(), byID: map[ID]int{}, byKey: map[Context]map[string]ID{}}
	for i, a := range m.actions {
		m.byID[a.ID] = i
	}
	ids := make([]string, 0, len(overrides))
	for id := range overrides {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	for _, id := range ids {
		i, ok := m.byID[ID(id)]
		if !ok {
			return nil, &UnknownActionError{ID: ID(id)}
		}
		m.actions[i].Keys = slices.Clone(overrides[id])
	}
	for _, a := range m.actions {
		if err := m.bind(a); err != nil {
			return nil, err
		}
	}
	return m, m.checkAlways()
}

func (m *Map) bind(a Action) error {
	keys := m.byKey[a.Context]
	if keys == nil {
		keys = map[string]ID{}
		m.byKey[a.Context] = keys
	}
	for _, k := range a.Keys {
		if first, taken := keys[k]; taken {
			return &ClashError{Key: k, First: first, Second: a.ID}
		}
		keys[k] = a.ID
	}
	return nil
}

// checkAlways refuses a key that a context would hide from Always, and a key
// that a screen would hide from Global.
func (m *Map) checkAlways() error {
	for _, a := range m.actions {
		for _, k := range a.Keys {
			if first, taken := m.byKey[Always][k]; taken && a.Context != Always && a.Context != Leader {
				return &ClashError{Key: k, First: first, Second: a.ID}
			}
			if first, taken := m.byKey[Global][k]; taken && screen(a.Context) {
				return &ClashError{Key: k, First: first, Second: a.ID}
			}
		}
	}
	return nil
}

func screen(c Context) bool {
	return c == Composer || c == Transcript || c == Bindings || c == Catalog
}

// Match finds the action of a key press in the first context that has one.
func (m *Map) Match(k tea.KeyPressMsg, contexts ...Context) (ID, bool) {
	text, stroke := k.String(), k.Keystroke()
	for _, c := range contexts {
		if id, ok := m.byKey[c][text]; ok {
			return id, true
		}
		if id, ok := m.byKey[c][stroke]; ok && stroke != text {
			return id, true
		}
	}
	return "", false
}

// Action finds an action by its id.
func (m *Map) Action(id ID) (Action, bool) {
	i, ok := m.byID[id]
	if !ok {
		return Action{}, false
	}
	return m.actions[i], true
}

// Actions lists all actions with the keys in force, in the order of the help.
func (m *Map) Actions() []Action { return m.actions }

// Hint writes "key title" pairs for a footer, separated by dots, from "id=word"
// entries; a word that is left out is the action's title.
func (m *Map) Hint(entries ...string) string { return m.HintFit(1<<20, entries...) }

// HintFit is Hint in at most w cells: entries that do not fit are left out, the
// last ones first.
func (m *Map) HintFit(w int, entries ...string) string {
	out, used := "", 0
	for _, e := range entries {
		part := m.hint(e)
		n := cells.Width(part)
		if part == "" || used+n+3 > w+3 {
			continue
		}
		if out != "" {
			out += " · "
			used += 3
		}
		if used+n > w {
			return strings.TrimSuffix(out, " · ")
		}
		out += part
		used += n
	}
	return out
}

// HintEnds is HintFit that keeps its last entries whatever else fits.
func (m *Map) HintEnds(w int, ends []string, entries ...string) string {
	end := m.HintFit(w, ends...)
	if rest := m.HintFit(w-cells.Width(end)-3, entries...); rest != "" && end != "" {
		return rest + " · " + end
	} else if end == "" {
		return rest
	}
	return end
}

// HintAfter is HintFit after words that are not of the registry; without words
// it is HintFit.
func (m *Map) HintAfter(w int, words string, entries ...string) string {
	if words == "" {
		return m.HintFit(w, entries...)
	}
	if rest := m.HintFit(w-cells.Width(words)-3, entries...); rest != "" {
		return words + " · " + rest
	}
	return words
}

func (m *Map) hint(entry string) string {
	id, word, _ := strings.Cut(entry, "=")
	a, ok := m.Action(ID(id))
	if !ok || len(a.Keys) == 0 {
		return ""
	}
	if word == "" {
		word = strings.ToLower(a.Title)
	}
	return a.Key() + " " + word
}
