package compose

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/looprig/looprig/compose/config"
	"github.com/looprig/looprig/compose/config/doc"
	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/harness/model/operator"
	"github.com/looprig/looprig/harness/session"
)

func fingerprintOf(t *testing.T, server string, change func(*config.Config)) event.Fingerprint {
	t.Helper()
	s, err := config.ParseServer("docs", []byte(server), nil)
	if err != nil {
		t.Fatal(err)
	}
	conf := &config.Config{
		Loops:  []config.Loop{{Name: "main", System: "be brief"}},
		Policy: config.Policy{Deny: []config.Rule{{Tool: "mcp:docs:drop", Pos: doc.Pos{Line: 3, Col: 1}}}},
	}
	if change != nil {
		change(conf)
	}
	a := &App{conf: conf, digestKey: []byte("a key of the tests, 32 bytes long")}
	loops := []session.LoopConfig{{Name: "main", Model: operator.Client{}, System: conf.Loops[0].System}}
	return a.fingerprint([]entry{{server: s}}, loops)
}

// changed lists the fields that differ, with their severity.
func changed(a, b event.Fingerprint) []string {
	var out []string
	for _, f := range b {
		if !slices.Contains(a, f) {
			out = append(out, f.Field+" "+string(f.Severity))
		}
	}
	return out
}

func TestFingerprint(t *testing.T) {
	t.Parallel()
	const server = `{"command":"docs-mcp","args":["--stdio"],"env":{"TOKEN":"canary-secret","HOST":"${DOCS_HOST}"}}`
	base := fingerprintOf(t, server, nil)
	if b, err := json.Marshal(base); err != nil || strings.Contains(string(b), "canary") || strings.Contains(string(b), "brief") {
		t.Fatalf("%s %v", b, err)
	}
	for name, c := range map[string]struct {
		server string
		change func(*config.Config)
		want   []string
	}{
		"the same":          {server, nil, nil},
		"order and space":   {`{ "args": ["--stdio"], "command": "docs-mcp", "env": {"HOST": "${DOCS_HOST}", "TOKEN": "canary-secret"} }`, nil, nil},
		"a secret":          {strings.Replace(server, "canary-secret", "another", 1), nil, []string{"bindings.docs warn"}},
		"an argument":       {strings.Replace(server, "--stdio", "--token=canary", 1), nil, []string{"bindings.docs warn"}},
		"a variable":        {strings.Replace(server, "DOCS_HOST", "OTHER", 1), nil, []string{"bindings.docs warn"}},
		"a command":         {strings.Replace(server, "docs-mcp", "other-mcp", 1), nil, []string{"bindings.docs warn"}},
		"trust":             {strings.Replace(server, `{"command"`, `{"trustAnnotations":true,"command"`, 1), nil, []string{"bindings.docs warn", "bindings.docs.trust break"}},
		"a system text":     {server, func(c *config.Config) { c.Loops[0].System = "be long" }, []string{"loops.main.system warn"}},
		"a rule":            {server, func(c *config.Config) { c.Policy.Allow = []config.Rule{{Tool: "*"}} }, []string{"policy break"}},
		"a place in a file": {server, func(c *config.Config) { c.Policy.Deny[0].Pos.Line = 9 }, nil},
	} {
		if got := changed(base, fingerprintOf(t, c.server, c.change)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, not %v", name, got, c.want)
		}
	}
}

// A digest is of no use to somebody who has the record and not the key.
func TestFingerprintsAreKeyed(t *testing.T) {
	t.Parallel()
	of := func(key string) string { return keyedDigest([]byte(key), "docs", []byte(`{"env":{"TOKEN":"x"}}`)) }
	if once, again := of("one"), of("one"); once != again || once == of("two") {
		t.Error("the key does not decide")
	}
	if a, b := keyedDigest(nil, "a", []byte("bc")), keyedDigest(nil, "ab", []byte("c")); a == b {
		t.Error("two entries look alike")
	}
}

func TestDigestKey(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	keys := make(chan string, 8)
	for range cap(keys) {
		go func() {
			key, err := openDigestKey(home)
			if err != nil {
				t.Error(err)
			}
			keys <- string(key)
		}()
	}
	first := <-keys
	for range cap(keys) - 1 {
		if key := <-keys; key != first {
			t.Error("two processes have two keys")
		}
	}
	st, err := os.Stat(DigestKeyPath(home))
	if err != nil || st.Mode().Perm() != 0o600 || len(first) != digestKeyBytes {
		t.Errorf("%v %v, %d bytes", st, err, len(first))
	}
	if entries, err := os.ReadDir(home); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v %v", entries, err)
	}
	if other, err := openDigestKey(t.TempDir()); err != nil || string(other) == first {
		t.Errorf("another home has the same key, %v", err)
	}
	if err := os.WriteFile(DigestKeyPath(home), []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openDigestKey(home); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a damaged key: %v", err)
	}
}
