package formview

import (
	"strings"
	"testing"
)

const choose = `{"type":"object","properties":{
 "news":{"type":"boolean","default":true},
 "color":{"type":"string","enum":["red","green","blue"],"default":"red"},
 "maybe":{"type":"boolean"}}}`

func TestEveryOptionOfASingleChoiceIsVisible(t *testing.T) {
	t.Parallel()
	f := open(t, choose)
	for _, want := range []string{"▸ yes", "    no"} {
		if out := view(f, 60, 14); !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	press(f, "tab", "down", "down")
	for _, want := range []string{"    red", "    green", "▸ blue"} {
		if out := view(f, 60, 14); !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestLongChoicesScrollAndSaySo(t *testing.T) {
	t.Parallel()
	f := open(t, `{"type":"object","properties":{"c":{"type":"string","enum":["`+strings.Join(strings.Split("abcdefghijklmnopqrstuvwxyz", ""), `","`)+`"]}}}`)
	press(f, "end")
	out := view(f, 60, 12)
	if !strings.Contains(out, "▸ z") || !strings.Contains(out, " options") {
		t.Errorf("the chosen option is out of sight:\n%s", out)
	}
}

func TestYesAndNoTakeLettersAndSpace(t *testing.T) {
	t.Parallel()
	for keys, want := range map[string]string{
		"n":         `{"news":false,"color":"red"}`,
		"n y":       `{"news":true,"color":"red"}`,
		"space":     `{"news":false,"color":"red"}`,
		"right":     `{"news":false,"color":"red"}`,
		"tab right": `{"news":true,"color":"green"}`,
		"tab space": `{"news":true,"color":"green"}`,
		"tab n":     `{"news":true,"color":"red"}`,
	} {
		f := open(t, choose)
		if got := press(f, append(strings.Fields(keys), "ctrl+s")...); got != Submitted || string(f.Object()) != want {
			t.Errorf("%s: outcome %d, object %s, want %s", keys, got, f.Object(), want)
		}
	}
	f := open(t, choose)
	if got := press(f, "tab", "tab", "n", "ctrl+s"); got != Submitted || string(f.Object()) != `{"news":true,"color":"red","maybe":false}` {
		t.Errorf("an optional one: %d %s", got, f.Object())
	}
}

func TestKeyHints(t *testing.T) {
	t.Parallel()
	f := open(t, choose)
	if got := f.KeyHint(); got != "y/n or space" {
		t.Error(got)
	}
	press(f, "tab")
	if got := f.KeyHint(); got != "↑↓ choose" {
		t.Error(got)
	}
}
