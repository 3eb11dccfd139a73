//go:build integration && linux

package acceptance

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// memoryBudget is what a hostile server may add to looprig's peak memory.
const memoryBudget = 64 << 20

// peak is the most memory that a process has had, 0 when it is over.
func peak(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(text), "VmHWM:")
	if !ok {
		return 0
	}
	kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		return 0
	}
	return kb << 10
}

// measured runs a script and returns looprig's own peak memory as well. The
// script's last step should be a sleep, so that the peak is seen before the end.
func (w *world) measured(text string, flags ...string) (*run, int64) {
	w.t.Helper()
	path := w.write("script.yaml", text)
	cmd, finish := w.started(append([]string{"--headless", "--tofu", "--output", "json", "--script", path}, flags...)...)
	stop, most := make(chan struct{}), make(chan int64)
	go func() {
		var top int64
		for {
			select {
			case <-stop:
				most <- top
				return
			case <-time.After(pollEvery):
				top = max(top, peak(cmd.Process.Pid))
			}
		}
	}()
	r := finish()
	close(stop)
	top := <-most
	r.parse()
	return r, top
}

const settle = "  - sleep: 50ms\n"

// hostile are servers that break the protocol, and what must come of each.
var hostile = []struct {
	name, scenario string
	settings       []string
	server         string // further keys of its entry
	steps          string
	class          string // of the binding's failure, "" for none
	state          string // "ready" or "failed": the latter is tried again
}{
	{
		name: "noise", scenario: "noise", settings: []string{"count=100"}, state: "ready",
		steps: "  - call: {tool: mcp__fx__alpha, args: {a: 1}}\n    expect: ['.outcome == \"ok\"']\n",
	},
	{
		name: "endless noise", scenario: "noise", settings: []string{"count=100000"}, class: "noise", state: "failed",
	},
	{
		name: "huge frame", scenario: "bigframe", state: "ready",
		steps: "  - call: {tool: mcp__fx__big}\n    expect: ['.outcome == \"over_limit\"']\n" +
			"  - call: {tool: mcp__fx__quick}\n    expect: ['.outcome == \"ok\"']\n",
	},
	{
		name: "huge array", scenario: "bigframe", settings: []string{"fill=array"}, state: "ready",
		steps: "  - call: {tool: mcp__fx__big}\n    expect: ['.outcome == \"over_limit\"']\n" +
			"  - call: {tool: mcp__fx__quick}\n    expect: ['.outcome == \"ok\"']\n",
	},
	{name: "huge listing", scenario: "bigframe", settings: []string{"where=list"}, class: "over_limit", state: "failed"},
	{name: "mute", scenario: "mute", server: "startupTimeout: 1s", class: "timeout", state: "failed"},
	{name: "mute modern", scenario: "mute", server: `startupTimeout: 1s, protocol: "2026-07-28"`, class: "timeout", state: "failed"},
	{name: "exits on discover", scenario: "exit-on-discover", server: `protocol: "2026-07-28"`, class: "lost", state: "failed"},
	{
		name: "exits on discover, falls back", scenario: "exit-on-discover", state: "ready",
		steps: "  - call: {tool: mcp__fx__alpha, args: {a: 1}}\n    expect: ['.outcome == \"ok\"']\n",
	},
	{name: "same cursor", scenario: "repeat-cursor", settings: []string{"kind=same"}, class: "catalog", state: "failed"},
	{name: "cursors in a cycle", scenario: "repeat-cursor", settings: []string{"kind=cycle"}, class: "catalog", state: "failed"},
	{name: "cursors without end", scenario: "repeat-cursor", settings: []string{"kind=grow"}, class: "over_limit", state: "failed"},
	{
		name: "dirty", scenario: "dirty", settings: []string{"names=true"}, state: "ready",
		steps: "  - call: {tool: mcp__fx__dirty}\n    expect: ['.outcome == \"ok\"']\n" +
			"  - call: {tool: mcp__fx__fail}\n    expect: ['.outcome == \"tool_error\"']\n" +
			"  - call: {tool: mcp__fx__rpcfail}\n    expect: ['.outcome != \"ok\"']\n" +
			"  - call: {tool: mcp__fx__ask}\n    expect: ['.gates | length == 1']\n" +
			"  - call: {tool: mcp__fx__log}\n    expect: ['.outcome == \"ok\"']\n" +
			"  - call: {tool: mcp__fx__link}\n    expect: ['.outcome == \"ok\"']\n",
	},
}

// A server that breaks the protocol fails typed, costs looprig little memory,
// writes nothing raw, and takes nothing from the binding beside it.
func TestHostileServers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r, idle := w.measured("version: 1\nservers: {" + w.server("good", "basic", "") + "}\nsteps:\n  - call: {tool: mcp__good__alpha, args: {n: 1}}\n" + settle)
	r.want(0)
	for _, c := range hostile {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			other := func(n int) string {
				return fmt.Sprintf("  - call: {tool: mcp__good__alpha, args: {n: %d}}\n    expect: ['.outcome == \"ok\"']\n", n)
			}
			state := ` == "ready"`
			if c.state == "failed" {
				state = ` | IN("failed", "starting", "discovering")`
			}
			r, top := w.measured("version: 1\nservers: {"+w.server("fx", c.scenario, c.server, c.settings...)+", "+w.server("good", "basic", "")+
				"}\nanswers: [{gate: form, binding: fx, answer: decline}]\nsteps:\n"+other(1)+c.steps+other(2)+
				"  - status: {}\n    expect: ['.bindings[] | select(.name == \"fx\") | .state"+state+"']\n"+settle, "--include-ephemeral")
			r.want(0)
			t.Logf("peak %d MiB, idle %d MiB", top>>20, idle>>20)
			if top == 0 || top > idle+memoryBudget {
				t.Errorf("the peak is %d MiB, idle %d MiB", top>>20, idle>>20)
			}
			classes := map[string]bool{}
			for _, e := range r.events {
				if e.Binding == "fx" && e.State == "failed" {
					classes[e.Class] = true
				}
			}
			if c.class != "" && !classes[c.class] || c.class == "" && len(classes) != 0 {
				t.Errorf("the classes are %v, not %q\n%s\n%s", classes, c.class, r.outline(), r.stderr)
			}
			if n := len(w.log("good").Calls("alpha")); n != 2 {
				t.Errorf("the other server received %d calls", n)
			}
			w.gone("fx", killWait)
			w.verify()
		})
	}
}

// The text output and the listings show what a server wrote, and nothing of it
// raw: neither on stdout nor on stderr.
func TestDirtyStringsInText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.script("version: 1\nservers: {" + w.server("fx", "dirty", "", "names=true") + "}\nsteps:\n  - call: {tool: mcp__fx__dirty}\n").want(0)
	config := w.write("mcp.json", "{\"mcpServers\": {"+strings.NewReplacer("fx: {command:", `"fx": {"command":`, ", args:", `, "args":`).Replace(w.server("fx", "dirty", "", "names=true"))+"}}")
	for _, c := range []struct {
		code int
		args []string
	}{
		{0, []string{"call", "fx", "dirty"}}, {0, []string{"call", "fx", "dirty", "--output", "result"}},
		{5, []string{"call", "fx", "fail"}}, {4, []string{"call", "fx", "rpcfail"}}, {4, []string{"call", "fx", "rpcfail", "--output", "json"}},
		{6, []string{"call", "fx", "ask"}}, {0, []string{"call", "fx", "link"}},
		{0, []string{"inspect", "fx", "--schema"}}, {0, []string{"inspect", "fx", "--schema", "--output", "json"}},
		{0, []string{"sessions", "list"}}, {0, []string{"ledger", "tail"}}, {0, []string{"mcp", "list"}},
	} {
		args := append([]string{}, c.args...)
		if c.args[0] == "call" || c.args[0] == "inspect" || c.args[0] == "mcp" {
			args = append(args, "--mcp-config", config)
		}
		r := w.run(args...)
		if r.code != c.code {
			t.Errorf("%q: exit code %d, not %d: %s", c.args, r.code, c.code, r.stderr)
		}
		for _, out := range [][]byte{r.stdout, r.stderr} {
			for _, line := range bytes.Split(out, []byte("\n")) {
				if ch, bad := rawControl(line); bad {
					t.Errorf("%q writes %#x: %.200q", c.args, ch, line)
					break
				}
			}
		}
		if len(r.stdout)+len(r.stderr) == 0 {
			t.Errorf("%q says nothing", c.args)
		}
	}
}
