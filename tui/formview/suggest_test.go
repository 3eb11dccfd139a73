package formview

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/looprig/looprig/harness/form"
)

func texts(names ...string) form.Schema {
	var s form.Schema
	for _, n := range names {
		s.Fields = append(s.Fields, form.Field{Name: n, Kind: form.KindText})
	}
	return s
}

func TestSuggestionsAreTakenOnlyWhenChosen(t *testing.T) {
	t.Parallel()
	f := openSchema(t, texts("who", "tone"))
	press := func(keys ...tea.KeyPressMsg) {
		for _, k := range keys {
			f.Key(k)
		}
	}
	enter, down, up, esc := tea.KeyPressMsg{Code: tea.KeyEnter}, tea.KeyPressMsg{Code: tea.KeyDown}, tea.KeyPressMsg{Code: tea.KeyUp}, tea.KeyPressMsg{Code: tea.KeyEscape}
	press(tea.KeyPressMsg{Code: 'A', Text: "A"})
	f.Suggest("who", "", []string{"stale"}, 1)
	f.Suggest("tone", "A", []string{"elsewhere"}, 1)
	if f.offered() != nil {
		t.Fatal("suggestions for something else are shown")
	}
	f.Suggest("who", "A", []string{"Ada", "A", "Al\x1b[2Jan", "Alan"}, 12)
	out := strings.Join(f.View(60, 20), "\n")
	if !strings.Contains(out, "Ada") || !strings.Contains(out, "Alan") || strings.Contains(out, "2J") || !strings.Contains(out, "+10 more") {
		t.Fatalf("%s", out)
	}
	press(down, down, up)
	if f.Key(esc) != Open || f.offered() == nil || f.offered().at != -1 {
		t.Fatal("esc does not let go of a suggestion")
	}
	press(down, down, enter)
	if _, text, _ := f.Typing(); text != "Alan" || f.Position() != 1 {
		t.Fatalf("%q at field %d", text, f.Position())
	}
	press(enter)
	if name, _, _ := f.Typing(); name != "tone" {
		t.Fatalf("enter without a suggestion stays at %s", name)
	}
	f.Suggest("tone", "", []string{"warm"}, 0)
	press(down, tea.KeyPressMsg{Code: tea.KeyTab})
	if got := f.Texts(); got["who"] != "Alan" || got["tone"] != "warm" || f.offered() != nil {
		t.Fatalf("%v", got)
	}
	if f.Key(esc) != Cancelled {
		t.Fatal("esc does not cancel")
	}
}
