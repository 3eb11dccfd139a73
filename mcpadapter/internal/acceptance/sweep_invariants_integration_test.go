//go:build integration && linux

package acceptance

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// canary is a secret that no file of a home may ever hold.
const canary = "canary-4f1d9c2a77e0"

// mutating is a server whose tool counts, and one that kills its parent, looprig,
// when it receives the n-th call, before it replies.
func mutating(killAt int) string {
	rules := ""
	if killAt > 0 {
		rules = fmt.Sprintf("  - {tool: write, nth: %d, do: [{killParent: true}, {stall: true}]}\n", killAt)
	}
	return `
catalogs:
  first:
    tools:
      - '{"name":"write","description":"Writes.","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}}},"annotations":{"readOnlyHint":false}}'
rules:
` + rules + `  - {tool: write, do: [{result: '{"content":[{"type":"text","text":"written"}]}'}]}
`
}

// playing is the entry of a server that plays a script file, with the canary in
// its environment.
func (w *world) playing(name, script string) string {
	w.t.Helper()
	path := w.write(name+"-rules.yaml", script)
	args, err := json.Marshal([]string{"--script", path, "--log", w.path(name + ".log")})
	if err != nil {
		w.t.Fatal(err)
	}
	return fmt.Sprintf("%s: {command: %q, args: %s, env: {TOKEN: \"${TOKEN}\"}}", name, w.fake, args)
}

// writes is a script of n calls that write, each told apart by its argument, by a
// model and by the operator in turns.
func writes(name, server string, from, n int) string {
	var replies, steps strings.Builder
	for i := from; i < from+n; i++ {
		if i%2 == 0 {
			fmt.Fprintf(&steps, "  - call: {tool: mcp__%s__write, args: {n: %d}}\n", name, i)
			continue
		}
		fmt.Fprintf(&replies, "  - call: [{tool: mcp__%s__write, args: {n: %d}}]\n  - say: done\n", name, i)
		fmt.Fprintf(&steps, "  - user: write %d\n", i)
	}
	text := "version: 1\nservers: {" + server + "}\nmodel: scripted\n"
	if replies.Len() > 0 {
		text += "replies:\n" + replies.String()
	}
	return text + "allow: [\"mcp:" + name + ":*\"]\nsteps:\n" + steps.String()
}

// received are the digests of the arguments of the calls that a server received,
// with how often.
func (w *world) received(name string) map[string]int {
	w.t.Helper()
	out := map[string]int{}
	for _, e := range w.log(name).Calls("") {
		var p struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		}
		if err := json.Unmarshal(e.Params, &p); err != nil {
			w.t.Fatal(err)
		}
		sum := sha256.Sum256(p.Arguments)
		out["mcp:"+name+":"+p.Name+" sha256:"+hex.EncodeToString(sum[:])]++
	}
	return out
}

// intended are the calls that have an intent in the ledger, as received has them.
// What they were to send is in the journal, which is kept together with it.
func (w *world) intended() map[string]int {
	w.t.Helper()
	intents := map[string]int{}
	if w.verify().Entries > 0 {
		for _, e := range w.ledger() {
			if e.Kind == "intent" {
				intents[e.Session+" "+e.Call]++
			}
		}
	}
	out := map[string]int{}
	for _, session := range w.sessions() {
		for line := range bytes.Lines(w.journal(session)) {
			var e struct {
				Type, Call, Tool string
				Args             json.RawMessage
			}
			if err := json.Unmarshal(line, &e); err != nil {
				w.t.Fatal(err)
			}
			if e.Type != "tool.started" {
				continue
			}
			if n := intents[session+" "+e.Call]; n != 1 {
				w.t.Errorf("call %s of session %s was started and has %d intents", e.Call, session, n)
			}
			sum := sha256.Sum256(e.Args)
			out[e.Tool+" sha256:"+hex.EncodeToString(sum[:])]++
		}
	}
	return out
}

// invariants holds a home, in which a process was ended by force and whatever else
// happened, to the seven: what was printed is a beginning of the journal (1, 2),
// each call that was received has its intent (3), and was received once (4),
// numbers are without a gap (5), the ledger verifies and the home takes more (6),
// and no file has the secret (7). The journal belongs to the session whose output
// printed is.
func (w *world) invariants(printed []byte) {
	w.t.Helper()
	w.verify()
	intents := w.intended()
	for key, n := range w.received("fx") {
		if intents[key] != n || n != 1 {
			w.t.Errorf("%s was received %d times and has %d intents", key, n, intents[key])
		}
	}
	printed = printed[:bytes.LastIndexByte(printed, '\n')+1]
	for _, session := range w.sessions() {
		journal := w.journal(session)
		if bytes.Contains(printed, []byte(session)) && !bytes.HasPrefix(journal, printed) {
			w.t.Errorf("what was printed is not the journal's beginning:\n%s\n---\n%s", printed, journal)
		}
		for i, line := range bytes.Split(bytes.TrimSpace(journal), []byte("\n")) {
			var e event
			if err := json.Unmarshal(line, &e); err != nil || e.Seq != uint64(i+1) {
				w.t.Fatalf("line %d of session %s: %v: %s", i+1, session, err, line)
			}
		}
	}
	w.noCanary()
}

// noCanary looks through every file of the home.
func (w *world) noCanary() {
	w.t.Helper()
	root, err := os.OpenRoot(w.home)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	entries, err := os.ReadDir(w.home)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		if b, err := root.ReadFile(e.Name()); err == nil && bytes.Contains(b, []byte(canary)) {
			w.t.Errorf("%s has the secret", e.Name())
		}
	}
}

// with is looprig with the secret in its environment.
func (w *world) secretly(ctx context.Context, args ...string) *exec.Cmd {
	cmd := w.command(ctx, args...)
	cmd.Env = append(cmd.Env, "TOKEN="+canary)
	return cmd
}

// collect runs a command to its end, however that comes about.
func (w *world) collect(cmd *exec.Cmd) *run {
	w.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var ended *exec.ExitError
	// A deadline that comes when the process has just ended well is its error.
	if err != nil && !errors.As(err, &ended) && !errors.Is(err, context.DeadlineExceeded) {
		w.t.Fatal(err)
	}
	return &run{t: w.t, code: cmd.ProcessState.ExitCode(), stdout: stdout.Bytes(), stderr: stderr.Bytes()}
}

// goOn continues the last session with calls that nobody has made yet, and holds
// it to say of at most one call that its outcome is not known, and to send none
// again.
func (w *world) goOn(server string, from int) restoredEvent {
	w.t.Helper()
	before := w.received("fx")
	ctx, cancel := context.WithTimeout(context.Background(), runWait)
	defer cancel()
	path := w.write("more.yaml", writes("fx", server, from, 1))
	r := w.collect(w.secretly(ctx, "--headless", "--tofu", "--output", "json", "--continue", "--script", path))
	r.parse()
	r.want(0)
	after := w.received("fx")
	for key, n := range before {
		if after[key] != n {
			w.t.Errorf("%s was sent again", key)
		}
	}
	if len(after) != len(before)+1 {
		w.t.Errorf("%d calls were received before, %d after one more", len(before), len(after))
	}
	return r.restored()
}
