package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/tui/cells"
	"pgregory.net/rapid"
)

func TestAreasFillTheScreenWithoutOverlap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w, h := rapid.IntRange(-5, 1200).Draw(rt, "w"), rapid.IntRange(-5, 500).Draw(rt, "h")
		a := layout(w, h, needs{composer: rapid.IntRange(0, 20).Draw(rt, "composer"), above: rapid.IntRange(0, 20).Draw(rt, "above"), queued: rapid.IntRange(0, 5).Draw(rt, "queued")})
		used := make([]int, a.h)
		for _, r := range []rect{a.header, a.ticker, a.topRule, a.transcript, a.queued, a.above, a.rule, a.composer, a.footer} {
			if r.y < 0 || r.y+r.h > a.h || r.x < 0 || r.x+r.w > a.w {
				rt.Fatalf("%+v leaves %d×%d", r, a.w, a.h)
			}
			for y := r.y; y < r.y+r.h; y++ {
				used[y]++
			}
		}
		for y, n := range used {
			if n != 1 {
				rt.Fatalf("line %d of %d×%d belongs to %d areas: %+v", y, w, h, n, a)
			}
		}
		if a.side.w > 0 && a.transcript.w+2+a.side.w != a.w {
			rt.Fatalf("the pane does not meet the edge: %+v", a)
		}
		if a.transcript.h < 1 || a.composer.h < 1 {
			rt.Fatalf("no room for the conversation in %d×%d: %+v", w, h, a)
		}
	})
}

const nasty = "\x1b[2J\x1b]0;x\x07\u009b1m\u202e\r\x08\u2028世👩‍👩‍👧 \U000e0041"

// TestNoFrameLeavesTheScreen presses random keys on random sizes with hostile
// content everywhere.
func TestNoFrameLeavesTheScreen(t *testing.T) {
	t.Parallel()
	keys := []string{"f1", "f2", "f3", "f6", "f7", "esc", "enter", "tab", "shift+tab", "up", "down", "space", "ctrl+p", "ctrl+c", "ctrl+s", "ctrl+r",
		"j", "k", "J", "G", "g", "f", "v", "e", "a", "r", "x", "?", "/", "/call ", "世", "ctrl+x", "ctrl+j",
		"]", "[", "d", "s", "c", "T", "L", "E", "<", ">", "y", "o", "i", "n", "l", "/read ", "/prompt ", "@"}
	starts := [][]string{nil, {"f3"}, {"f3", "]"}, {"f3", "]", "]"}, {"f3", "["}, {"f3", "d"}, {"f2", "T"}, {"f2", "L"}, {"f2", "E"}, {"f7"}, {"f3", "]", "c"}, {"f3", "[", "c"}, {"f3", "]", "]", "c"}, {"f3", "]", "]", "c", "enter", "shift+tab"}}
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(t, 80, 24)
		for i := range r.w.bindings {
			b := &r.w.bindings[i]
			b.Origin, b.Reason, b.ServerName, b.Stderr, b.Warnings = nasty, nasty, nasty, []string{nasty}, []string{nasty}
		}
		r.w.bindings[2].Name = nasty
		r.w.evil = nasty
		for i := range r.w.tools {
			r.w.tools[i].Description = strings.Repeat(nasty, 3)
		}
		r.emit(r.w.story()...)
		h := r.w.head()
		r.emit(&event.Notice{Header: h, Binding: nasty, Text: nasty, Level: "warn"}, &event.TurnStarted{Header: h, Kind: "user", Text: nasty},
			&event.InputQueued{Header: h, Text: nasty}, &event.ModelDelta{Header: h, Text: nasty, Kind: "text"})
		for _, e := range []gate.Envelope{permissionGate(), formGate(), urlGate(), serverGate(), confirmGate()} {
			e.Prompt.Body, e.Prompt.Origin = strings.Repeat(nasty, 5), gate.OriginServer
			if rapid.Bool().Draw(rt, "gate") {
				r.emit(r.w.open(e))
			}
		}
		if len(r.m.gates) == 0 {
			r.press(rapid.SampledFrom(starts).Draw(rt, "start")...)
		}
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			w, h := rapid.IntRange(1, 150).Draw(rt, "w"), rapid.IntRange(1, 50).Draw(rt, "h")
			r.send(tea.WindowSizeMsg{Width: w, Height: h})
			r.press(rapid.SampledFrom(keys).Draw(rt, "key"))
			r.settle()
			lines, cursor := r.m.frame()
			w, h = max(w, minWidth), max(h, minHeight)
			if len(lines) > h {
				rt.Fatalf("%d lines in %d", len(lines), h)
			}
			for _, l := range lines {
				if n := cells.Width(l); n > w {
					rt.Fatalf("%d cells in %d: %q", n, w, ansi.Strip(l))
				}
				inert(rt, l)
			}
			if cursor != nil && (cursor.X >= w || cursor.Y >= h) {
				rt.Fatalf("the cursor is at %d,%d in %d×%d", cursor.X, cursor.Y, w, h)
			}
		}
	})
}

// inert fails when a line holds anything but text and SGR.
func inert(t interface{ Fatalf(string, ...any) }, line string) {
	for _, r := range ansi.Strip(line) {
		if r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x202e || r == 0x2028 || r >= 0xe0000 && r < 0xe0080 {
			t.Fatalf("raw %U in %q", r, line)
		}
	}
	for rest := line; ; {
		i := strings.IndexByte(rest, 0x1b)
		if i < 0 {
			return
		}
		end := strings.IndexByte(rest[i:], 'm')
		if end < 0 || strings.Trim(rest[i+1:i+end], "[0123456789;:") != "" {
			t.Fatalf("a sequence that is no style in %q", line)
		}
		rest = rest[i+end:]
	}
}

func TestResizingLosesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 36)
	r.emit(r.w.story()...)
	r.press("/call demo add", "enter", "12", "tab", "7")
	before := r.screen()
	for _, s := range [][2]int{{80, 24}, {20, 5}, {1, 1}, {300, 100}, {59, 14}, {120, 36}} {
		r.send(tea.WindowSizeMsg{Width: s[0], Height: s[1]})
		r.screen()
	}
	if after := r.screen(); after != before {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
}

// crowd fills a model with a long session.
func crowd(b *testing.B) *rig {
	b.Helper()
	w := newWorld()
	m, err := newModel(b.Context(), Options{Session: w, Events: w, Port: w, Opener: w, Clock: w, Theme: "dark", Operator: "ada"})
	if err != nil {
		b.Fatal(err)
	}
	m.ticks = ticks{on: true, fast: true}
	r := &rig{m: m, w: w}
	m.Update(tea.WindowSizeMsg{Width: 120, Height: 36})
	h := w.head()
	var records []event.Record
	for i := range 5000 {
		c := fmt.Sprint("c", i)
		for _, e := range []event.Event{
			&event.TurnStarted{Header: h, Kind: "user", Text: "question " + c},
			&event.ToolRequested{Header: h, Call: c, Tool: "mcp:demo:add", By: "model", Args: []byte(`{"a":1}`)},
		} {
			records = append(records, event.Record{Event: e})
		}
	}
	m.Update(eventsMsg{records: records})
	return r
}

func BenchmarkFrame(b *testing.B) {
	r := crowd(b)
	b.ReportAllocs()
	for b.Loop() {
		r.m.View()
	}
}

func BenchmarkDelta(b *testing.B) {
	r := crowd(b)
	h := r.w.head()
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if n++; n%1000 == 0 {
			h.Turn = fmt.Sprint("t", n)
		}
		r.m.Update(eventsMsg{records: []event.Record{{Event: &event.ModelDelta{Header: h, Kind: "text", Text: "a few more words of text "}}}})
		r.m.View()
	}
}

func BenchmarkKeyWhileNoticesStream(b *testing.B) {
	r := crowd(b)
	h := r.w.head()
	var records []event.Record
	for range 33 {
		records = append(records, event.Record{Event: &event.Notice{Header: h, Binding: "demo", Level: "info", Text: "something happened"}})
	}
	b.ReportAllocs()
	for b.Loop() {
		r.m.Update(eventsMsg{records: records})
		r.m.Update(tea.KeyPressMsg{Code: 'x', Text: "x"})
		r.m.Update(tea.KeyPressMsg{Code: tea.KeyBackspace})
		r.m.View()
	}
}

func BenchmarkFirstFrame(b *testing.B) {
	w := newWorld()
	for b.Loop() {
		m, err := newModel(b.Context(), Options{Session: w, Events: w, Port: w, Clock: w, Theme: "dark"})
		if err != nil {
			b.Fatal(err)
		}
		m.Update(tea.WindowSizeMsg{Width: 120, Height: 36})
		m.View()
	}
}

func TestFastTicksEndWithTheirCause(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	r.emit(r.w.open(permissionGate()))
	if !r.m.restless() {
		t.Error("an arming gate is not redrawn")
	}
	r.settle()
	r.press("d")
	r.pass(10 * time.Second)
	if r.m.restless() {
		t.Error("nothing changes by itself, and the fast timer runs")
	}
}
