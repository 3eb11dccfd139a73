package bindings

import (
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
