//go:build integration && linux

package acceptance

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/looprig/looprig/internal/ptytest"
	"github.com/looprig/looprig/mcpadapter/internal/fixture"
)

const (
	// patience bounds every wait for something to appear on a screen.
	patience = 20 * time.Second
	// armed is longer than a gate that opened by itself absorbs keys.
	armed = 450 * time.Millisecond
	// apart separates an escape key from the key after it, as a person does:
	// bytes that arrive together are one sequence.
	apart = 120 * time.Millisecond
	ctrlX = "\x18"
	ctrlZ = "\x1a"
)

// sizes are the two sizes that the screens were drawn for.
var sizes = map[string][2]int{"80x24": {80, 24}, "120x36": {120, 36}}

// terminal is looprig in a pseudo-terminal, in a world of its own.
type terminal struct {
	*ptytest.Term
	w    *world
	t    testing.TB
	kids []int // processes below it, as far as they were seen
}

// terminal starts the interface.
func (w *world) terminal(wide, high int, args ...string) *terminal {
	w.t.Helper()
	return w.terminalEnv(wide, high, nil, args...)
}

// terminalEnv starts the interface with more variables; they stand behind the
// ones that the terminal sets and win.
func (w *world) terminalEnv(wide, high int, env []string, args ...string) *terminal {
	w.t.Helper()
	cmd := w.command(context.Background(), args...)
	if len(env) > 0 {
		cmd.Args = slices.Concat([]string{"env"}, env, []string{w.looprig}, args)
		path, err := exec.LookPath("env")
		if err != nil {
			w.t.Fatal(err)
		}
		cmd.Path = path
	}
	return &terminal{Term: ptytest.Start(w.t, cmd, wide, high), w: w, t: w.t}
}

// see is WaitFor with the usual patience.
func (x *terminal) see(texts ...string) string {
	x.t.Helper()
	return x.WaitFor(patience, texts...)
}

// unsee waits until a text is gone.
func (x *terminal) unsee(text string) string {
	x.t.Helper()
	return x.Until(patience, "end of "+text, func(s string) bool { return !strings.Contains(s, text) })
}

// line writes a line in the composer and sends it.
func (x *terminal) line(text string) {
	x.t.Helper()
	x.Type(text)
	x.see("> " + text)
	x.Type(ptytest.Enter)
}

// gate waits for a gate that opens by itself, and until it takes keys.
func (x *terminal) gate(texts ...string) string {
	x.t.Helper()
	x.see(texts...)
	// Its quiet time cannot be seen on every kind of gate.
	time.Sleep(armed)
	return x.see(texts...)
}

// escape presses the escape key alone, and waits until what it leaves has gone.
func (x *terminal) escape(gone ...string) {
	x.t.Helper()
	time.Sleep(apart)
	x.Type(ptytest.Escape)
	time.Sleep(apart)
	for _, text := range gone {
		x.unsee(text)
	}
}

// leave goes back from a screen.
func (x *terminal) leave() { x.t.Helper(); x.escape("esc back") }

// seen remembers the processes below looprig.
func (x *terminal) seen() []int {
	todo := []int{x.Pid()}
	for len(todo) > 0 {
		pid := todo[0]
		todo = todo[1:]
		lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
		for _, l := range lists {
			b, _ := os.ReadFile(l)
			for _, f := range strings.Fields(string(b)) {
				if n, err := strconv.Atoi(f); err == nil {
					todo = append(todo, n)
					x.kids = append(x.kids, n)
				}
			}
		}
	}
	return x.kids
}

// quit leaves by the keyboard and holds the end to what it promises.
func (x *terminal) quit() {
	x.t.Helper()
	x.seen()
	// The first presses close and clear what is open.
	next := time.Now()
	x.Until(patience, "a hint how to quit", func(s string) bool {
		if strings.Contains(s, "again to quit") {
			return true
		}
		if now := time.Now(); now.After(next) {
			next = now.Add(4 * apart)
			x.Type(ptytest.CtrlC)
		}
		return false
	})
	x.Type(ptytest.CtrlC)
	x.end(0, "quit")
}

// end waits for the program's end: its exit code, the terminal as it was, only
// allowed bytes, a closed session and no process left.
func (x *terminal) end(code int, reason string) {
	x.t.Helper()
	if got := x.Wait(patience); got != code {
		x.t.Errorf("exit code %d, not %d; it wrote at last %q", got, code, tailOf(x.Bytes()))
	}
	for _, left := range x.Restored() {
		x.t.Errorf("the terminal is not as it was: %s", left)
	}
	closed := x.w.closed()
	if closed.ExitCode == nil || *closed.ExitCode != code || closed.Reason != reason {
		x.t.Errorf("the session ended with %s, not with exit code %d and %s", closed.line, code, reason)
	}
	x.lawful()
	x.orphans()
}

// lawful holds every byte to the allow-list.
func (x *terminal) lawful() {
	x.t.Helper()
	rules := ptytest.Rules{}
	for _, id := range x.w.sessions() {
		rules.Titles = append(rules.Titles, "looprig "+id)
	}
	for i, v := range ptytest.Check(x.Bytes(), rules) {
		if i == 5 {
			x.t.Error("and more")
			break
		}
		x.t.Error(v)
	}
}

// orphans waits until no process is left that ran below looprig.
func (x *terminal) orphans() {
	x.t.Helper()
	deadline := time.Now().Add(killWait)
	for left := alive(x.kids); len(left) > 0; left = alive(x.kids) {
		if time.Now().After(deadline) {
			x.t.Errorf("processes %v outlived looprig", left)
			return
		}
		time.Sleep(pollEvery)
	}
}

func tailOf(b []byte) []byte { return b[max(0, len(b)-400):] }

// sessions are the ids of the sessions of the home, the newest first.
func (w *world) sessions() []string {
	w.t.Helper()
	var out []string
	for line := range strings.Lines(string(w.run("sessions", "list", "--output", "json").want(0).stdout)) {
		var s struct {
			ID      string `json:"id"`
			Session string `json:"session"`
		}
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			w.t.Fatalf("%v: %s", err, line)
		}
		if s.ID == "" {
			s.ID = s.Session
		}
		out = append(out, s.ID)
	}
	return out
}

// events are the newest session's events.
func (w *world) events() *run {
	w.t.Helper()
	ids := w.sessions()
	if len(ids) == 0 {
		w.t.Fatal("the home has no session")
	}
	r := &run{t: w.t}
	for line := range strings.Lines(string(w.journal(ids[0]))) {
		e := event{line: strings.TrimSpace(line)}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			w.t.Fatalf("%v: %s", err, line)
		}
		r.events = append(r.events, e)
	}
	return r
}

// closed is how the newest session ended.
func (w *world) closed() event {
	w.t.Helper()
	es := w.events().of("session.closed")
	if len(es) != 1 {
		w.t.Errorf("the session was closed %d times", len(es))
		return event{}
	}
	return es[0]
}

// homeFile is a file of the home, empty when there is none.
func (w *world) homeFile(name string) string {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.home, name))
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	return string(b)
}

// seed writes a file of the home before the first start.
func (w *world) seed(name, text string) {
	w.t.Helper()
	if err := os.MkdirAll(w.home, 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.home, name), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// install adds a fixture server to the home as a person would, which pins it.
func (w *world) install(name, scenario string, settings ...string) {
	w.t.Helper()
	w.run(slices.Concat([]string{"mcp", "add", name, "--"}, w.fakeCommand(name, scenario, settings...))...).want(0)
}

// fakeCommand is the command line of a fixture server with the log NAME.log.
func (w *world) fakeCommand(name, scenario string, settings ...string) []string {
	set := map[string]string{}
	for _, s := range settings {
		k, v, _ := strings.Cut(s, "=")
		set[k] = v
	}
	return append([]string{w.fake}, fixture.Args(scenario, w.path(name+".log"), set)...)
}
