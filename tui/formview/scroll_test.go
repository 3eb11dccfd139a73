package formview

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// A text that is longer than the screen can be read from its first line to its
// last, and typing shows the field again.
func TestEveryLineOfALongTextCanBeRead(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 60 {
		lines = append(lines, "line "+string(rune('A'+i/26))+string(rune('a'+i%26)))
	}
	for name, schema := range map[string]string{
		"text":   `{"type":"object","required":["x"],"properties":{"x":{"type":"string"}}}`,
		"choice": `{"type":"object","required":["x"],"properties":{"x":{"type":"string","enum":["red","green"]}}}`,
		"multi":  `{"type":"object","required":["x"],"properties":{"x":{"type":"array","items":{"type":"string","enum":["a","b","c"]}}}}`,
	} {
		for _, key := range []tea.KeyPressMsg{{Code: tea.KeyPgUp}, {Code: tea.KeyUp, Mod: tea.ModAlt}} {
			f := open(t, schema, func(o *Options) { o.Message = strings.Join(lines, "\n") })
			first := view(f, 40, 10)
			if !strings.Contains(first, "x *") || !strings.Contains(first, "↑ ") {
				t.Fatalf("%s: the field and how much is above it are not shown:\n%s", name, first)
			}
			seen := first
			for range 20 {
				f.Key(key)
				seen += view(f, 40, 10)
			}
			for _, l := range lines {
				if !strings.Contains(seen, l) {
					t.Errorf("%s, %s: %q cannot be read", name, key, l)
				}
			}
			if got := view(f, 40, 10); !strings.Contains(got, lines[0]) || !strings.Contains(got, "↓ ") {
				t.Errorf("%s: the beginning is not shown:\n%s", name, got)
			}
			press(f, "down")
			if got := view(f, 40, 10); name != "text" && !strings.Contains(got, "x *") {
				t.Errorf("%s: the field is not shown again:\n%s", name, got)
			}
		}
	}
}

// What is shown of a paste is what is sent.
func TestAPasteHidesNothing(t *testing.T) {
	t.Parallel()
	f := open(t, `{"type":"object","required":["x"],"properties":{"x":{"type":"string"}}}`)
	f.Paste("pay \u202ebob\u202c \U000e0041\x1b[31m\rnow 👩‍🚀 שלום")
	if v := view(f, 70, 10); strings.ContainsAny(v, "\u202e\U000e0041\x1b") || !strings.Contains(v, "‹U+202E›bob") {
		t.Errorf("the paste is shown as %q", v)
	}
	if press(f, "ctrl+s") != Submitted || !strings.Contains(string(f.Object()), "‹U+202E›bob‹U+202C› ‹U+E0041›␛[31m now 👩‍🚀 שלום") {
		t.Errorf("%s", f.Object())
	}
}

// What is written is on the screen, whatever its height.
func TestTheWrittenLineIsVisible(t *testing.T) {
	t.Parallel()
	for lines := range 9 {
		f := open(t, `{"type":"object","required":["x"],"properties":{"x":{"type":"string"}}}`, func(o *Options) { o.Message = strings.Repeat("words\n", lines) })
		press(f, "written")
		for h := 3; h < 16; h++ {
			if v := view(f, 40, h); !strings.Contains(v, "written") || !strings.Contains(v, "x *") {
				t.Errorf("%d lines in a height of %d:\n%s", lines, h, v)
			}
		}
	}
}
