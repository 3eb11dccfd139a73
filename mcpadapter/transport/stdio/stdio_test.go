package stdio

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/looprig/looprig/mcpadapter/internal/wire"
)

const canary = "canary-7f3a"

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	cases := []struct {
		field string
		c     Config
	}{
		{"Command", Config{}},
		{"Command", Config{Command: "a\x00b"}},
		{"Args[1]", Config{Command: "a", Args: []string{"", canary + "\x00"}}},
		{"Env", Config{Command: "a", Env: map[string]string{"A=" + canary: ""}}},
		{"Env A", Config{Command: "a", Env: map[string]string{"A": canary + "\x00"}}},
		{"Env LOOPRIG_CHILD", Config{Command: "a", Env: map[string]string{"LOOPRIG_CHILD": canary}}},
		{"InheritEnv LD_PRELOAD", Config{Command: "a", InheritEnv: []string{"LD_PRELOAD"}}},
		{"InheritEnv bash_func_x", Config{Command: "a", InheritEnv: []string{"bash_func_x"}}},
		{"InheritEnv", Config{Command: "a", InheritEnv: []string{""}}},
		{"SHA256", Config{Command: "a", SHA256: canary}},
	}
	for _, c := range cases {
		_, err := New(c.c)
		var bad *ConfigError
		if !errors.As(err, &bad) || bad.Field != c.field {
			t.Errorf("%+v: error %v, want field %s", c.c, err, c.field)
			continue
		}
		if strings.Contains(err.Error(), canary) {
			t.Errorf("a value shows: %v", err)
		}
	}
	if _, err := New(Config{Command: "a", Env: map[string]string{"LD_PRELOAD": "x"}}); err != nil {
		t.Errorf("an explicit value was refused: %v", err)
	}
}

func TestEnvironmentFromNothing(t *testing.T) {
	t.Parallel()
	env := buildEnv(
		[]string{"PATH=/a", "HOME=/h", "SECRET=" + canary, "LANG=C", "TOKEN=" + canary, "https_proxy=x", "NODE_OPTIONS=y", "SHELL=/bin/sh", "junk"},
		[]string{"TOKEN", "ABSENT"}, map[string]string{"HOME": "/mine", "NEW": "1"})
	want := []string{"LOOPRIG_CHILD=m", "HOME=/mine", "LANG=C", "NEW=1", "PATH=/a", "TOKEN=" + canary}
	if runtime.GOOS != "windows" && !slices.Equal(env.list("m"), want) {
		t.Errorf("environment %q, want %q", env.list("m"), want)
	}
	if runtime.GOOS != "windows" && !slices.Equal(env.withheld, []string{"NODE_OPTIONS", "https_proxy"}) {
		t.Errorf("withheld %q", env.withheld)
	}
}

func TestDeclaredCoversEverythingAndMarksSecrets(t *testing.T) {
	t.Parallel()
	tr, err := New(Config{Command: "/opt/" + canary + "/server", Args: []string{"--token", canary}, Dir: "/work",
		Env: map[string]string{"TOKEN": canary, "A": "1"}, InheritEnv: []string{"PASSED"}})
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, s := range tr.Declared() {
		keys = append(keys, fmt.Sprintf("%s:%v", s.Key, s.Secret))
		if !s.Secret && s.Key != "command" && strings.Contains(s.Value, canary) {
			t.Errorf("%s is not marked secret", s.Key)
		}
	}
	want := []string{"args:true", "command:false", "dir:false", "env.A:true", "env.TOKEN:true", "inheritEnv.PASSED:false", "sha256:false"}
	if !slices.Equal(keys, want) {
		t.Errorf("keys %q, want %q", keys, want)
	}
	if tr.Origin() != "stdio:server" {
		t.Errorf("origin %q", tr.Origin())
	}
}

func TestConfigIsCopied(t *testing.T) {
	t.Parallel()
	args := []string{"one"}
	tr, err := New(Config{Command: "a", Args: args})
	if err != nil {
		t.Fatal(err)
	}
	args[0] = "two"
	if tr.Args()[0] != "one" {
		t.Error("the caller's slice is used")
	}
}

// place writes an executable file below a new directory.
func place(t *testing.T, name string, mode os.FileMode) (dir, path string) {
	t.Helper()
	dir = t.TempDir()
	path = filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("x"), mode); err != nil {
		t.Fatal(err)
	}
	return dir, path
}

func TestResolve(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("execute bits and PATH syntax of Unix")
	}
	dir, path := place(t, "tool", 0o755)
	plain, _ := place(t, "tool", 0o644)
	project, planted := place(t, "npx", 0o755)
	if err := os.Mkdir(filepath.Join(project, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name     string
		c        Config
		want     string
		warnings int
		reason   string
	}{
		{"bare", Config{Command: "tool", HostEnv: []string{"PATH=" + dir}}, path, 0, ""},
		{"bare, skipped elements", Config{Command: "tool", HostEnv: []string{"PATH=:.:" + plain + ":" + dir}}, path, 2, ""},
		{"bare, explicit PATH", Config{Command: "tool", Env: map[string]string{"PATH": "rel:" + dir}, HostEnv: []string{"PATH=/nowhere"}}, path, 1, ""},
		{"planted in the project", Config{Command: "npx", Dir: project, HostEnv: []string{"PATH=.:"}}, "", 2, "not found: the server's PATH is empty"},
		{"not executable", Config{Command: "tool", HostEnv: []string{"PATH=" + plain}}, "", 0, "found on PATH, but not executable"},
		{"nowhere", Config{Command: canary + "x", HostEnv: []string{"PATH=" + dir}}, "", 0, "not found on PATH"},
		{"relative to Dir", Config{Command: "./npx", Dir: project}, planted, 0, ""},
		{"relative, missing", Config{Command: "./nope", Dir: project}, "", 0, "no such file"},
		{"absolute", Config{Command: path}, path, 0, ""},
		{"a directory", Config{Command: "./sub", Dir: project}, "", 0, "not a regular file"},
		{"Dir missing", Config{Command: path, Dir: filepath.Join(dir, canary)}, "", 0, "the working directory does not exist or is no directory"},
	}
	for _, c := range cases {
		if c.c.HostEnv == nil {
			c.c.HostEnv = []string{}
		}
		tr, err := New(c.c)
		if err != nil {
			t.Fatal(err)
		}
		found, err := tr.Resolve()
		var failed *wire.LaunchError
		if errors.As(err, &failed) != (c.reason != "") || failed != nil && failed.Reason != c.reason {
			t.Errorf("%s: error %v, want %q", c.name, err, c.reason)
		}
		if err == nil && found.Path != c.want || len(found.Warnings) != c.warnings {
			t.Errorf("%s: %+v", c.name, found)
		}
	}
}

func TestResolutionHolds(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("execute bits of Unix")
	}
	first, path := place(t, "tool", 0o755)
	tr, err := New(Config{Command: "tool", HostEnv: []string{"PATH=" + t.TempDir() + string(filepath.ListSeparator) + first}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if found, err := tr.Resolve(); err != nil || found.Path != path {
			t.Fatalf("%+v, %v", found, err)
		}
		earlier := filepath.SplitList(tr.env.values["PATH"])[0]
		if err := os.WriteFile(filepath.Join(earlier, "tool"), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// TestNothingPrivateInErrors sends canaries through every place of a
// configuration that fails to start.
func TestNothingPrivateInErrors(t *testing.T) {
	t.Parallel()
	base := Config{Args: []string{canary}, Env: map[string]string{"TOKEN": canary}, HostEnv: []string{"PATH=/" + canary + ":" + canary}}
	for _, command := range []string{"nope", "/" + canary + "/nope", "./" + canary + "/nope"} {
		c := base
		c.Command = command
		tr, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		found, _ := tr.Resolve()
		_, err = tr.Dial(context.Background(), wire.Options{})
		for e := err; e != nil; e = errors.Unwrap(e) {
			if text := fmt.Sprintf("%v %+v", e, found.Warnings); strings.Contains(text, canary) {
				t.Errorf("%s: %s", command, text)
			}
		}
		if err == nil || strings.Contains(tr.Origin(), canary) {
			t.Errorf("%s: error %v, origin %s", command, err, tr.Origin())
		}
	}
}

func TestShebang(t *testing.T) {
	t.Parallel()
	cases := []struct {
		head, name, argument string
		ok                   bool
	}{
		{"#!/bin/sh\n", "/bin/sh", "", true},
		{"#! /usr/bin/env\tnode --x  y \nrest", "/usr/bin/env", "node --x  y", true},
		{"#!\n", "", "", false},
		{"#!/bin/sh", "", "", false},
		{"ELF", "", "", false},
	}
	for _, c := range cases {
		name, argument, ok := shebang([]byte(c.head))
		if ok != c.ok || ok && (name != c.name || argument != c.argument) {
			t.Errorf("%q: %q %q %v", c.head, name, argument, ok)
		}
	}
}

func TestStderrLinesAndRing(t *testing.T) {
	t.Parallel()
	var r ring
	var got []string
	s := lineSplitter{emit: func(line []byte) { r.add(line); got = append(got, string(line)) }}
	s.write([]byte("a\r\nb"))
	s.write([]byte("c\n\n"))
	s.write([]byte(strings.Repeat("x", 2*wire.MaxStderrLine+3)))
	s.flush()
	want := []string{"a", "bc", "", strings.Repeat("x", wire.MaxStderrLine), strings.Repeat("x", wire.MaxStderrLine), "xxx"}
	if !slices.Equal(got, want) {
		t.Fatalf("%d lines", len(got))
	}
	for range 2 * stderrLines {
		r.add([]byte(strings.Repeat("y", wire.MaxStderrLine)))
	}
	lines, dropped := r.snapshot()
	if len(lines)*wire.MaxStderrLine > stderrBytes || dropped+len(lines) != len(want)+2*stderrLines {
		t.Errorf("%d lines kept, %d dropped", len(lines), dropped)
	}
}
