package tui

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/looprig/looprig/harness/event"
	"github.com/looprig/looprig/tui/theme"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares a screen with its file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got+"\n" {
		t.Errorf("%s has changed (go test ./tui -update writes it anew):\n%s", path, got)
	}
}

// scenes are the screens that are kept as files.
var scenes = map[string]func(*rig){
	"main":       func(r *rig) { r.emit(r.w.story()...) },
	"permission": func(r *rig) { r.emit(r.w.story()...); r.emit(r.w.open(permissionGate())) },
	"form":       func(r *rig) { r.emit(r.w.open(formGate())) },
	"confirm":    func(r *rig) { r.emit(r.w.open(confirmGate())); r.settle() },
	"url":        func(r *rig) { r.emit(r.w.open(urlGate())); r.settle() },
	"server":     func(r *rig) { r.emit(r.w.open(serverGate())); r.settle() },
	"bindings":   func(r *rig) { r.press("f2") },
	"catalog":    func(r *rig) { r.press("f3") },
	"prompts":    func(r *rig) { r.press("f3", "]") },
	"resources": func(r *rig) {
		r.press("f3", "]", "]", "s", "j")
		r.emit(&event.ResourceUpdated{Header: r.w.head(), Binding: "demo", URI: "demo://clock"})
	},
	"changes":  func(r *rig) { r.press("f3", "d", "enter") },
	"prompt":   func(r *rig) { r.press("f3", "]", "c", "A") },
	"template": func(r *rig) { r.press("f3", "[", "c") },
	"fetched":  func(r *rig) { r.press("/prompt demo greet who=Ada", "enter") },
	"read":     func(r *rig) { r.press("/resource demo demo://notes/1", "enter", "esc") },
	"notices":  func(r *rig) { r.chatter(); r.press("f7") },
	"detail":   func(r *rig) { r.press("f2", "enter") },
	"retrying": func(r *rig) { r.press("f2", "j", "j", "enter") },
	"logs":     func(r *rig) { r.press("f2", "L") },
	"trace":    func(r *rig) { r.press("f2", "T", "k") },
	"frame":    func(r *rig) { r.press("f2", "T", "enter") },
	"kinds":    func(r *rig) { r.press("/mcp add", "enter") },
	"call":     func(r *rig) { r.press("/call demo add", "enter") },
	"palette":  func(r *rig) { r.press("ctrl+p", "rec") },
	"help":     func(r *rig) { r.press("f1") },
}

func TestScreens(t *testing.T) {
	t.Parallel()
	for name, scene := range scenes {
		for _, size := range [][2]int{{80, 24}, {120, 36}, {40, 12}} {
			t.Run(fmt.Sprintf("%s %d×%d", name, size[0], size[1]), func(t *testing.T) {
				t.Parallel()
				r := newRig(t, size[0], size[1])
				scene(r)
				golden(t, fmt.Sprintf("%s-%dx%d", name, size[0], size[1]), r.screen())
			})
		}
	}
}

// TestColours keeps the bytes of the coloured themes: what is shown is the same
// text, and no state is told by colour alone.
func TestColours(t *testing.T) {
	t.Parallel()
	for _, name := range []string{theme.Light, theme.Dark, theme.HighContrast, theme.Mono} {
		for _, scene := range []string{"main", "permission", "bindings"} {
			t.Run(name+" "+scene, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, 80, 24, func(o *Options) { o.Theme, o.NoColor = name, false })
				scenes[scene](r)
				plain, err := os.ReadFile(filepath.Join("testdata", scene+"-80x24.golden"))
				if err != nil && !*update {
					t.Fatal(err)
				}
				if got := r.screen() + "\n"; got != string(plain) && !*update {
					t.Errorf("in colour it reads:\n%s", got)
				}
				if name == theme.Light {
					lines, _ := r.m.frame()
					golden(t, scene+"-light", strings.ReplaceAll(strings.Join(lines, "\n"), "\x1b", "␛"))
				}
			})
		}
	}
}

func TestTheFirstFrameShowsEveryBinding(t *testing.T) {
	t.Parallel()
	r := newRig(t, 120, 36)
	r.see("demo", "ready", "tracker", "again in 4 s", "docs", "untrusted", "scratch", "disabled", "No model configured")
	r.press("x")
	r.see("> x")
	r = newRig(t, 80, 24)
	r.see("●2 ◐1 ⚠1 ○1")
}

func TestNarrowScreensShowTheNewestNotice(t *testing.T) {
	t.Parallel()
	r := newRig(t, 80, 24)
	r.emit(r.w.story()...)
	r.see("gen 1 → 2 +1 ~1", "+1 F7")
	r = newRig(t, 40, 12)
	r.emit(r.w.open(confirmGate()))
	r.press("ctrl+c")
	r.see("gates 1")
	r.pass(time.Second)
}
