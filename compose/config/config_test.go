package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/looprig/looprig/compose/config"
)

var env = config.EnvOf([]string{"TOKEN=t0", "EMPTY="})

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func load(t *testing.T, text string) *config.MCPFile {
	t.Helper()
	f, err := config.LoadMCP(write(t, "mcp.json", text), env, true)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestServersInOrderWithDefaults(t *testing.T) {
	t.Parallel()
	f := load(t, `{"mcpServers": {
		"zeta": {"command": "z", "args": ["-k", "${TOKEN}", "${NO:-def}"], "env": {"K": "${EMPTY:-x}"}, "requestTimeout": "5s"},
		"alpha": {"builtin": "demo", "enabled": false, "roles": ["main"]}}}`)
	if len(f.Servers) != 2 || f.Servers[0].Name != "zeta" || f.Servers[1].Name != "alpha" {
		t.Fatalf("servers %+v", f.Servers)
	}
	z, a := f.Servers[0], f.Servers[1]
	if !z.Valid() || z.Type != "stdio" || z.Args[1] != "t0" || z.Args[2] != "def" || z.Env["K"] != "x" || !z.Enabled || !z.Elicitation || z.RequestTimeout.Seconds() != 5 {
		t.Errorf("zeta is %+v", z)
	}
	if !a.Valid() || a.Type != "builtin" || a.Enabled || len(a.Visibility) != 1 {
		t.Errorf("alpha is %+v", a)
	}
}

func TestOneFaultyEntryLeavesTheOthers(t *testing.T) {
	t.Parallel()
	f := load(t, "{\"mcpServers\": {\n \"a\": {\"comand\": \"x\"},\n \"b\": {\"command\": \"${UNSET_ONE}\"},\n \"C\": {\"command\": \"x\"},\n \"ok\": {\"command\": \"x\"}}}")
	for name, want := range map[string]string{
		"a": `mcp.json:2:8: mcpServers.a.comand: unknown key (did you mean "command"?)`,
		"b": "mcpServers.b.command: the variable UNSET_ONE is not set",
		"C": "a name has 1 to 32 of a-z",
	} {
		found := false
		for _, s := range f.Servers {
			if s.Name == name {
				found = !s.Valid() && strings.Contains(s.Faults.Error(), want)
				if !found {
					t.Errorf("%s: %v, want %s", name, s.Faults, want)
				}
			}
		}
	}
	if last := f.Servers[3]; !last.Valid() {
		t.Errorf("the good entry is invalid: %v", last.Faults)
	}
}

func TestEntriesThatCannotRunSayWhy(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string]string{
		`{"command": "x", "oauth": {}}`:                         "authorisation with OAuth cannot be used",
		`{"command": "x", "cwd": "rel"}`:                        "cwd must be an absolute path",
		`{"command": "x", "sha256": "12"}`:                      "64 hexadecimal digits",
		`{"command": "x", "scope": "loop"}`:                     "names its loop",
		`{"command": "x", "loop": "a"}`:                         "belongs to a binding of scope loop",
		`{"command": "x", "sampling": {"approve": "ask"}}`:      `add "capabilities": {"sampling": true}`,
		`{"command": "x", "sampling": {"depth": 9}}`:            "from 1 to 8",
		`{"command": "x", "sampling": {"aprove": "ask"}}`:       `did you mean "approve"`,
		`{"command": "x", "logLevel": "warn"}`:                  "is not one of debug",
		`{"command": "x", "discovery": "slow"}`:                 "is not one of auto",
		`{"command": "x", "headers": {"A": "b"}}`:               "headers does not belong to a stdio server",
		`{"type": "builtin"}`:                                   "a built-in server is named",
		`{"command": "x", "limits": {"frameByte": 1}}`:          `unknown limit (did you mean "frameBytes"?)`,
		`{"command": "x", "limits": {"frameBytes": 0}}`:         "from 1 to",
		`{"command": "x", "startupTimeout": 30}`:                "needs its unit",
		`{}`:                                                    "neither command, url nor builtin",
		`{"builtin": "demo", "command": "x"}`:                   "excludes",
		`{"command": "x", "roles": ["a"], "visibility": ["b"]}`: "give one of them",
	} {
		f := load(t, `{"mcpServers": {"x": `+entry+`}}`)
		if s := f.Servers[0]; s.Valid() || !strings.Contains(s.Faults.Error(), want) {
			t.Errorf("%s: %v, want %s", entry, s.Faults, want)
		}
	}
}

func TestAFileThatDoesNotParseIsAnError(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"mcpServers": {}} x`:                 "unexpected data",
		`{"mcpServers": {}, "mcpServers": {}}`: "duplicate key",
		`{"servers": {}}`:                      "unknown key",
		`[]`:                                   "expected an object",
	} {
		_, err := config.LoadMCP(write(t, "mcp.json", text), env, true)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestAFileThatOthersCanWriteIsRefused(t *testing.T) {
	t.Parallel()
	path := write(t, "mcp.json", `{"mcpServers": {}}`)
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := config.LoadMCP(path, env, true)
	var perm *config.PermissionError
	if !errors.As(err, &perm) || !strings.Contains(err.Error(), "chmod go-w") {
		t.Fatalf("load says %v", err)
	}
}

func TestSavingKeepsWhatWasNotChanged(t *testing.T) {
	t.Parallel()
	f := load(t, `{"mcpServers": {"a": {"command": "x", "env": {"K": "${TOKEN}"}, "args": [1.50]}, "b": {"command": "y"}}}`)
	if err := f.SetEnabled("b", false); err != nil {
		t.Fatal(err)
	}
	f.Set("c", []byte(`{"command":"z"}`))
	if err := f.Save(); err != nil {
		t.Fatal(err)
	}
	src, err := os.ReadFile(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"${TOKEN}", "1.50", `"enabled": false`, `"c"`} {
		if !strings.Contains(string(src), want) {
			t.Errorf("%q is missing in\n%s", want, src)
		}
	}
	st, err := os.Stat(f.Path)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	again, err := config.LoadMCP(f.Path, env, true)
	if err != nil || len(again.Servers) != 3 || again.Servers[1].Enabled {
		t.Fatalf("loaded again: %+v, %v", again, err)
	}
	if err := again.SetEnabled("b", true); err != nil || !again.Remove("a") || again.Remove("a") {
		t.Fatal("enable and remove")
	}
}

func TestConfigIsStrict(t *testing.T) {
	t.Parallel()
	c, err := config.LoadConfig(write(t, "config.yaml", "policy:\n  allow: ['mcp:demo:*', {tool: 'mcp:x:y', when: '.a == 1'}]\n  operator: ask\nui:\n  theme: mono\n  keys: {bindings.open: [f8]}\nloops:\n  planner: {system: be brief}\n"), env, true)
	if err != nil || len(c.Policy.Allow) != 2 || c.Policy.Allow[1].When != ".a == 1" || c.UI.Keys["bindings.open"][0] != "f8" || c.Loops[0].System != "be brief" {
		t.Fatalf("config %+v, %v", c, err)
	}
	for text, want := range map[string]string{
		"polcy: {}\n":          `config.yaml:1:1: polcy: unknown key (did you mean "policy"?)`,
		"ui: {theme: pink}\n":  `"pink" is not one of`,
		"loops: {a__b: {}}\n":  "may not contain __",
		"model: scripted\n":    "belong to a script",
		"model: ''\n":          "is empty",
		"model: a b\n":         "printable ASCII",
		"policy: {allow: x}\n": "expected a list",
		"policy: {allow: [{tool: '*', hints: {read_only: true}}]}\n":    "hints.read_only: unknown key",
		"policy: {allow: [{tool: '*', hints: {readOnlyHint: true}}]}\n": "write readOnly",
	} {
		_, err := config.LoadConfig(write(t, "config.yaml", text), env, true)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := config.LoadConfig(filepath.Join(t.TempDir(), "none"), env, false); err != nil {
		t.Errorf("a missing file: %v", err)
	}
}
