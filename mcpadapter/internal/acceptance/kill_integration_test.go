//go:build integration && linux

package acceptance

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"
)

// killSeed makes the moments of TestKilledAtRandomMoments; they are logged.
const killSeed = 20261130

// The script of a kill: calls to a server that answers and to one that stalls,
// never returns, has double-forked and hears neither signals nor the end of
// its input.
func (w *world) killScript() string {
	text := "version: 1\nservers: {" + w.server("good", "basic", "") + ", " + w.server("fx", "stall", "") +
		"}\nallow: [\"mcp:*\"]\nsteps:\n"
	for n := range 20 {
		text += fmt.Sprintf("  - call: {tool: mcp__good__alpha, args: {n: %d}}\n", n)
	}
	return w.write("kill.yaml", text+"  - call: {tool: mcp__fx__quick, args: {n: 20}}\n  - call: {tool: mcp__fx__stall, args: {n: 21}}\n")
}

func TestKilledAtRandomMoments(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(killSeed, 0))
	t.Logf("seed %d", killSeed)
	for i := range 10 {
		// Three or more kills while the server stalls inside a call; the others
		// when so many calls were received, and a little later.
		calls, later := random.IntN(20), time.Duration(random.IntN(20_000))*time.Microsecond
		stalled := i < 4
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			t.Logf("stalled %t, after %d calls and %s", stalled, calls, later)
			w := newWorld(t)
			cmd, finish := w.started("--headless", "--tofu", "--output", "json", "--script", w.killScript())
			w.await("the moment", 30*time.Second, func() bool {
				if stalled {
					return len(w.log("fx").Calls("stall")) > 0
				}
				return len(w.log("good").Calls("")) >= calls
			})
			time.Sleep(later) // the random moment itself, not a synchronisation
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			r := finish()
			if r.code != -1 {
				t.Fatalf("the run ended by itself with %d: %s", r.code, r.stderr)
			}
			w.gone("fx", killWait)
			w.gone("good", killWait)
			w.checkAfterKill(r, stalled)
		})
	}
}

func (w *world) checkAfterKill(r *run, stalled bool) {
	w.t.Helper()
	rep := w.verify()
	intents := map[string]int{}
	session := ""
	tools := map[string]string{}
	for _, e := range w.ledger() {
		if e.Kind == "intent" {
			tools[e.Call] = e.Tool
			session = e.Session
		}
	}
	// The ledger has commitments; what they are of is in the journal.
	if session != "" {
		for line := range bytes.Lines(w.journal(session)) {
			var e struct {
				Type       string `json:"type"`
				Call       string `json:"call"`
				ArgsDigest string `json:"args_digest"`
			}
			if err := json.Unmarshal(line, &e); err != nil {
				w.t.Fatal(err)
			}
			if e.Type == "tool.started" && tools[e.Call] != "" {
				intents[tools[e.Call]+" "+e.ArgsDigest]++
			}
		}
	}
	received := 0
	for _, name := range []string{"good", "fx"} {
		for _, e := range w.log(name).Calls("") {
			received++
			var p struct {
				Name      string          `json:"name"`
				Arguments json.RawMessage `json:"arguments"`
			}
			if err := json.Unmarshal(e.Params, &p); err != nil {
				w.t.Fatal(err)
			}
			sum := sha256.Sum256(p.Arguments)
			key := "mcp:" + name + ":" + p.Name + " sha256:" + hex.EncodeToString(sum[:])
			if intents[key]--; intents[key] < 0 {
				w.t.Errorf("%s received %s%s, which has no intent in the ledger", name, p.Name, p.Arguments)
			}
		}
	}
	if rep.Intents < received || rep.Intents > received+1 {
		w.t.Errorf("%d intents, %d calls received", rep.Intents, received)
	}
	if stalled && (rep.OpenTotal != 1 || received != 22) {
		w.t.Errorf("killed inside the last call: %d calls received, %+v", received, rep)
	}
	if session == "" {
		return
	}
	// What was printed is durable, line by line; the journal may be ahead.
	journal := w.journal(session)
	printed := r.stdout[:bytes.LastIndexByte(r.stdout, '\n')+1]
	if !bytes.HasPrefix(journal, printed) {
		w.t.Errorf("what was printed is not the journal's beginning:\n%s\n---\n%s", printed, journal)
	}
	for i, line := range bytes.Split(bytes.TrimSpace(journal), []byte("\n")) {
		var e event
		if err := json.Unmarshal(line, &e); err != nil || e.Seq != uint64(i+1) {
			w.t.Fatalf("line %d of the journal: %v: %s", i+1, err, line)
		}
	}
	// The home works again.
	w.run("call", "good", "alpha", "--mcp-config", w.write("mcp.json", `{"mcpServers":{"good":{"builtin":"demo"}}}`)).want(2)
	w.run("call", "demo", "add", "--arg", "a=1", "--arg", "b=2").want(0)
	w.verify()
}
