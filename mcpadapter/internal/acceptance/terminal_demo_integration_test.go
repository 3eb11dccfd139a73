//go:build integration && linux

package acceptance

import (
	"strings"
	"testing"

	"github.com/looprig/looprig/internal/ptytest"
)

// TestTerminalDemo is what a person does first: a call by a form, a question
// answered in three ways, a catalog that changes, a binding switched off and on.
func TestTerminalDemo(t *testing.T) {
	t.Parallel()
	for name, size := range sizes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			x := w.terminal(size[0], size[1])
			wide := size[0] >= 110
			if wide {
				x.see("BINDINGS", "● demo      ready", "gen 1", "11 tools")
			} else {
				x.see("●1", "gen 1", "demo") // the strip has room for the newest notice alone
			}

			x.line("/call demo add")
			x.see("call · demo add", "First number", "Second number")
			x.Type("2", ptytest.Tab, "3", ptytest.CtrlS)
			x.see("✔ ok", `"sum": 5`)

			x.line("/call demo ask-name")
			x.gate("form · demo", "Name *", "Age", "Green", "Tools", "Newsletter", "yes")
			x.Type("Ada", ptytest.Tab, "36", ptytest.CtrlS)
			x.see("accepted:", `"age":36`, `"colour":"green"`, `"topics":`, `"newsletter":true`)
			x.line("/call demo ask-name")
			x.gate("form · demo")
			x.Type(ptytest.CtrlD)
			x.see("declined", `"action": "decline"`)
			x.line("/call demo ask-name")
			x.gate("form · demo")
			x.escape()
			x.see("cancelled", `"action": "cancel"`)

			x.line("/call demo evolve")
			s := x.see("catalog changed", "gen 1 → 2", "+1 ~1", "+tools/greet")
			if wide && strings.Count(s, "gen 1 → 2") < 2 {
				t.Errorf("the status pane does not show the change:\n%s", s)
			}

			x.Type(ptytest.F2)
			x.see("Bindings", "● ready")
			x.Type("e")
			x.see("○ disabled", "disable done")
			x.Type("e")
			x.see("● ready", "enable done")
			x.leave()
			x.line("/call demo echo")
			x.see("call · demo echo")
			x.Type("back again", ptytest.CtrlS)
			x.see("echo", "back again", "✔ ok")
			x.quit()
			w.verify()
		})
	}
}

// TestTerminalQueuesBehindARunningTurn queues inputs behind a running turn, and
// changes the catalog by the first.
func TestTerminalQueuesBehindARunningTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal(120, 36)
	x.see("● demo      ready")
	x.line(`/call demo slow {"seconds":30}`)
	x.see("slow", "running")
	x.line("/call demo evolve")
	x.line("/call demo echo {\"text\":\"last\"}")
	x.see("queued")
	if s := x.Screen(); strings.Contains(s, "gen 1 → 2") {
		t.Errorf("a queued call ran:\n%s", s)
	}
	x.escape() // interrupts the turn alone
	x.see("cancelled", "gen 1 → 2", "last")
	x.quit()
}

// TestTerminalForms compares what a person did with what the server received.
func TestTerminalForms(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.install("fx", "forms")
	x := w.terminal(80, 24)
	x.see("fx", "●1")
	for i, answer := range []func(){
		func() { // Ratio, Count, Remark (left), Agreed (left), Size
			x.Type("0.5", ptytest.Tab, "9007199254740993", ptytest.Tab, ptytest.Tab, ptytest.Tab, ptytest.Down, ptytest.Tab)
			x.Type(ptytest.CtrlS)
		},
		func() { x.Type(ptytest.CtrlD) },
		func() { x.escape() },
	} {
		x.line("/call fx ask")
		x.gate("form · fx", "Ratio", "Count", "Agreed")
		answer()
		x.unsee("form · fx")
		w.await("the answer", patience, func() bool { return len(w.log("fx").Answers()) > i })
	}
	x.quit()
	want := []string{
		`{"action":"accept","content":{"ratio":0.5,"count":9007199254740993,"agreed":true,"size":"s"}}`,
		`{"action":"decline"}`, `{"action":"cancel"}`,
	}
	answers := w.log("fx").Answers()
	if len(answers) != len(want) {
		t.Fatalf("%d answers: %s", len(answers), answers)
	}
	for i := range want {
		if !sameAnswer(t, answers[i], want[i]) {
			t.Errorf("answer %d is %s, not %s", i, answers[i], want[i])
		}
	}
}
