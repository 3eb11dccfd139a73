//go:build external

package external_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/looprig/looprig/internal/ptytest"
)

const (
	// patience bounds a wait for the screen; armed is longer than a question that
	// opens by itself absorbs keys.
	patience = time.Minute
	armed    = 450 * time.Millisecond
	// planned is what the user asks for, answered what the model says at last.
	planned  = "read both notes and remember the rig"
	answered = "One note is there, one is not, and the rig is remembered."
	// slowly is answered in many pieces, quickly at once.
	slowly  = "tell it slowly"
	quickly = "and again"
)

// acting is a home with two published servers and a provider of one format, of
// which the user lets the files be read.
func acting(t *testing.T, addr, files, kind string) (home string) {
	t.Helper()
	home = modelHome(t, addr)
	bin := os.Getenv("LOOPRIG_NPM_BIN")
	raw, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"files":  map[string]any{"command": filepath.Join(bin, "mcp-server-filesystem"), "args": []string{files}},
		"memory": map[string]any{"command": filepath.Join(bin, "mcp-server-memory"), "env": map[string]string{"MEMORY_FILE_PATH": filepath.Join(home, "memory.json")}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	conf, err := os.OpenFile(filepath.Join(home, "config.yaml"), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(conf, "model: %s\npolicy: {allow: [\"mcp:files:read_text_file\"]}\n", kind)
	if closing := conf.Close(); err != nil || closing != nil {
		t.Fatal(err, closing)
	}
	for name, data := range map[string][]byte{"mcp.json": raw, "answers.yaml": []byte("- {gate: permission, tool: \"mcp:memory:*\", answer: once}\n")} {
		if err := os.WriteFile(filepath.Join(home, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// script is what the model does: a plan of three calls, then an answer.
func script(files string) []reply {
	plan := wants(
		"I look.",
		[2]string{"mcp__files__read_text_file", fmt.Sprintf(`{"path":%q}`, filepath.Join(files, "note.txt"))},
		[2]string{"mcp__files__read_text_file", fmt.Sprintf(`{"path":%q}`, filepath.Join(files, "missing.txt"))},
		[2]string{"mcp__memory__create_entities", `{"entities":[{"name":"rig","entityType":"thing","observations":["floats"]}]}`},
	)
	return []reply{
		{Match: map[string]any{"userMessage": planned, "hasToolResult": false}, Response: plan},
		{Match: map[string]any{"userMessage": planned, "hasToolResult": true}, Response: says(answered)},
		{Match: map[string]any{"userMessage": slowly}, Response: says(strings.Repeat("slow words come one by one. ", 100)), Latency: 200, ChunkSize: 5},
		{Match: map[string]any{"userMessage": quickly}, Response: says("it goes on")},
	}
}

// deed is what a ledger says of a call, without what differs from run to run.
type deed struct {
	Kind, Source, Tool, Verdict, Rule, Outcome string
	GateKind                                   string `json:"gate_kind"`
	Attempts                                   int
}

// deeds are the ledger's entries on calls, and how the calls went.
func deeds(t *testing.T, home string) []deed {
	t.Helper()
	out, errOut, code := run(t, home, "ledger", "tail", "-n", "1000", "--output", "json")
	if code != 0 {
		t.Fatal(errOut)
	}
	var all []deed
	for line := range strings.Lines(out) {
		var d deed
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if d.Tool != "" && d.Kind != "pin" {
			all = append(all, d)
		}
	}
	// Calls of one step run at once: their entries come in any order.
	slices.SortFunc(all, func(a, b deed) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return all
}

// asks are the calls that a home's sessions were asked for, with their
// arguments as they were sent.
func asks(t *testing.T, home string) []string {
	t.Helper()
	list, errOut, code := run(t, home, "sessions", "list", "--output", "json")
	if code != 0 {
		t.Fatal(errOut)
	}
	var all []string
	for line := range strings.Lines(list) {
		var s struct{ ID, Session string }
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatal(err)
		}
		out, errOut, code := run(t, home, "sessions", "show", s.ID+s.Session, "--output", "json")
		if code != 0 {
			t.Fatal(errOut)
		}
		for line := range strings.Lines(out) {
			var e struct {
				Type, Tool string
				Args       json.RawMessage
			}
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			if e.Type == "tool.requested" {
				all = append(all, e.Tool+string(e.Args))
			}
		}
	}
	return all
}

// One plan of three calls, of which one fails and one needs a permission, over
// every wire format, by a script and by a person at a terminal: the final answer
// arrives in both, and both records say the same.
func TestPlanOverPublishedServers(t *testing.T) {
	for _, f := range formats {
		t.Run(f.kind, func(t *testing.T) {
			t.Parallel()
			files := t.TempDir()
			if err := os.WriteFile(filepath.Join(files, "note.txt"), []byte("a note\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			addr := mock(t, script(files)...)
			headless := acting(t, addr, files, f.kind)
			out, errOut, code := runWith(t, headless, keyed(), "--headless", "-p", planned, "--answers", filepath.Join(headless, "answers.yaml"), "--tofu", "--output", "json")
			all := rows(t, out)
			// Without a person a tool's error that nothing expects is the exit code,
			// whatever the model made of it.
			if done := last(t, all, "turn.completed"); code != 5 || done.Text != answered {
				t.Errorf("exit %d, %+v %s", code, done, errOut)
			}
			var outcomes []string
			for _, r := range all {
				if r.Type == "tool.completed" {
					outcomes = append(outcomes, r.Tool+" "+r.Outcome)
				}
			}
			slices.Sort(outcomes)
			if want := []string{"mcp:files:read_text_file ok", "mcp:files:read_text_file tool_error", "mcp:memory:create_entities ok"}; !slices.Equal(outcomes, want) {
				t.Errorf("the calls went %q", outcomes)
			}

			seat := acting(t, addr, files, f.kind)
			x := seated(t, seat)
			x.line(planned)
			x.WaitFor(patience, "permission · memory ▸ create_entities")
			time.Sleep(armed)
			x.Type("a")
			x.WaitFor(patience, answered)
			x.quit()
			if a, b := deeds(t, headless), deeds(t, seat); len(a) == 0 || !slices.Equal(a, b) {
				t.Errorf("the ledgers differ:\n%+v\n%+v", a, b)
			}
			if a, b := asks(t, headless), asks(t, seat); len(a) != 3 || !slices.Equal(a, b) {
				t.Errorf("the calls differ:\n%q\n%q", a, b)
			}
			for _, home := range []string{headless, seat} {
				if out, errOut, code := run(t, home, "ledger", "verify", "--output", "json"); code != 0 || !strings.Contains(out, `"intents":3`) || !strings.Contains(out, `"open_total":0`) {
					t.Errorf("ledger verify: exit %d, %s %s", code, out, errOut)
				}
				withoutKey(t, home)
			}
		})
	}
}

// A user who stops the model in mid-stream, at a terminal or of a script, has a
// session that goes on.
func TestStoppedSessionGoesOn(t *testing.T) {
	for _, f := range formats {
		t.Run(f.kind, func(t *testing.T) {
			t.Parallel()
			files := t.TempDir()
			home := acting(t, mock(t, script(files)...), files, f.kind)
			x := seated(t, home)
			x.line(slowly)
			x.WaitFor(patience, "slow words come")
			x.Type(ptytest.Escape)
			x.WaitFor(patience, "interrupted")
			x.line(quickly)
			x.WaitFor(patience, "it goes on")
			x.quit()
			out, errOut, code := runWith(t, home, keyed(), "--headless", "--continue", "-p", quickly, "--output", "json")
			all := rows(t, out)
			if done := last(t, all, "turn.completed"); code != 0 || done.Text != "it goes on" {
				t.Errorf("exit %d, %+v %s", code, done, errOut)
			}
			if !slices.ContainsFunc(all, func(r row) bool { return r.Type == "session.restored" }) {
				t.Errorf("another session: %s", out)
			}
			withoutKey(t, home)
		})
	}
}

// withoutKey holds a home to having no key in any file.
func withoutKey(t *testing.T, home string) {
	t.Helper()
	err := filepath.WalkDir(home, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if strings.Contains(string(raw), testKey) {
			t.Errorf("the key is in %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// seat is the interface in a terminal.
type seat struct {
	*ptytest.Term
	t *testing.T
}

// seated starts the interface and waits for both servers.
func seated(t *testing.T, home string) *seat {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), looprig, "--tofu")
	cmd.Env = append(append(os.Environ(), "LOOPRIG_HOME="+home), keyed()...)
	x := &seat{ptytest.Start(t, cmd, 110, 36), t}
	x.WaitFor(patience, "●2")
	return x
}

func (x *seat) line(text string) {
	x.t.Helper()
	x.Type(text)
	x.WaitFor(patience, "> "+text)
	x.Type(ptytest.Enter)
}

// quit leaves by the keyboard.
func (x *seat) quit() {
	x.t.Helper()
	// The first presses close and clear what is open.
	next := time.Now()
	x.Until(patience, "a hint how to quit", func(s string) bool {
		if strings.Contains(s, "again to quit") {
			return true
		}
		if now := time.Now(); now.After(next) {
			next = now.Add(armed)
			x.Type(ptytest.CtrlC)
		}
		return false
	})
	x.Type(ptytest.CtrlC)
	if code := x.Wait(patience); code != 0 {
		x.t.Errorf("the interface ended with exit code %d", code)
	}
}
