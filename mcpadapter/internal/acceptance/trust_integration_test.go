//go:build integration && linux

package acceptance

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// What nobody accepted is not started; what was accepted is started without
// asking; what has changed since is refused.
func TestLaunchPins(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	script := func(extra string) string {
		return w.write("s.yaml", "version: 1\nservers: {"+w.server("fx", "basic", extra)+"}\nsteps:\n  - call: {tool: mcp__fx__alpha, args: {a: 1}}\n")
	}
	path := script("")
	headless := []string{"--headless", "--output", "json", "--script", path}

	r := w.run(headless...)
	r.parse()
	r.want(6)
	if len(r.of("pin.pending")) != 1 || len(r.of("gate.opened")) != 1 || len(r.of("tool.started")) != 0 {
		t.Errorf("an unpinned server:\n%s", r.outline())
	}
	if es := w.log("fx"); es != nil {
		t.Fatalf("the unpinned server was started: %+v", es)
	}
	fingerprint := regexp.MustCompile(`sha256:[0-9a-f]{64}`).Find(r.stderr)
	if fingerprint == nil {
		t.Fatalf("stderr names no fingerprint: %s", r.stderr)
	}

	// A fingerprint that is another's answers nothing.
	answers := w.write("answers.yaml", fmt.Sprintf("- {gate: untrusted_server, binding: fx, fingerprint: \"sha256:%064d\", answer: accept}\n", 0))
	w.run(append(headless, "--answers", answers)...).want(6)
	if es := w.log("fx"); es != nil {
		t.Fatalf("the server was started under another fingerprint: %+v", es)
	}
	// A refusal is kept, is asked about again by each run, and can be taken back.
	answers = w.write("answers.yaml", "- {gate: untrusted_server, binding: fx, answer: refuse}\n")
	for range 2 {
		r := w.run(append(headless, "--answers", answers)...)
		r.parse()
		if r.want(6); len(r.of("pin.refused")) != 1 {
			t.Errorf("a refusal:\n%s", r.outline())
		}
	}
	r = w.run(append(headless, "--tofu")...)
	r.want(6)
	if es := w.log("fx"); es != nil {
		t.Fatalf("the refused server was started: %+v", es)
	}
	for name, out := range map[string][]byte{"the question": r.stdout, "the reason": r.stderr} {
		if !bytes.Contains(out, []byte("it was refused before")) {
			t.Errorf("%s does not say that it was refused: %s", name, out)
		}
	}
	answers = w.write("answers.yaml", fmt.Sprintf("- {gate: untrusted_server, binding: fx, fingerprint: %q, answer: accept}\n", fingerprint))
	w.run(append(headless, "--answers", answers)...).want(0)
	w.run(headless...).want(0) // pinned now
	started := len(w.log("fx").Notes("start"))
	if started != 2 {
		t.Fatalf("started %d times", started)
	}

	for name, extra := range map[string]string{"environment": `env: {K: changed}`, "arguments": ""} {
		path := script(extra)
		if extra == "" {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			path = w.write("s.yaml", strings.Replace(string(text), `"--scenario"`, `"--set","era=modern","--scenario"`, 1))
		}
		for _, tofu := range [][]string{nil, {"--tofu"}} {
			r := w.run(append([]string{"--headless", "--output", "json", "--script", path}, tofu...)...)
			r.parse()
			r.want(9)
			if len(r.of("pin.changed")) != 1 {
				t.Errorf("%s %v:\n%s", name, tofu, r.outline())
			}
		}
	}
	if n := len(w.log("fx").Notes("start")); n != started {
		t.Errorf("a changed launch was started: %d starts", n)
	}
	w.verify()
}

func TestTofuPinsOnRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := "version: 1\nservers: {" + w.server("fx", "basic", "") + "}\nsteps:\n  - call: {tool: mcp__fx__alpha}\n"
	if r := w.script(text).want(0); len(r.of("pin.accepted")) != 1 || !strings.Contains(r.of("pin.accepted")[0].line, `"by":"tofu"`) {
		t.Errorf("the acceptance is not on record:\n%s", r.outline())
	}
	r := w.run("--headless", "--output", "json", "--script", w.path("script.yaml")).want(0)
	if r.parse(); len(r.of("pin.accepted")) != 0 {
		t.Errorf("a pinned server was accepted again:\n%s", r.outline())
	}
	pins := 0
	for _, e := range w.ledger() {
		if e.Kind == "pin" {
			pins++
		}
	}
	if pins != 1 {
		t.Errorf("the ledger has %d entries on pins", pins)
	}
}

// A checksum that is wrong is a matter of integrity, whether or not the server
// is required, and nothing of it runs.
func TestWrongChecksum(t *testing.T) {
	t.Parallel()
	for _, required := range []string{"true", "false"} {
		w := newWorld(t)
		r := w.script("version: 1\nservers: {" + w.server("fx", "basic", fmt.Sprintf("sha256: \"%064d\", required: %s", 0, required)) +
			"}\nsteps:\n  - status: {}\n").want(9)
		if es := w.log("fx"); es != nil {
			t.Errorf("the server was started: %+v", es)
		}
		if !strings.Contains(string(r.stderr), "sha256") {
			t.Errorf("stderr: %s", r.stderr)
		}
	}
}

// Several processes may work in one home at once: each has its journal, and the
// ledger stays one chain.
func TestProcessesShareAHome(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.write("s.yaml", `version: 1
steps:
  - call: {tool: mcp__demo__add, args: {a: 1, b: 2}}
  - call: {tool: mcp__demo__add, args: {a: 3, b: 4}}
    expect: ['.structured.sum == 7']
`)
	const runs = 5
	var finish []func() *run
	for range runs {
		_, f := w.started("--headless", "--output", "json", "--script", path)
		finish = append(finish, f)
	}
	for _, f := range finish {
		r := f()
		r.parse()
		r.want(0)
		if journal := w.journal(r.events[0].Session); !bytes.Equal(journal, r.stdout) {
			t.Errorf("the journal of %s differs from its stdout", r.events[0].Session)
		}
	}
	if rep := w.verify(); rep.Intents != 2*runs || rep.Outcomes != 2*runs {
		t.Errorf("the ledger has %+v", rep)
	}
}
