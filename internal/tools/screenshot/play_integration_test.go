//go:build integration && !windows

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A scene plays against a real program in a real pseudo-terminal.
func TestPlay(t *testing.T) {
	t.Parallel()
	scenes, out := t.TempDir(), t.TempDir()
	script := "printf 'ready\\n'; read word; printf '\\033[32mgot %s\\033[0m\\n' \"$word\"; trap 'exit 0' INT; while :; do read word; done"
	program := filepath.Join(scenes, "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	scene := "size 40 8\nwait ready\ntype hello\nkey enter\nwait got hello\nsettle\nshot greeting\n"
	if err := os.WriteFile(filepath.Join(scenes, "a.scene"), []byte(scene), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), program, scenes, out, nil); err != nil {
		t.Fatal(err)
	}
	svg, err := os.ReadFile(filepath.Join(out, "greeting.svg"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(svg), ">got hello</text>") {
		t.Errorf("got %s", svg)
	}
}
