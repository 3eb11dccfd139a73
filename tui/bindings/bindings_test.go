package bindings

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/tui/keymap"
	"github.com/looprig/looprig/tui/theme"
)

// A binding that belongs to a loop says whose it is in its row.
func TestARowSaysForWhichLoop(t *testing.T) {
	t.Parallel()
	th, err := theme.Choose(theme.Mono, true, true)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := keymap.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	d := Data{Now: time.Unix(1_800_000_000, 0), Bindings: []integration.Binding{
		{Name: "demo", State: integration.StateReady, Kind: "builtin", Scope: "session", Enabled: true},
		{Name: "notes", State: integration.StateConfigured, Kind: "builtin", Scope: "loop", Loop: "reviewer", Enabled: true},
	}}
	d.Bindings[1].Reason = "for loop reviewer: it is started for each of its delegates"
	var s Screen
	s.Focus("notes")
	out := ansi.Strip(strings.Join(s.View(d, th, keys, 110, 20), "\n"))
	if !strings.Contains(out, "○ for reviewer") || !strings.Contains(out, "loop reviewer, optional") || !strings.Contains(out, "for loop reviewer: it is") {
		t.Errorf("%s", out)
	}
	if out := ansi.Strip(strings.Join(s.View(d, th, keys, 96, 20), "\n")); !strings.Contains(out, "for loop reviewer · builtin") {
		t.Errorf("%s", out)
	}
	d.Bindings[1].Loop = "rev\x1b[2J\u202e"
	if out := ansi.Strip(strings.Join(s.View(d, th, keys, 96, 20), "\n")); strings.ContainsAny(out, "\x1b\u202e") {
		t.Errorf("%q", out)
	}
}

// On a narrow screen the selected binding has the room that the list leaves, and
// what has none is counted.
func TestTheNarrowDetailTellsWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	th, err := theme.Choose(theme.Mono, true, true)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := keymap.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	one := integration.Binding{
		Name: "demo", State: integration.StateReady, Kind: "builtin", Scope: "session", Enabled: true, Generation: 1, Tools: 11,
		Digest: "sha256:" + strings.Repeat("d", 60) + "head", Trust: "accepted", Pin: "sha256:" + strings.Repeat("a", 60) + "tail",
	}
	full := Data{Now: time.Unix(1_800_000_000, 0), Bindings: []integration.Binding{one}}
	var s Screen
	lines := s.View(full, th, keys, 80, 24)
	out := ansi.Strip(strings.Join(lines, "\n"))
	if len(lines) != 24 || !strings.Contains(out, "tail") || strings.Contains(out, "lines more") {
		t.Errorf("with room for all of it:\n%s", out)
	}
	one.WithheldEnv = strings.Fields(strings.Repeat("NAME ", 30))
	long := Data{Now: full.Now}
	for _, name := range []string{"demo", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m"} {
		one.Name = name
		long.Bindings = append(long.Bindings, one)
	}
	total := len(detail(one, long, th, 78))
	for _, d := range []Data{{Now: full.Now, Bindings: long.Bindings[:1]}, long} {
		lines := s.View(d, th, keys, 80, 24)
		begin, end := -1, -1
		for i, l := range lines {
			switch text := ansi.Strip(l); {
			case strings.HasPrefix(text, " demo  "):
				begin = i
			case strings.HasPrefix(text, " … "):
				end = i
			}
		}
		if begin < 0 || end != 22 || len(lines) != 24 || !strings.Contains(lines[end], fmt.Sprintf("… %d lines more", total-(end-begin))) {
			t.Errorf("lines %d to %d of %d, for a detail of %d:\n%s", begin, end, len(lines), total, strings.Join(lines, "\n"))
		}
	}
}
