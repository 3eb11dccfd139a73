//go:build integration && linux

package acceptance

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/looprig/looprig/internal/ptytest"
)

// dangerous is a server with a tool that calls itself destructive.
const dangerous = `
catalogs:
  first:
    tools:
      - '{"name":"alpha","description":"Harmless.","inputSchema":{"type":"object"}}'
      - '{"name":"wipe","description":"Wipes.","inputSchema":{"type":"object"},"annotations":{"destructiveHint":true}}'
rules:
  - tool: alpha
    do: [{result: '{"content":[{"type":"text","text":"alpha answers"}]}'}]
  - tool: wipe
    do: [{result: '{"content":[{"type":"text","text":"wiped"}]}'}]
`

func TestTerminalPermission(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.seed("config.yaml", "policy: {operator: ask}\n")
	script := w.write("dangerous.yaml", dangerous)
	w.run("mcp", "add", "fx", "--", w.fake, "--script", script, "--log", w.path("fx.log")).want(0)
	x := w.terminal(80, 24)
	x.see("●1", "gen 1")
	calls := func(tool string) int { return len(w.log("fx").Calls(tool)) }

	// What was typed ahead answers nothing, and goes on absorbing while keys
	// come; after a pause the same key does answer.
	x.line("/call fx alpha {}")
	x.see("permission · fx ▸ alpha")
	for range 6 {
		x.Type("aaaa")
		time.Sleep(100 * time.Millisecond) // typing, faster than the quiet time
	}
	if s := x.see("permission · fx ▸ alpha"); calls("alpha") > 0 || strings.Contains(s, "alpha answers") {
		t.Fatalf("keys that were typed ahead allowed a call:\n%s", s)
	}
	x.gate("permission · fx ▸ alpha")
	x.Type("a")
	x.see("alpha answers", "✔ ok")
	x.unsee("permission ·")

	// Once was once. Escape puts the question aside, F6 brings it back.
	x.line("/call fx alpha {}")
	x.gate("permission · fx ▸ alpha")
	x.escape()
	x.unsee("permission · fx")
	x.see("1 gate")
	x.Type(ptytest.F6)
	x.see("permission · fx ▸ alpha")
	x.Type("d")
	x.see("denied")
	x.unsee("permission ·")

	// A denial with a reason.
	x.line("/call fx alpha {}")
	x.gate("permission · fx ▸ alpha")
	x.Type("e")
	x.see("Tell the model why")
	x.Type("not today a s", ptytest.Enter)
	x.unsee("permission ·")
	x.see("not today a s")

	// For the session: the second call is not asked about.
	x.line("/call fx alpha {}")
	x.gate("permission · fx ▸ alpha")
	x.Type("s")
	x.unsee("permission ·")
	w.await("the second call", patience, func() bool { return calls("alpha") == 2 })
	x.line("/call fx alpha {}")
	w.await("the third call", patience, func() bool { return calls("alpha") == 3 })

	// A destructive tool has no default.
	x.line("/call fx wipe {}")
	x.gate("permission · fx ▸ wipe", "destructive", "nothing is preselected")
	x.Type(ptytest.Enter)
	x.see("nothing is selected")
	if calls("wipe") != 0 {
		t.Error("enter allowed a destructive call")
	}
	x.Type(ptytest.Down, ptytest.Enter)
	x.see("wiped")
	x.quit()
	if calls("alpha") != 3 || calls("wipe") != 1 {
		t.Errorf("the server was called %d and %d times", calls("alpha"), calls("wipe"))
	}
	if rep := w.verify(); rep.Intents != 4 || rep.Outcomes < 4 {
		t.Errorf("the ledger has %+v", rep)
	}
	reasons := 0
	for _, e := range w.events().of("gate.resolved") {
		if strings.Contains(e.line, "not today a s") {
			reasons++
		}
	}
	if reasons != 1 {
		t.Errorf("the reason of a denial is %d times in the journal", reasons)
	}
}

func TestTerminalUntrustedServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		key    string
		starts bool
		pins   bool
	}{"accept": {"a", true, true}, "once": {"o", true, false}, "refuse": {"d", false, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.seed("mcp.json", `{"mcpServers":{`+quoted(w.server("fx", "basic", ""))+`}}`)
			x := w.terminal(80, 24)
			s := x.gate("fx", "Accept", "Refuse")
			flat := strings.NewReplacer("│", "", "\n", "", " ", "").Replace(s)
			for _, part := range w.fakeCommand("fx", "basic") {
				if !strings.Contains(flat, part) {
					t.Errorf("the prompt does not show %q:\n%s", part, s)
				}
			}
			if len(w.log("fx")) > 0 {
				t.Error("the server ran before it was trusted")
			}
			x.Type(c.key)
			x.unsee("Refuse")
			if c.starts {
				x.see("●1", "gen 1")
			} else {
				x.see("untrusted")
			}
			x.quit()
			if ran := len(w.log("fx")) > 0; ran != c.starts {
				t.Errorf("the server ran: %t", ran)
			}
			if pinned := strings.Contains(w.homeFile("mcp-pins.json"), `"accepted"`); pinned != c.pins {
				t.Errorf("mcp-pins.json: %s", w.homeFile("mcp-pins.json"))
			}
			if c.pins { // it is not asked about again
				x := w.terminal(80, 24)
				x.see("●1", "gen 1")
				x.quit()
			}
		})
	}
}

// quoted makes a flow mapping of a script an object of mcp.json.
func quoted(server string) string {
	name, rest, _ := strings.Cut(server, ": ")
	rest = strings.Replace(rest, "{command:", `{"command":`, 1)
	return `"` + name + `": ` + strings.Replace(rest, ", args:", `, "args":`, 1)
}

func TestTerminalOpenURL(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	opened := w.path("opened")
	bin := w.path("bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	browser := "#!/bin/sh\nprintf '%s\\n' \"$#\" \"$@\" >>" + opened + "\n"
	if err := os.WriteFile(bin+"/xdg-open", []byte(browser), 0o700); err != nil {
		t.Fatal(err)
	}
	x := w.terminalEnv(80, 24, []string{"PATH=" + bin + ":" + os.Getenv("PATH")})
	x.see("●1", "gen 1")
	x.line("/call demo ask-url")
	x.gate("open url · demo", "host     example.com", "https")
	x.Type("v")
	x.see("https://example.com/looprig-demo?id=demo-url-1")
	x.Type("d")
	x.see(`"action": "decline"`)
	x.line("/call demo ask-url")
	x.gate("open url · demo")
	x.escape()
	x.see(`"action": "cancel"`)
	if b, err := os.ReadFile(opened); err == nil {
		t.Fatalf("a page was opened: %s", b)
	}
	x.line("/call demo ask-url")
	x.gate("open url · demo", "id=demo-url-3")
	x.Type("o")
	x.see(`"action": "accept"`)
	want := "1\nhttps://example.com/looprig-demo?id=demo-url-3\n"
	w.await("the page", patience, func() bool { b, _ := os.ReadFile(opened); return string(b) == want })
	x.quit()
	for _, e := range w.events().events {
		if strings.Contains(e.line, "id=demo-url") {
			t.Errorf("the journal has the whole address: %s", e.line)
		}
	}
}
