//go:build integration && linux

package acceptance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/looprig/looprig/internal/ptytest"
)

// resumeSeed makes the moments of TestContinueAfterRandomKills.
const resumeSeed = 20261201

// resume runs looprig with a session of before.
func (w *world) resume(script string, flags ...string) *run {
	w.t.Helper()
	path := w.write("resume.yaml", script)
	r := w.run(append([]string{"--headless", "--tofu", "--output", "json", "--script", path}, flags...)...)
	if len(r.stdout) > 0 {
		r.parse()
	}
	return r
}

// restoredEvent is what tests look at of session.restored.
type restoredEvent struct {
	Turns         int      `json:"turns"`
	Messages      int      `json:"messages"`
	Indeterminate []string `json:"indeterminate"`
	Reinstalled   int      `json:"reinstalled"`
	Withdrawn     int      `json:"withdrawn"`
	Unfinished    bool     `json:"unfinished"`
}

func (r *run) restored() restoredEvent {
	r.t.Helper()
	all := r.of("session.restored")
	if len(all) != 1 || r.events[0].Type != "session.restored" {
		r.t.Fatalf("%d times session.restored\n%s\nstderr: %s", len(all), r.outline(), r.stderr)
	}
	var e restoredEvent
	if err := json.Unmarshal([]byte(all[0].line), &e); err != nil {
		r.t.Fatal(err)
	}
	return e
}

// sound holds a session's journal to what is true whatever happened to it.
func (w *world) sound(session string) {
	w.t.Helper()
	asked, done := map[string]int{}, map[string]int{}
	for i, line := range bytes.Split(bytes.TrimSpace(w.journal(session)), []byte("\n")) {
		var e event
		if err := json.Unmarshal(line, &e); err != nil || e.Seq != uint64(i+1) {
			w.t.Fatalf("line %d of the journal: %v: %s", i+1, err, line)
		}
		switch e.Type {
		case "tool.requested":
			asked[e.Call]++
		case "tool.completed":
			done[e.Call]++
		}
	}
	for call, n := range asked {
		if n != 1 || done[call] != 1 {
			w.t.Errorf("call %s was asked for %d times and has %d outcomes", call, n, done[call])
		}
	}
	rep := w.verify()
	if rep.OpenTotal != 0 || rep.Intents != rep.Outcomes {
		w.t.Errorf("the ledger has %+v", rep)
	}
}

// The process ends while the server has the call and has not replied: the resumed
// session names that one call, and nothing is sent again.
func TestResumeAfterDeathInACall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	servers := "servers: {" + w.server("good", "basic", "") + ", " + w.server("fx", "stall", "") + "}\n"
	text := "version: 1\n" + servers + "allow: [\"mcp:*\"]\nsteps:\n"
	for n := range 5 {
		text += fmt.Sprintf("  - call: {tool: mcp__good__alpha, args: {n: %d}}\n", n)
	}
	text += "  - call: {tool: mcp__fx__stall, args: {n: 5}}\n"
	cmd, finish := w.started("--headless", "--tofu", "--output", "json", "--script", w.write("kill.yaml", text))
	w.await("the call", 30*time.Second, func() bool { return len(w.log("fx").Calls("stall")) > 0 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	finish()
	w.gone("fx", killWait)
	w.gone("good", killWait)
	session := w.sessions()[0]
	unknown := w.run("sessions", "show", session[:25], "--coverage", "--output", "json").want(0)
	if !bytes.Contains(unknown.stdout, []byte(`"open":["c6"]`)) {
		t.Errorf("%s", unknown.stdout)
	}
	after := "version: 1\n" + servers + "allow: [\"mcp:*\"]\nsteps:\n  - call: {tool: mcp__good__alpha, args: {n: 6}}\n"
	r := w.resume(after, "--resume", session[:25]).want(0)
	e := r.restored()
	if len(e.Indeterminate) != 1 || e.Indeterminate[0] != "c6" || e.Turns != 5 || !e.Unfinished {
		t.Errorf("%+v", e)
	}
	outcomes := r.of("tool.completed")
	if len(outcomes) != 2 || outcomes[0].Call != "c6" || outcomes[0].Outcome != "indeterminate" || !outcomes[0].Sent || outcomes[1].Call != "c7" {
		t.Errorf("%+v", outcomes)
	}
	if n, m := len(w.log("fx").Calls("")), len(w.log("good").Calls("")); n != 1 || m != 6 {
		t.Errorf("the servers received %d and %d calls", n, m)
	}
	if e := w.resume(after, "--continue").want(0).restored(); len(e.Indeterminate) != 0 || e.Unfinished {
		t.Errorf("a second time: %+v", e)
	}
	shown := w.run("sessions", "show", session).want(0)
	if !bytes.Contains(shown.stdout, []byte("c6 mcp:fx:stall indeterminate")) {
		t.Errorf("nobody sees it:\n%s", shown.stdout)
	}
	w.sound(session)
}

// The server dies in mid-call: the session goes on, the call is indeterminate in
// it, and was received once.
func TestResumeAfterTheServerDied(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := "version: 1\nservers: {" + w.server("fx", "crash-in-call", "") + "}\nallow: [\"mcp:*\"]\n" +
		"replies:\n  - call: [{tool: mcp__fx__crash, args: {}}]\n  - say: sad\nsteps:\n  - user: do it\n    expect: ['.tools[0].outcome == \"indeterminate\"']\n"
	w.script(text).want(0)
	session := w.sessions()[0]
	again := "version: 1\nservers: {" + w.server("fx", "crash-in-call", "") + "}\nreplies: [{say: well}]\nsteps:\n  - user: and now\n"
	e := w.resume(again, "--resume", session).want(0).restored()
	if e.Messages != 4 || len(e.Indeterminate) != 0 {
		t.Errorf("%+v", e)
	}
	if n := len(w.log("fx").Calls("crash")); n != 1 {
		t.Errorf("received %d times", n)
	}
	cover := w.run("sessions", "show", session, "--coverage", "--output", "json").want(0)
	if !bytes.Contains(cover.stdout, []byte(`"indeterminate":1`)) {
		t.Errorf("%s", cover.stdout)
	}
	w.sound(session)
}

// askHome is a home whose policy asks about every call of its one server.
func askHome(t *testing.T) (*world, func() int) {
	t.Helper()
	w := newWorld(t)
	w.seed("config.yaml", "policy: {operator: ask}\n")
	script := w.write("dangerous.yaml", dangerous)
	w.run("mcp", "add", "fx", "--", w.fake, "--script", script, "--log", w.path("fx.log")).want(0)
	return w, func() int { return len(w.log("fx").Calls("alpha")) }
}

// killed leaves a process behind that dies with a question open.
func (w *world) killedAsking() {
	w.t.Helper()
	x := w.terminal(80, 24)
	x.see("●1", "gen 1")
	x.line("/call fx alpha {}")
	x.see("permission · fx ▸ alpha")
	x.seen()
	if err := syscall.Kill(x.Pid(), syscall.SIGKILL); err != nil {
		w.t.Fatal(err)
	}
	w.gone("fx", killWait)
}

// A question that was open is open again, and its answer makes the call: once.
func TestResumeWithAnOpenPermission(t *testing.T) {
	t.Parallel()
	for _, person := range []bool{false, true} {
		t.Run(strconv.FormatBool(person), func(t *testing.T) {
			t.Parallel()
			w, calls := askHome(t)
			w.killedAsking()
			if calls() != 0 {
				t.Fatal("a call that nobody allowed was made")
			}
			session := w.sessions()[0]
			if person {
				x := w.terminal(80, 24, "--resume", session)
				x.gate("permission · fx ▸ alpha")
				x.Type("a")
				x.see("alpha answers", "the session goes on")
				x.quit()
			} else {
				r := w.resume("version: 1\nanswers: [{gate: permission, tool: \"mcp:fx:*\", answer: once, times: 1}]\nsteps:\n  - wait: {binding: fx, state: ready}\n", "--continue").want(0)
				if e := r.restored(); e.Reinstalled != 1 || e.Withdrawn != 0 {
					t.Errorf("%+v", e)
				}
				if c := r.of("tool.completed"); len(c) != 1 || c[0].Outcome != "ok" || len(r.of("turn.completed")) != 1 || len(r.of("gate.opened")) != 0 {
					t.Errorf("%s", r.outline())
				}
			}
			if calls() != 1 {
				t.Errorf("the server was called %d times", calls())
			}
			w.sound(session)
		})
	}
}

// A fork goes on by itself; its parent, which others may have open, is as it was.
func TestForkOfASession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	servers := "version: 1\nservers: {" + w.server("fx", "basic", "") + "}\nallow: [\"mcp:*\"]\nsteps:\n"
	step := "  - call: {tool: mcp__fx__alpha, args: {n: %d}}\n"
	w.script(servers + fmt.Sprintf(step+step, 1, 2)).want(0)
	parent := w.sessions()[0]
	before := w.journal(parent)
	made := w.run("sessions", "fork", parent, "--turn", "t1", "--output", "json").want(0)
	var fork struct{ Session, Parent string }
	if err := json.Unmarshal(made.stdout, &fork); err != nil || fork.Parent != parent {
		t.Fatalf("%v: %s", err, made.stdout)
	}
	r := w.resume(servers+fmt.Sprintf(step, 3), "--resume", fork.Session).want(0)
	if e := r.restored(); e.Turns != 1 || e.Messages != 1 {
		t.Errorf("%+v", e)
	}
	if c := r.of("tool.completed"); len(c) != 1 || c[0].Call != "c2" {
		t.Errorf("%+v", c)
	}
	direct := w.resume(servers+fmt.Sprintf(step, 4), "--resume", parent, "--fork").want(0)
	if e := direct.restored(); e.Turns != 2 || direct.events[0].Session == parent {
		t.Errorf("%+v", e)
	}
	if !bytes.Equal(w.journal(parent), before) {
		t.Error("the parent has changed")
	}
	w.run("sessions", "fork", parent, "--turn", "t7").want(2)
	refused := w.run("sessions", "delete", parent, "--yes").want(2)
	if !bytes.Contains(refused.stderr, []byte("--with-forks")) {
		t.Errorf("%s", refused.stderr)
	}
	w.run("sessions", "delete", parent, "--yes", "--with-forks").want(0)
	if left := w.sessions(); len(left) != 0 {
		t.Errorf("%v", left)
	}
	w.verify()
}

// A changed configuration is named field by field, and refused until somebody
// accepts it; nothing is started, and nobody calls it damage.
func TestResumeUnderAnotherConfiguration(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	with := func(extra string) string {
		return "version: 1\nservers: {" + w.server("fx", "basic", extra) + "}\nallow: [\"mcp:*\"]\nsteps:\n  - call: {tool: mcp__fx__alpha}\n"
	}
	w.script(with("")).want(0)
	session := w.sessions()[0]
	w.seed("config.yaml", "policy: {deny: [\"mcp:other:*\"]}\n")
	received := len(w.log("fx"))
	refused := w.resume(with("trustAnnotations: true"), "--resume", session).want(2)
	if len(refused.stdout) > 0 || len(w.log("fx")) != received {
		t.Error("something was started")
	}
	for _, part := range []string{"bindings.fx (warn): was hmac-sha256:", "bindings.fx.trust (break): added", "policy (break): was sha256:", "--accept-drift", `"config_drift"`} {
		if !bytes.Contains(refused.stderr, []byte(part)) {
			t.Errorf("no %q in %s", part, refused.stderr)
		}
	}
	if strings.Contains(string(refused.stderr), "damage") || strings.Contains(string(refused.stderr), "corrupt") {
		t.Errorf("%s", refused.stderr)
	}
	w.resume(with("trustAnnotations: true"), "--resume", session, "--accept-drift").want(0)
	w.resume(with("trustAnnotations: true"), "--resume", session).want(0)
	drifts := 0
	for line := range bytes.Lines(w.journal(session)) {
		if bytes.Contains(line, []byte(`"config.drift"`)) {
			drifts++
		}
	}
	if drifts != 2 {
		t.Errorf("%d decisions are on record", drifts)
	}
	w.sound(session)

	// A person is asked, before the interface comes.
	x := w.terminal(80, 24, "--resume", session)
	x.see("bindings.fx", "removed", "[y/N]")
	x.Type("n\r")
	if code := x.Wait(patience); code != 2 {
		t.Errorf("exit code %d", code)
	}
}

// However a run is killed, the session goes on.
func TestContinueAfterRandomKills(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(resumeSeed, 0))
	t.Logf("seed %d", resumeSeed)
	for i := range 10 {
		calls, later := random.IntN(20), time.Duration(random.IntN(20_000))*time.Microsecond
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			cmd, finish := w.started("--headless", "--tofu", "--output", "json", "--script", w.killScript())
			w.await("the moment", 30*time.Second, func() bool { return len(w.log("good").Calls("")) >= calls })
			time.Sleep(later) // the random moment itself, not a synchronisation
			if err := cmd.Process.Signal(os.Kill); err != nil {
				t.Fatal(err)
			}
			finish()
			w.gone("fx", killWait)
			w.gone("good", killWait)
			received := len(w.log("good").Calls("")) + len(w.log("fx").Calls(""))
			after := "version: 1\nservers: {" + w.server("good", "basic", "") + ", " + w.server("fx", "stall", "") +
				"}\nallow: [\"mcp:*\"]\nsteps:\n  - call: {tool: mcp__good__alpha, args: {n: 99}}\n"
			r := w.resume(after, "--continue").want(0)
			if e := r.restored(); len(e.Indeterminate) > 1 || !e.Unfinished {
				t.Errorf("%+v", e)
			}
			if n := len(w.log("good").Calls("")) + len(w.log("fx").Calls("")); n != received+1 {
				t.Errorf("%d calls were received before, %d after", received, n)
			}
			w.sound(w.sessions()[0])
		})
	}
}

// In the interface the sessions of the home are listed, and another one is gone
// on with, or a copy of it.
func TestTerminalSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal(80, 24)
	x.see("●1", "gen 1")
	x.line("/call demo add {\"a\":2,\"b\":3}")
	x.see("✔ ok")
	x.quit()
	first := w.sessions()[0]
	x = w.terminal(80, 24)
	x.see("●1", "gen 1")
	x.Type("\x1b[15~") // F5
	x.see("sessions", "mcp:demo:add", "closed", "this one")
	x.Type(ptytest.Down, ptytest.Enter)
	x.see("the session goes on", "1 turn before", "✔ ok", "●1")
	x.line("/sessions add")
	x.see("with “add”", "this one")
	x.Type("\x06") // a copy of it
	x.Until(patience, "the copy in the place of its original", func(s string) bool {
		return !strings.Contains(s, first) && strings.Contains(s, "the session goes on") && strings.Contains(s, "●1")
	})
	x.quit()
	all := w.sessions()
	if len(all) != 3 {
		t.Errorf("%d sessions", len(all))
	}
	if n := bytes.Count(w.journal(first), []byte(`"type":"session.restored"`)); n != 1 {
		t.Errorf("the first session was gone on with %d times", n)
	}
}
