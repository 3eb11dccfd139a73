//go:build integration && linux

package acceptance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/looprig/looprig/internal/ptytest"
)

// demoEndpoint runs looprig's own demo server over HTTP until the test ends.
func (w *world) demoEndpoint() (url string) {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), w.looprig, "demo-server", "--http", "127.0.0.1:0")
	cmd.Dir = "/"
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// Resources, prompts and raw requests from the command line, over stdio and
// over HTTP: the same answers and the same exit codes.
func TestReadPromptAndRPC(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.run("mcp", "add", "web", "--url", w.demoEndpoint()).want(0)
	same := map[string][]byte{}
	for _, binding := range []string{"demo", "web"} {
		trace := w.path(binding + ".ndjson")
		for _, c := range []struct {
			code int
			says string
			args []string
		}{
			{0, "# Demo server", []string{"read", binding, "demo://readme"}},
			{0, "text/markdown", []string{"read", binding, "demo://readme", "--query", ".content[0].mime"}},
			{5, "not found", []string{"read", binding, "demo://nowhere"}},
			{0, "user: Say hi to Ada", []string{"prompt", binding, "greet", "--arg", "who=Ada"}},
			{2, "it has: greet", []string{"prompt", binding, "great"}},
			{0, `"add"`, []string{"rpc", binding, "tools/list"}},
			{0, `# Demo server`, []string{"rpc", binding, "resources/read", `{"uri":"demo://readme"}`, "--trace", trace}},
			{2, "looprig call", []string{"rpc", binding, "tools/call", `{"name":"add","arguments":{"a":1,"b":2}}`}},
			{5, "-32601", []string{"rpc", binding, "no/such"}},
		} {
			r := w.run(c.args...)
			if r.code != c.code || !strings.Contains(string(r.stdout)+string(r.stderr), c.says) {
				t.Errorf("%q: exit code %d, not %d, or it does not say %q\n%s\n%s", c.args, r.code, c.code, c.says, r.stdout, r.stderr)
			}
			key := strings.Join(append([]string{c.args[0]}, c.args[2:]...), " ")
			if c.code != 0 || c.args[0] == "rpc" { // whose answers hold what is the server's own
				continue
			}
			if was, ok := same[key]; ok && !bytes.Equal(was, r.stdout) {
				t.Errorf("%q differs between the transports:\n%s\n%s", key, was, r.stdout)
			}
			same[key] = r.stdout
		}
		var frames, sent int
		for line := range strings.Lines(string(must(t, trace))) {
			var f struct {
				Binding string          `json:"binding"`
				Sent    bool            `json:"sent"`
				Data    json.RawMessage `json:"data"`
			}
			if err := json.Unmarshal([]byte(line), &f); err != nil || f.Binding != binding {
				t.Errorf("%v: %s", err, line)
			}
			frames++
			if f.Sent && strings.Contains(string(f.Data), "resources/read") {
				sent++
			}
		}
		if sent != 1 || frames < 4 {
			t.Errorf("the trace of %s has %d frames, the request %d times", binding, frames, sent)
		}
	}
	if rep := w.verify(); rep.Intents != 0 {
		t.Errorf("the ledger has %+v", rep)
	}
}

// A server that asks the model, where the person is the model: two questions
// stand before each request, and the reply is what the person writes.
func TestTerminalSampling(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	x := w.terminal(80, 30)
	x.see("●1", "gen 1")

	x.line(`/call demo think {"question":"What is a rig?"}`)
	x.gate("demo asks the model to write", "What is a rig?", "Answer in one sentence.", "Run it as shown")
	x.Type("r")
	x.gate("you write a reply to demo", "your reply, as the model:")
	x.Type("A platform.", ptytest.CtrlS)
	x.see("the model said: A platform.", "✔ ok")

	// Declined before anything is written, and after.
	x.line(`/call demo think {"question":"And why?"}`)
	x.gate("demo asks the model to write", "And why?")
	x.Type("d")
	x.unsee("asks the model to write")
	x.line(`/call demo think {"question":"Once more?"}`)
	x.gate("demo asks the model to write", "Once more?")
	x.Type("r")
	x.gate("you write a reply to demo")
	x.Type(ptytest.CtrlD)
	x.unsee("you write a reply")
	x.Until(patience, "the third call to end", func(s string) bool { return !strings.Contains(s, "running") })
	x.quit()

	var outcomes []string
	for _, e := range w.events().of("tool.completed") {
		outcomes = append(outcomes, e.Outcome)
	}
	if len(outcomes) != 3 || outcomes[0] != "ok" || outcomes[1] == "ok" || outcomes[2] == "ok" {
		t.Errorf("the outcomes are %q", outcomes)
	}
	var resolved []string
	for _, e := range w.events().of("gate.resolved") {
		var g struct {
			Response struct {
				Action string `json:"action"`
			} `json:"response"`
		}
		if err := json.Unmarshal([]byte(e.line), &g); err != nil {
			t.Fatal(err)
		}
		resolved = append(resolved, g.Response.Action)
	}
	if got := strings.Join(resolved, " "); got != "run run decline run decline" {
		t.Errorf("the questions were answered %s", got)
	}
	w.verify()
}

// The same without a person, as the server sees it.
func TestSamplingWithAnswers(t *testing.T) {
	t.Parallel()
	for name, reached := range everyWay() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := reached(w, "fx", "sampling", "capabilities: {sampling: true}, sampling: {model: operator}")
			w.script("version: 1\nservers: {" + s.entry + `}
answers:
  - {gate: sampling, binding: fx, answer: run, reply: "Forty-two.", times: 1}
  - {gate: sampling, binding: fx, answer: decline, times: 1}
steps:
  - call: {tool: mcp__fx__ask}
    expect: ['.outcome == "ok"', '[.gates[].kind] == ["sampling", "sampling"]']
  - call: {tool: mcp__fx__ask}
    expect: ['[.gates[].action] == ["decline"]']
  - call: {tool: mcp__fx__null}
    expect: ['.gates == []']
  - call: {tool: mcp__fx__quick}
    expect: ['.outcome == "ok"']
`).want(0)
			replies := 0
			for _, e := range s.log() {
				if e.Dir == "in" && strings.Contains(e.Raw, "Forty-two.") {
					replies++
				}
			}
			if replies != 1 || !strings.Contains(string(s.log().Answers()[0]), `"role":"assistant"`) {
				t.Errorf("the server received the reply %d times: %s", replies, s.log().Answers())
			}
			w.gone("fx", killWait)
		})
	}
}
