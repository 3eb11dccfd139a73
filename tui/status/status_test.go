package status

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/theme"
	"pgregory.net/rapid"
)

var now = time.Date(2026, 11, 30, 14, 2, 31, 0, time.UTC)

func mono(t interface{ Fatal(...any) }) *theme.Theme {
	th, err := theme.Choose(theme.Mono, true, true)
	if err != nil {
		t.Fatal(err)
	}
	return th
}

func data(bindings, gates, notices int) Data {
	d := Data{Session: "s", Model: "m", BindingsKey: "F2", GatesKey: "F6", NoticesKey: "F7", Now: now}
	states := []integration.State{integration.StateReady, integration.StateStarting, integration.StateFailed, integration.StateUntrusted, integration.StateDisabled}
	for i := range bindings {
		d.Bindings = append(d.Bindings, integration.Binding{Name: fmt.Sprintf("binding-%d", i), State: states[i%len(states)], Generation: uint64(i), Candidate: uint64(i + 1), Tools: i, Tokens: i * 1000})
	}
	for i := range gates {
		d.Gates = append(d.Gates, Gate{Kind: "permission", About: fmt.Sprint("tool ", i), Since: now})
	}
	for i := range notices {
		d.Notices = append(d.Notices, Notice{Time: now, Binding: "demo", Text: fmt.Sprint("notice ", i, strings.Repeat(" word", i%20)), Level: []string{"info", "warn", "error"}[i%3]})
	}
	return d
}

func TestEverySizeIsFilledExactly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		d := data(rapid.IntRange(0, 60).Draw(rt, "bindings"), rapid.IntRange(0, 9).Draw(rt, "gates"), rapid.IntRange(0, 80).Draw(rt, "notices"))
		w, h := rapid.IntRange(1, 60).Draw(rt, "w"), rapid.IntRange(1, 60).Draw(rt, "h")
		lines := Pane(d, mono(rt), w, h)
		if len(lines) != h {
			rt.Fatalf("%d lines in %d", len(lines), h)
		}
		for _, l := range append(lines, Header(d, mono(rt), w, w < 40), Ticker(d, mono(rt), w)) {
			if cells.Width(l) != w {
				rt.Fatalf("%d cells in %d: %q", cells.Width(l), w, ansi.Strip(l))
			}
		}
	})
}

func TestThePaneKeepsItsPartsInView(t *testing.T) {
	t.Parallel()
	out := ansi.Strip(strings.Join(Pane(data(40, 6, 50), mono(t), Width, 30), "\n"))
	for _, want := range []string{"BINDINGS", "… ", "GATES 6", "▸ permission tool 0", "… 3 more", "NOTICES", "notice 49"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "notice 1 ") {
		t.Errorf("old notices come before new ones:\n%s", out)
	}
}

func TestCountsNameEveryGroup(t *testing.T) {
	t.Parallel()
	if got, want := ansi.Strip(Counts(data(6, 0, 0).Bindings, mono(t), true)), "●2 ready ◐1 busy ⚠1 attention ✗1 failed ○1 off"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
