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
