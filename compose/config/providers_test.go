package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A key is named in one way alone, and nothing that may be one is repeated.
func TestKeyringOfAProvider(t *testing.T) {
	t.Parallel()
	const canary = "sk-canary 61c0"
	path := filepath.Join(t.TempDir(), "config.yaml")
	read := func(entry string) (*Config, error) {
		if err := os.WriteFile(path, []byte("providers:\n  mine: {kind: openai-chat, "+entry+"}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return LoadConfig(path, EnvOf(nil), true)
	}
	c, err := read("keyring: looprig/mine")
	if err != nil || c.Providers[0].Keyring.Service != "looprig" || c.Providers[0].Keyring.Account != "mine" {
		t.Errorf("%v %+v", err, c)
	}
	for entry, want := range map[string]string{
		"keyring: '" + canary + "'":                      "SERVICE/ACCOUNT",
		"keyring: looprig/mine, keyEnv: MINE":            "give one of",
		"keyring: looprig/mine, keyCommand: [pass, key]": "give one of",
		"keyring: [a, b]":                                "keyring",
		"key: '" + canary + "'":                          "its place in the keyring",
	} {
		if _, err := read(entry); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v", entry, err)
		}
	}
}

// Every entry that the page on models shows is one that is read.
func TestEntriesOfThePageOnModels(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/models.md")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "config.yaml")
	entries := 0
	for i, part := range strings.Split(string(raw), "```") {
		src, ok := strings.CutPrefix(part, "yaml\n")
		if i%2 == 0 || !ok {
			continue
		}
		if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := LoadConfig(path, EnvOf(nil), true)
		if err != nil {
			t.Errorf("%v in\n%s", err, src)
			continue
		}
		entries += len(c.Providers)
	}
	if entries < 12 {
		t.Errorf("%d entries", entries)
	}
}
