//go:build integration && unix

package tui

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/form"
	"github.com/looprig/looprig/harness/gate"
	"github.com/looprig/looprig/harness/integration"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/internal/ptytest"
)

const (
	childEnv = "LOOPRIG_TUI_CHILD"
	patience = 15 * time.Second
)

func init() {
	if mode := os.Getenv(childEnv); mode != "" {
		child = func() { runChild(mode) }
	}
}

// hostile holds every kind of text that a terminal would obey.
const hostile = "\x1b[2J\x1b]0;owned\x07\x1b]52;c;aGk=\x07\x1b]8;;http://x\x1b\\\x1bP1$r\x1b\\\u009b31m\u202eYNED\u2028\rALLOW\x08\u200b\U000e0041e\u0301\u0301\u0301\u0301\u0301\u0301"

// fragile is a session in which things panic.
type fragile struct {
	*world
	mode string
}

func (f *fragile) Submit(ctx context.Context, text string) error {
	if f.mode == "panic-command" {
		panic("boom " + hostile)
	}
	return f.world.Submit(ctx, text)
}

func (f *fragile) Gates() []gate.Envelope {
	if f.mode == "panic-update" && len(f.notices()) > 0 {
		panic("boom " + hostile)
	}
	return f.world.Gates()
}

func (f *fragile) notices() []gate.Envelope { return f.world.Gates() }

func (f *fragile) Model() string {
	if f.mode == "panic-view" && len(f.world.Gates()) > 0 {
		panic("boom " + hostile)
	}
	return f.world.Model()
}

func (f *fragile) Next(ctx context.Context) (event.Record, error) {
	if f.mode == "panic-pump" && len(f.world.Gates()) > 0 {
		panic("boom " + hostile)
	}
	return f.world.Next(ctx)
}

// runChild is the program under test: Run with a world in memory.
func runChild(mode string) {
	w := newWorld()
	w.now = time.Now()
	f := &fragile{world: w, mode: mode}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if mode == "hostile" {
		w.corrupt()
	}
	if strings.HasPrefix(mode, "panic-") && mode != "panic-command" {
		time.AfterFunc(300*time.Millisecond, func() {
			e := w.open(permissionGate())
			w.events <- event.Record{Event: e, Durable: true}
		})
	}
	if mode == "cancel" {
		time.AfterFunc(500*time.Millisecond, cancel)
	}
	r, err := Run(ctx, Options{Session: f, Events: f, Port: w, Opener: w, Stdin: os.Stdin, Stdout: os.Stdout})
	fmt.Printf("ended reason=%s signal=%q error=%v inputs=%q calls=%q\n", r.Reason, r.Signal, err, w.inputs, w.calls)
	if err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// corrupt makes everything that a server could have written hostile.
func (w *world) corrupt() {
	next := w.now.Add(time.Hour)
	w.evil = hostile
	for i := range w.bindings {
		b := &w.bindings[i]
		b.Reason, b.Code, b.Class, b.Origin, b.ServerName, b.ServerVersion, b.Pin = hostile, hostile, hostile, hostile, hostile, hostile, hostile
		b.Revision, b.Digest, b.Position, b.Trust, b.NextTry = hostile, hostile, hostile, hostile, &next
		b.Warnings, b.Tolerances, b.WithheldEnv, b.Stderr = []string{hostile}, []string{hostile}, []string{hostile}, []string{hostile}
		b.History = []integration.History{{Code: hostile, Text: hostile}}
	}
	w.bindings[1].Name = hostile
	for i := range w.tools {
		d := &w.tools[i]
		d.Title, d.Description = hostile, hostile
		d.InputSchema = json.RawMessage(`{"type":"object","title":"\u001b[2J","properties":{"\u001b]0;x\u0007":{"type":"string","title":"\u202e\u009b1m","default":"\u001b[2J"}}}`)
	}
	h := w.head()
	emit := func(e event.Event) { w.events <- event.Record{Event: e, Line: []byte("{}"), Durable: true} }
	emit(&event.TurnStarted{Header: h, Kind: "user", Text: hostile})
	emit(&event.ModelDelta{Header: h, Step: 1, Kind: "text", Text: hostile[:9]})
	emit(&event.ModelDelta{Header: h, Step: 1, Kind: "text", Text: hostile[9:]})
	emit(&event.MessageCompleted{Header: h, Step: 2, Role: content.RoleAssistant, Content: []content.Block{content.Text("# " + hostile + "\n\n[" + hostile + "](" + hostile + ")\n\n```\n" + hostile + "\n```")}})
	emit(&event.ToolRequested{Header: h, Call: "c9", Tool: "mcp:demo:" + hostile, By: "person", Args: json.RawMessage(`{"a":"` + hostile + `"}`)})
	emit(&event.ToolProgress{Header: h, Call: "c9", Message: hostile})
	emit(&event.ToolCompleted{Header: h, Call: "c9", Outcome: tool.Failed, Reason: hostile, Content: []content.Block{content.Text(hostile)}, Structured: json.RawMessage(hostile)})
	emit(&event.Notice{Header: h, Binding: hostile, Level: "warn", Text: hostile})
	emit(&event.BindingStderr{Header: h, Binding: "demo", Line: hostile})
	emit(&event.BindingLog{Header: h, Binding: "demo", Level: hostile, Data: json.RawMessage(hostile)})
	emit(&event.CatalogAdopted{Header: h, CatalogChange: event.CatalogChange{Binding: hostile, From: 1, Generation: 2, Added: []string{hostile}}})
	for _, e := range []gate.Envelope{permissionGate(), formGate(), urlGate(), confirmGate(), serverGate()} {
		e.Prompt.Title, e.Prompt.Body, e.Prompt.Warnings, e.Prompt.Fingerprint = hostile, hostile, []string{hostile}, hostile
		e.Private.URL, e.Prompt.Target, e.Subject.Binding = hostile, hostile, hostile
		for i := range e.Prompt.Launch {
			e.Prompt.Launch[i] = gate.Fact{Label: hostile, Value: hostile}
		}
		for i := range e.Prompt.Calls {
			e.Prompt.Calls[i].Tool, e.Prompt.Calls[i].Title, e.Prompt.Calls[i].Args = "mcp:x:"+hostile, hostile, json.RawMessage(`{"`+hostile+`":1}`)
		}
		if e.Prompt.Schema != nil {
			e.Prompt.Schema.Fields[0].Title, e.Prompt.Schema.Fields[0].Description = hostile, hostile
			e.Prompt.Schema.Fields[2].Options = []form.Option{{Value: json.RawMessage(`1`), Label: hostile}, {Value: json.RawMessage(`2`), Label: hostile}}
		}
		emit(w.open(e))
	}
}

func start2(t *testing.T, mode string, w, h int) *ptytest.Term {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+mode)
	return ptytest.Start(t, cmd, w, h)
}

func restored(t *testing.T, x *ptytest.Term) {
	t.Helper()
	left := x.Restored()
	for _, l := range left {
		t.Error(l)
	}
	if len(left) > 0 {
		out := x.Bytes()
		t.Logf("the last bytes: %q", out[max(0, len(out)-500):])
	}
}

func TestTerminalIsRestoredOnExit(t *testing.T) {
	t.Parallel()
	x := start2(t, "run", 80, 24)
	x.WaitFor(patience, "demo", "○1")
	x.Type("hello", ptytest.Enter)
	x.WaitFor(patience, "send")
	x.Type("/quit", ptytest.Enter)
	if code := x.Wait(patience); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if out := string(x.Bytes()); !strings.Contains(out, `reason=quit`) || !strings.Contains(out, `inputs=["hello"]`) {
		t.Errorf("it ended as %q", out[max(0, len(out)-300):])
	}
	restored(t, x)
}

func TestTerminalIsRestoredOnSignals(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			x := start2(t, "run", 80, 24)
			x.WaitFor(patience, "demo")
			x.Signal(s)
			if code := x.Wait(patience); code != 0 {
				t.Errorf("exit code %d", code)
			}
			if out := string(x.Bytes()); !strings.Contains(out, "reason=signal") {
				t.Errorf("it ended as %q", out[max(0, len(out)-300):])
			}
			restored(t, x)
		})
	}
}

func TestTerminalIsRestoredOnPanicAndCancel(t *testing.T) {
	t.Parallel()
	for mode, reason := range map[string]string{
		"panic-command": "crash", "panic-update": "crash", "panic-view": "crash", "panic-pump": "crash", "cancel": "cancelled",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			x := start2(t, mode, 80, 24)
			if mode == "panic-command" {
				x.WaitFor(patience, "demo")
				x.Type("hello", ptytest.Enter)
			}
			x.Wait(patience)
			if out := string(x.Bytes()); !strings.Contains(out, "reason="+reason) {
				t.Errorf("it ended as %q", out[max(0, len(out)-300):])
			}
			restored(t, x)
			for _, v := range ptytest.Check(x.Bytes(), ptytest.Rules{Titles: []string{"looprig 01JDEMO"}}) {
				t.Errorf("a crash wrote %v", v)
			}
		})
	}
}

func TestHostileTextNeverReachesTheTerminal(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {120, 36}, {40, 12}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			x := start2(t, "hostile", size[0], size[1])
			x.WaitFor(patience, "1 of 5")
			putGatesAside(x)
			x.Type(ptytest.F2)
			x.WaitFor(patience, "Bindings")
			x.Type("jj", ptytest.Enter, "G", ptytest.F3)
			x.WaitFor(patience, "Catalog")
			// What a key opens comes from a command, behind the keys that follow: it
			// is waited for, closed once, and seen to be gone. An escape key is told
			// from a sequence by the pause after it.
			overlay := func(shown bool, patience time.Duration) {
				for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
					if strings.Contains(x.Screen(), "esc close") == shown {
						return
					}
				}
			}
			escape := func() {
				overlay(true, 2*time.Second)
				x.Type(ptytest.Escape)
				time.Sleep(100 * time.Millisecond)
				overlay(false, patience)
			}
			x.Type(ptytest.Enter, "jj")
			escape()
			x.Type("d", ptytest.Enter, "j")
			escape()
			x.Type("d", "J")
			escape()
			x.Type("]", "c", "A") // a prompt with suggestions
			time.Sleep(300 * time.Millisecond)
			x.Type(ptytest.CtrlS)
			x.WaitFor(patience, "Say hello")
			x.Type(ptytest.Enter)
			x.Type(ptytest.F3, "]", "s", "c")
			x.WaitFor(patience, "resource ·")
			escape()
			x.Type(ptytest.F2, "T", ptytest.Enter)
			escape()
			x.Type("L", ptytest.Enter)
			escape()
			x.Type("E")
			x.Type(ptytest.F7)
			x.WaitFor(patience, "stderr and logs")
			x.Resize(100, 30)
			x.Resize(size[0], size[1])
			x.Type("q", ptytest.CtrlC)
			// A ctrl+c that arrives when the terminal is restored already makes the
			// kernel throw away output that has not been read.
			x.WaitFor(patience, "interrupting")
			x.Signal(syscall.SIGTERM)
			if code := x.Wait(patience); code != 0 {
				out := x.Bytes()
				t.Errorf("exit code %d: %q", code, out[max(0, len(out)-400):])
			}
			for i, v := range ptytest.Check(x.Bytes(), ptytest.Rules{Titles: []string{"looprig 01JDEMO"}}) {
				if i < 10 {
					t.Error(v)
				}
			}
			restored(t, x)
		})
	}
}

var gateNumber = regexp.MustCompile(`[0-9] of 5 ─`)

// putGatesAside reads and minimises one gate after another until none is open.
// A gate takes keys only after a person's pause, so that keys may have to be
// pressed again.
func putGatesAside(x *ptytest.Term) {
	for range 60 {
		before := gateNumber.FindString(x.Screen())
		if before == "" {
			return
		}
		time.Sleep(600 * time.Millisecond) // the pause
		x.Type("f", ptytest.Down, "v", ptytest.F6)
		for range 20 {
			if gateNumber.FindString(x.Screen()) != before {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
}

func TestALargePasteIsTakenWhole(t *testing.T) {
	t.Parallel()
	x := start2(t, "run", 80, 24)
	x.WaitFor(patience, "demo")
	start := time.Now()
	x.Paste(strings.Repeat("0123456789abcdef", 10<<20/16))
	x.WaitFor(patience, "[paste 1:")
	t.Logf("a paste of 10 MB took %v", time.Since(start))
	x.Type(ptytest.CtrlC, ptytest.CtrlC)
	x.WaitFor(patience, "again to quit")
	x.Type(ptytest.CtrlC)
	x.Wait(patience)
	restored(t, x)
}

// TestKeysWorkAfterAPasteOfAnOpenSequence: what begins in a paste like an answer
// of the terminal must not be waited for.
func TestKeysWorkAfterAPasteOfAnOpenSequence(t *testing.T) {
	t.Parallel()
	x := start2(t, "run", 80, 24)
	x.WaitFor(patience, "demo")
	x.Paste("one \x1b[31m\x1b]0;two")
	x.WaitFor(patience, "one ␛[31m␛]0;two")
	x.Type(" three")
	x.WaitFor(patience, "two three")
	x.Type(ptytest.CtrlC, ptytest.CtrlC)
	x.WaitFor(patience, "again to quit")
	x.Type(ptytest.CtrlC)
	x.Wait(patience)
	restored(t, x)
}
