package tui

import (
	"context"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/looprig/looprig/harness/event"
	"go.uber.org/goleak"
)

// child, when set, is run instead of the tests: the program that terminal tests
// drive.
var child func()

func TestMain(m *testing.M) {
	if child != nil {
		child()
		return
	}
	goleak.VerifyTestMain(m)
}

// rig drives a model without a terminal: commands run at once, one after the
// other, and time passes only when a test says so.
type rig struct {
	t *testing.T
	m *model
	w *world
	// quit says that the model asked to quit.
	quit bool
}

func newRig(t *testing.T, width, height int, change ...func(*Options)) *rig {
	t.Helper()
	w := newWorld()
	o := Options{Session: w, Events: w, Port: w, Opener: w, Clock: w, NoColor: true, Operator: "ada", SaveTarget: "~/.looprig/mcp.json", Env: []string{"EDITOR=vi"}}
	for _, c := range change {
		c(&o)
	}
	m, err := newModel(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	m.ticks = ticks{on: true, fast: true} // timers are driven by pass
	m.pause = 0
	r := &rig{t: t, m: m, w: w}
	r.send(tea.WindowSizeMsg{Width: width, Height: height})
	return r
}

func (r *rig) send(msg tea.Msg) {
	r.t.Helper()
	_, cmd := r.m.Update(msg)
	r.do(cmd)
}

func (r *rig) do(cmd tea.Cmd) {
	r.t.Helper()
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range msg {
			r.do(c)
		}
	case tea.QuitMsg:
		r.quit = true
	default:
		r.send(msg)
	}
}

func (r *rig) emit(events ...event.Event) {
	r.t.Helper()
	var records []event.Record
	for _, e := range events {
		records = append(records, event.Record{Event: e, Line: []byte("{}"), Durable: true})
	}
	r.send(eventsMsg{records: records})
}

// pass lets time pass and redraws.
func (r *rig) pass(d time.Duration) {
	r.t.Helper()
	r.w.pass(d)
	_, cmd := r.m.Update(tickMsg{r.m.ticks.n})
	r.m.ticks.on, r.m.ticks.fast = true, true
	_ = cmd // the next tick
}

var named = map[string]tea.KeyPressMsg{
	"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "tab": {Code: tea.KeyTab}, "shift+tab": {Code: tea.KeyTab, Mod: tea.ModShift},
	"up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown}, "space": {Code: tea.KeySpace, Text: " "}, "backspace": {Code: tea.KeyBackspace},
	"f1": {Code: tea.KeyF1}, "f2": {Code: tea.KeyF2}, "f3": {Code: tea.KeyF3}, "f4": {Code: tea.KeyF4}, "f5": {Code: tea.KeyF5}, "f6": {Code: tea.KeyF6}, "f7": {Code: tea.KeyF7},
}

// press types: names of keys, ctrl+x, or text.
func (r *rig) press(keys ...string) {
	r.t.Helper()
	for _, k := range keys {
		if msg, ok := named[k]; ok {
			r.send(msg)
			continue
		}
		if rest, ok := strings.CutPrefix(k, "ctrl+"); ok {
			r.send(tea.KeyPressMsg{Code: rune(rest[0]), Mod: tea.ModCtrl})
			continue
		}
		for _, x := range k {
			r.send(tea.KeyPressMsg{Code: x, Text: string(x)})
		}
	}
}

// screen is what is drawn, without styles and without trailing spaces.
func (r *rig) screen() string {
	lines, _ := r.m.frame()
	for i, l := range lines {
		lines[i] = strings.TrimRight(ansi.Strip(l), " ")
	}
	return strings.Join(lines, "\n")
}

func (r *rig) see(wants ...string) {
	r.t.Helper()
	out := r.screen()
	for _, w := range wants {
		if !strings.Contains(out, w) {
			r.t.Errorf("no %q on the screen:\n%s", w, out)
		}
	}
}

func (r *rig) dontSee(unwanted ...string) {
	r.t.Helper()
	out := r.screen()
	for _, w := range unwanted {
		if strings.Contains(out, w) {
			r.t.Errorf("%q is on the screen:\n%s", w, out)
		}
	}
}

// settle lets the quiet time of a gate pass.
func (r *rig) settle() {
	r.t.Helper()
	r.pass(500 * time.Millisecond)
}
