package keymap

import (
	"errors"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

func press(code rune, mod tea.KeyMod, text string) tea.KeyPressMsg {
	return tea.KeyPressMsg{Code: code, Mod: mod, Text: text}
}

func TestRegistryHasNoClash(t *testing.T) {
	t.Parallel()
	m, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[ID]bool{}
	for _, a := range m.Actions() {
		if seen[a.ID] {
			t.Errorf("action %s is registered twice", a.ID)
		}
		seen[a.ID] = true
		if a.Title == "" || a.Context.Title() == string(a.Context) {
			t.Errorf("action %s: no title for it or its context", a.ID)
		}
	}
}

func TestMatchKnowsCaseAndModifiers(t *testing.T) {
	t.Parallel()
	m, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		key  tea.KeyPressMsg
		ctx  Context
		want ID
	}{
		{press('r', 0, "r"), Bindings, BindingReplace},
		{press('r', tea.ModShift, "R"), Bindings, BindingReconnect},
		{press(tea.KeySpace, 0, " "), GatePermission, PermitToggle},
		{press('s', tea.ModCtrl, ""), Form, FormSubmit},
		{press(tea.KeyTab, tea.ModShift, ""), Form, FormPrev},
		{press(tea.KeyF6, 0, ""), Global, OpenGate},
	} {
		if got, _ := m.Match(c.key, c.ctx); got != c.want {
			t.Errorf("%q in %s: %q, want %q", c.key.String(), c.ctx, got, c.want)
		}
	}
	if id, ok := m.Match(press('r', 0, "r"), Form); ok {
		t.Errorf("r in a form does %s", id)
	}
}

func TestOverrides(t *testing.T) {
	t.Parallel()
	m, err := New(map[string][]string{"binding.add": {"+"}})
	if err != nil {
		t.Fatal(err)
	}
	if id, _ := m.Match(press('+', 0, "+"), Bindings); id != BindingAdd {
		t.Errorf("the override is not in force: %q", id)
	}
	var unknown *UnknownActionError
	if _, err := New(map[string][]string{"binding.ad": {"+"}}); !errors.As(err, &unknown) {
		t.Errorf("unknown action: %v", err)
	}
	var clash *ClashError
	for name, o := range map[string]map[string][]string{
		"same context":      {"binding.add": {"e"}},
		"hides an always":   {"permission.deny": {"ctrl+c"}},
		"hides a global":    {"composer.send": {"f2"}},
		"always over a key": {"app.redraw": {"ctrl+s"}},
	} {
		if _, err := New(o); !errors.As(err, &clash) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHintFollowsTheKeysInForce(t *testing.T) {
	t.Parallel()
	m, err := New(map[string][]string{"binding.add": {"+"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Hint("binding.add=add", "app.quit", "no.such"); got != "+ add" {
		t.Errorf("hint %q", got)
	}
	if got := m.Hint("form.submit", "screen.bindings=b"); !strings.Contains(got, "^s submit") || !strings.Contains(got, "F2 b") {
		t.Errorf("hint %q", got)
	}
}
