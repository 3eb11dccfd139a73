package tui

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/form"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/tui/cells"
)

func TestSendingAndQueueing(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	r.press("hello", "enter")
	if fmt.Sprint(r.w.inputs) != "[hello]" {
		t.Fatalf("sent %q", r.w.inputs)
	}
	h := r.w.head()
	r.emit(&event.TurnStarted{Header: h, Input: "i1", Kind: "user", Text: "hello"}, &event.InputQueued{Header: h, Input: "i2", Text: "and then this"})
	r.see("queued 1: and then this", "working")
	r.emit(&event.TurnCompleted{Header: h}, &event.TurnStarted{Header: h, Input: "i2", Kind: "user", Text: "and then this"})
	r.dontSee("queued 1")
	r.see("▌ you")
}

func TestInterruptAndQuitKeys(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	r.press("text", "ctrl+c")
	if !r.m.cp.Empty() {
		t.Fatal("ctrl+c does not clear")
	}
	r.emit(&event.TurnStarted{Header: r.w.head(), Kind: "user", Text: "x"})
	r.press("ctrl+c")
	r.press("esc")
	if r.w.stops != 2 {
		t.Fatalf("interrupted %d times", r.w.stops)
	}
	r.emit(&event.TurnInterrupted{Header: r.w.head()})
	r.press("ctrl+c")
	r.see("again to quit")
	r.pass(3 * time.Second)
	r.press("ctrl+c")
	if r.quit {
		t.Fatal("a second press after three seconds quits")
	}
	r.press("ctrl+c")
	if !r.quit || r.m.result.Reason != ReasonQuit {
		t.Fatal("two presses do not quit")
	}
	r = newRig(t, 80, 24)
	r.press("a", "ctrl+d", "ctrl+d", "ctrl+d")
	if r.quit {
		t.Fatal("ctrl+d quits with something written")
	}
	r.press("backspace", "ctrl+d", "ctrl+d")
	if !r.quit {
		t.Fatal("ctrl+d twice does not quit")
	}
}

func TestCallForm(t *testing.T) {
	t.Parallel()
	for _, spelling := range []string{"demo add", "demo.add", "mcp__demo__add", "mcp:demo:add"} {
		r := newRig(t, 80, 24)
		r.press("/call "+spelling, "enter")
		r.see("call · demo add", "First *", "Adds two numbers.")
		r.press("1", "tab", "2.50", "ctrl+s")
		if got := fmt.Sprint(r.w.calls); got != `[mcp__demo__add {"a":1,"b":2.50}]` {
			t.Errorf("%s: called %s", spelling, got)
		}
	}
	r := newRig(t, 80, 24)
	r.press(`/call demo add {"a":1,"b":2}`, "enter")
	r.press("/call demo wipe", "enter")
	if got := fmt.Sprint(r.w.calls); got != `[mcp__demo__add {"a":1,"b":2} mcp__demo__wipe {}]` {
		t.Errorf("called %s", got)
	}
	r.press("/call demo nested", "enter", `{"x":1}`, "ctrl+s")
	if got := r.w.calls[2]; got != `mcp__demo__nested {"p":{"x":1}}` {
		t.Errorf("called %s", got)
	}
	r.press("/call nope", "enter")
	r.see(`no tool "nope"`, "> /call nope")
}

func TestASchemaThatMakesNoFormIsAskedAsJSON(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	r.w.tools[0].InputSchema = []byte(`{"type":`)
	r.press("/call demo add", "enter")
	r.see("no form can be made", "JSON")
	r.press(`{"z":1}`, "ctrl+s")
	if got := fmt.Sprint(r.w.calls); got != `[mcp__demo__add {"z":1}]` {
		t.Errorf("called %s\n%s", got, r.screen())
	}
}

func TestAPermissionGateIsAnsweredByAPerson(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	r.press("half a sent")
	r.emit(r.w.open(permissionGate()))
	r.press("en")
	r.see("> half a senten", "gates 1")
	r.settle()
	r.press("a", "a", "enter")
	if len(r.w.answers) != 0 {
		t.Fatal("keys that were typed ahead answered a gate")
	}
	r.see("armed in")
	r.settle()
	r.press("enter")
	if len(r.w.answers) != 0 {
		t.Fatal("enter without a selection answered")
	}
	r.press("a")
	if len(r.w.answers) != 1 || r.w.answers[0].Action != gate.ActionOnce || r.w.answers[0].Answerer != (gate.Answerer{Kind: gate.AnswererPerson, ID: "ada"}) {
		t.Fatalf("answers %+v", r.w.answers)
	}
	r.see("> half a senten")
	r.dontSee("permission ·", "gates 1")
}

func TestASmallScreenTellsWhatIsSaidInPassing(t *testing.T) {
	t.Parallel()
	r := newRig(t, 40, 12)
	r.press("ctrl+c")
	r.see("press ^c again to quit")
	r.pass(toastTime)
	r.dontSee("again to quit")
	r.press("ctrl+x")
	r.see("b bindings")
}

func TestAPassingMessageEndsWithWhatItIsAbout(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	r.emit(&event.TurnStarted{Header: r.w.head(), Kind: "user", Text: "x"})
	r.press("ctrl+c")
	r.see("interrupting…")
	r.emit(&event.TurnInterrupted{Header: r.w.head()})
	r.dontSee("interrupting…")
}

func TestAnOpenGateDoesNotKeepTheScreenBusy(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	e := permissionGate()
	e.DeadlineMS = 300_000
	r.emit(r.w.open(e))
	r.see("armed in")
	if !r.m.restless() {
		t.Error("the gate's arming is not drawn as it goes on")
	}
	r.pass(time.Second)
	r.dontSee("armed in")
	if r.m.restless() {
		t.Error("a gate that waits for a person is drawn ten times a second")
	}
}

func TestTheEndOfWhatIsWrittenIsSeen(t *testing.T) {
	t.Parallel()
	families := strings.Repeat("👨‍👩‍👧", 30)
	r := newRig(t, 80, 24)
	r.send(tea.PasteMsg{Content: families + " behind"})
	r.see("behind")
	v := r.m.cp.Draw(r.m.th, 80, true)
	if last := ansi.Strip(v.Lines[len(v.Lines)-1]); v.Cursor.X != cells.Width(strings.TrimRight(last, " ")) {
		t.Errorf("the cursor is at %d of %q", v.Cursor.X, last)
	}
	r.press("ctrl+c")
	r.emit(r.w.open(formGate()))
	r.pass(time.Second)
	r.send(tea.PasteMsg{Content: families + " behind"})
	r.see("behind")
}

func TestTypingPutsAGateOffOnlyForAWhile(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	r.press("x")
	r.emit(r.w.open(permissionGate()))
	for range 30 {
		r.press("x")
		r.pass(200 * time.Millisecond)
	}
	r.see("permission ·", "armed in")
}

func TestAGateBetweenTwoPressesDoesNotKeepThePersonIn(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	r.press("ctrl+c")
	r.see("press ^c again to quit")
	r.emit(r.w.open(permissionGate()))
	r.see("permission ·")
	r.press("ctrl+c")
	if !r.quit || len(r.w.answers) != 0 {
		t.Fatalf("quit %v, answers %+v", r.quit, r.w.answers)
	}
	r = newRig(t, 80, 24)
	r.emit(r.w.open(permissionGate()))
	r.press("ctrl+c")
	r.see("put aside, F6 opens it; press ^c again to quit", "gates 1")
	r.press("ctrl+c")
	if !r.quit {
		t.Fatal("the second press does not quit")
	}
	r = newRig(t, 80, 24)
	r.press("ctrl+c", "x", "ctrl+c", "ctrl+c")
	if r.quit {
		t.Fatal("another key between two presses does not part them")
	}
}

// What quits outside is an answer inside.
func TestAGateTakesTheWordOfItsOwnKey(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	r.press("ctrl+d")
	r.see("press ^d again to quit")
	r.emit(r.w.open(permissionGate()))
	r.pass(time.Second)
	r.see("permission ·")
	r.dontSee("again to quit")
}

// Each of several gates that were put aside is reached without answering another
// one, and what was written in a form is still there.
func TestGatesPutAsideAreReachedInTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	r.emit(r.w.open(permissionGate()), r.w.open(formGate()))
	r.pass(time.Second)
	r.press("f6")
	r.pass(time.Second)
	r.press("half a title", "f6")
	r.dontSee("permission ·", "half a title")
	r.press("f6")
	r.see("permission ·")
	r.press("f6", "f6")
	r.see("half a title")
	r.dontSee("permission ·")
	r.press("f6", "f6")
	r.see("permission ·")
	if len(r.w.answers) != 0 {
		t.Errorf("%+v", r.w.answers)
	}
}

func TestATurnThatDoesNotStopCanBeLeft(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	r.emit(&event.TurnStarted{Header: r.w.head(), Kind: "user", Text: "x"})
	r.press("ctrl+c", "ctrl+c")
	r.see("press ^c again to quit")
	r.press("ctrl+c")
	if !r.quit || r.w.stops != 1 {
		t.Fatalf("quit %v after %d interrupts", r.quit, r.w.stops)
	}
}

func TestALineThatWasTypedBeforeTheTerminalWasOurs(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"/quit\n": "/quit\r", "/quit\r": "/quit\r", "\n": "\n", "a\nb\n": "a\nb\n", "a\nb": "a\nb", "": "",
		"/quit\n\x1b]11;rgb:0/0/0\x07": "/quit\r\x1b]11;rgb:0/0/0\x07", "\x1b[200~a\n\x1b[201~": "\x1b[200~a\n\x1b[201~",
	} {
		got := []byte(typed)
		if enterOf(got); string(got) != want {
			t.Errorf("%q becomes %q", typed, got)
		}
	}
}

func TestMinimisedGatesWaitForF6(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	r.emit(r.w.open(permissionGate()), r.w.open(formGate()))
	r.see("permission", "1 of 2")
	r.settle()
	r.press("esc")
	r.see("form · tracker", "2 of 2", "armed in")
	r.press("esc")
	r.settle()
	r.press("f6")
	r.dontSee("form · tracker ·")
	r.see("gates 2", "F6")
	r.press("f6", "d")
	if len(r.w.answers) != 1 || r.w.answers[0].Action != gate.ActionDeny {
		t.Fatalf("F6 opens the oldest: %+v", r.w.answers)
	}
	r.dontSee("gates 2")
	r.press("f6", "esc")
	if got := r.w.answers[1].Action; got != gate.ActionCancel {
		t.Fatalf("esc in a form: %s", got)
	}
}

func TestGatesDoNotOpenOverAForm(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	r.press("/call demo add", "enter", "1")
	r.emit(r.w.open(permissionGate()))
	r.see("call · demo add", "gates 1")
	r.press("esc")
	r.see("permission")
}

func TestAGateThatClosesByItselfAbsorbsKeys(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	r.emit(r.w.open(permissionGate()))
	r.settle()
	r.emit(r.w.withdraw("g1", gate.ReasonWithdrawn))
	r.see("withdrawn by whoever asked")
	r.press("a", "hello")
	if !r.m.cp.Empty() || len(r.w.answers) != 0 {
		t.Fatalf("keys fell through: %q", r.m.cp.Text())
	}
	r.settle()
	r.dontSee("withdrawn")
	r.press("hello")
	r.see("> hello")
}

func TestGateErrors(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	r.emit(r.w.open(formGate()))
	r.settle()
	r.w.gateErr = &gate.InvalidAnswerError{Gate: "g1", Field: "title", Reason: "is too short"}
	r.press("a long enough title", "tab", "tab", "down", "ctrl+s")
	r.see("is too short")
	r.w.gateErr = gate.ErrExpired
	r.press("ctrl+s")
	r.see("has expired")
	r.settle()
	r.dontSee("form · tracker")
}

func TestOpenURL(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	e := urlGate()
	e.Private.URL = "https://auth.example.com/unopenable"
	r.emit(r.w.open(e))
	r.settle()
	r.press("o")
	if len(r.w.answers) != 0 {
		t.Fatal("answered although no browser opened")
	}
	r.see("no browser")
	r.press("y")
	if len(r.w.answers) != 1 || r.w.answers[0].Action != gate.ActionCopy || fmt.Sprint(r.w.copied) != "[https://auth.example.com/unopenable]" {
		t.Fatalf("%+v %q", r.w.answers, r.w.copied)
	}
	r.emit(r.w.open(urlGate()))
	r.settle()
	r.press("o")
	if r.w.answers[1].Action != gate.ActionOpen || r.w.opened[1] != "https://auth.example.com/authorize?client_id=looprig&state=abc" {
		t.Fatalf("%+v %q", r.w.answers, r.w.opened)
	}
}

func TestBindingsAreChangedByKeyboard(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 36)
	r.press("f2", "e")
	r.press("e")
	r.press("j", "r")
	r.see("replace · files", "files-mcp")
	r.press("tab", "ctrl+s")
	r.see("Replace files?", "[x] kept in ~/.looprig/mcp.json")
	r.press("s")
	r.see("[ ] kept in")
	r.press("y", "R", "x")
	r.see("Remove files?")
	r.press("n", "x", "y", "a")
	r.see("A program on this machine", "A server at an address")
	r.press("enter", "fresh", "tab", "cmd", "ctrl+s")
	r.see("Add fresh?")
	r.press("y")
	r.see("fresh")
	var got []string
	for _, c := range r.w.changes {
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s %s %t %s", c.Op, c.Binding, c.Kind, c.Values, c.Save, c.By)))
	}
	want := []string{
		"disable demo   true ada", "enable demo   true ada",
		`replace files stdio {"command":"files-mcp","args":"/srv","required":false} false ada`,
		"reconnect files   false ada", "remove files   true ada",
		`add fresh stdio {"command":"cmd","required":false} true ada`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("changes\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestAFailedChangeKeepsItsForm(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	r.w.applyErr = form.Errors{{Field: "command", Message: "is not an executable"}}
	r.press("/mcp add", "enter", "enter", "fresh", "tab", "nope", "ctrl+s", "y")
	r.see("is not an executable", "nope")
	r.w.applyErr = errors.New("disk full")
	r.press("ctrl+s", "y")
	r.see("add failed: disk full")
}

func TestSlashCommandsForBindings(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	r.press("/mcp disable demo", "enter", "/mcp enable demo", "enter", "/mcp reconnect demo", "enter")
	if len(r.w.changes) != 3 || r.w.changes[1].Op != integration.OpEnable {
		t.Fatalf("%+v", r.w.changes)
	}
	r.press("/mcp remove nope", "enter")
	r.see("name a binding: demo, files")
	r.press("ctrl+c", "/mcp explode", "enter")
	r.see("/mcp takes add")
	r.press("ctrl+c", "/nope", "enter")
	r.see("no command /nope")
}

func TestGenerationsAreSeen(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 36)
	r.emit(&event.CatalogAdopted{Header: r.w.head(), CatalogChange: event.CatalogChange{Binding: "demo", From: 1, Generation: 2, Added: []string{"tools/new"}, Changed: []string{"tools/add: description"}, Removed: []string{"tools/old", "tools/older"}}})
	r.see("demo     gen 1 → 2 +1 ~1 −2", "catalog changed: demo gen 1 → 2 +1 ~1 −2", "▲1 new")
	r.press("f3")
	r.press("esc")
	r.dontSee("▲1 new")
}

func TestDisabledActionsSayWhy(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 36)
	r.press("f4")
	r.see("Ledger and pins: this screen is not part of this version")
	r.press("ctrl+x", "s")
	r.see("this host keeps no sessions")
	r.press("ctrl+p", "reconnect scratch")
	r.see("the binding is disabled")
	r.press("enter")
	if len(r.w.changes) != 0 {
		t.Error("a disabled entry was run")
	}
}

func TestTranscriptKeys(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	r.emit(r.w.story()...)
	r.press("shift+tab", "K", "K")
	r.see("┃")
	r.press("/nightly", "enter", "y")
	if fmt.Sprint(r.w.copied) != "[Why did the nightly job fail on arm64?]" {
		t.Errorf("copied %q", r.w.copied)
	}
	r.press("esc", "typing")
	r.see("> typing")
}

func TestAPasteNeverSubmits(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	r.send(tea.PasteMsg{Content: "one\ntwo\n"})
	if len(r.w.inputs) != 0 || r.m.cp.Text() != "one\ntwo\n" {
		t.Fatalf("%q %q", r.w.inputs, r.m.cp.Text())
	}
	r.emit(r.w.open(permissionGate()))
	r.settle()
	r.send(tea.PasteMsg{Content: "a"})
	if len(r.w.answers) != 0 {
		t.Fatal("a paste answered a gate")
	}
}

func TestFailuresAreSaid(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	h := r.w.head()
	r.emit(&event.TurnStarted{Header: h, Kind: "user", Text: "x"}, &event.TurnFailed{Header: h, Code: "model_error", Reason: "no answer"})
	r.see("✗ the turn failed (model_error): no answer")
	r.dontSee("working")
	r.send(eventsMsg{err: io.ErrUnexpectedEOF})
	r.see("the event stream was lost")
}

// The host is told once that the first frame is out, however often the size
// changes.
func TestTheHostIsToldOfTheFirstFrameOnce(t *testing.T) {
	t.Parallel()
	told := 0
	m := &model{o: Options{Shown: func() { told++ }}}
	for range 3 {
		if cmd := m.tellShown(); cmd != nil {
			cmd()
		}
	}
	if told != 1 {
		t.Errorf("told %d times", told)
	}
}
