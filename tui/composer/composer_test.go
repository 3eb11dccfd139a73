package composer

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/keymap"
	"github.com/looprig/looprig/tui/theme"
	"pgregory.net/rapid"
)

type rig struct {
	c    *Composer
	th   *theme.Theme
	keys *keymap.Map
}

func newRig(t interface{ Fatal(...any) }, history ...string) *rig {
	th, err := theme.Choose(theme.Mono, true, true)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := keymap.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	complete := func(text string) []Candidate {
		var out []Candidate
		for _, c := range []string{"/call ", "/catalog ", "/help"} {
			if strings.HasPrefix(c, text) {
				out = append(out, Candidate{Text: c, Note: "note"})
			}
		}
		return out
	}
	return &rig{c: New(th, history, complete), th: th, keys: keys}
}

func (r *rig) typed(s string) {
	for _, x := range s {
		r.c.Key(tea.KeyPressMsg{Code: x, Text: string(x)}, r.keys)
	}
}

func (r *rig) press(k tea.KeyPressMsg) { r.c.Key(k, r.keys) }

var (
	up    = tea.KeyPressMsg{Code: tea.KeyUp}
	down  = tea.KeyPressMsg{Code: tea.KeyDown}
	tab   = tea.KeyPressMsg{Code: tea.KeyTab}
	ctrlJ = tea.KeyPressMsg{Code: 'j', Mod: tea.ModCtrl}
	ctrlR = tea.KeyPressMsg{Code: 'r', Mod: tea.ModCtrl}
)

func TestHistoryAtTheEdges(t *testing.T) {
	t.Parallel()
	r := newRig(t, "one", "two\nlines")
	r.typed("draft")
	r.press(up)
	if r.c.Text() != "two\nlines" {
		t.Fatalf("up: %q", r.c.Text())
	}
	r.c.Draw(r.th, 40, true)
	r.press(up)
	if r.c.Text() != "two\nlines" {
		t.Fatalf("up in the second line left it: %q", r.c.Text())
	}
	r.press(up)
	if r.c.Text() != "one" {
		t.Fatalf("up in the first line: %q", r.c.Text())
	}
	r.press(down)
	r.press(down)
	if r.c.Text() != "draft" {
		t.Fatalf("down to the draft: %q", r.c.Text())
	}
}

func TestHistorySearch(t *testing.T) {
	t.Parallel()
	r := newRig(t, "call one", "call two", "other")
	r.press(ctrlR)
	r.typed("call")
	r.press(ctrlR)
	r.c.EndSearch()
	if r.c.Text() != "call one" {
		t.Fatalf("found %q", r.c.Text())
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.typed("/ca")
	if v := r.c.Draw(r.th, 40, true); len(v.Above) != 2 {
		t.Fatalf("offered %q", v.Above)
	}
	r.press(down)
	r.press(tab)
	if r.c.Text() != "/catalog " {
		t.Fatalf("completed %q", r.c.Text())
	}
	r.c.Set("/h")
	if !r.c.Escape() || r.c.Escape() {
		t.Error("esc closes the completions once")
	}
}

func TestPaste(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if why := r.c.Paste("a\r\nb"); why != "" || r.c.Text() != "a\nb" {
		t.Fatalf("%q %q", why, r.c.Text())
	}
	r.c.Clear()
	if why := r.c.Paste("x\u202ey\x1b[2J"); why == "" || strings.ContainsAny(r.c.Text(), "\u202e\x1b") {
		t.Fatalf("%q %q", why, r.c.Text())
	}
	r.c.Clear()
	big := strings.Repeat("0123456789abcdef\n", 10<<20/17)
	start := time.Now()
	r.typed("see ")
	r.c.Paste(big)
	r.c.Draw(r.th, 80, true)
	if took := time.Since(start); took > time.Second {
		t.Errorf("a paste of 10 MB took %v", took)
	}
	if len(r.c.Text()) > 100 || r.c.Expand() != "see "+big {
		t.Errorf("placeholder %q", r.c.Text())
	}
	if got := r.c.Take(); got != "see "+big || !r.c.Empty() {
		t.Error("the paste is not what is sent")
	}
	if why := r.c.Paste(strings.Repeat("x", MaxPaste+1)); why == "" {
		t.Error("a paste over the limit is taken")
	}
}

// TestTheCursorStaysInView: the line with the cursor is among those drawn after
// the width has changed.
func TestTheCursorStaysInView(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for range 30 {
		r.typed("word ")
		r.press(ctrlJ)
	}
	r.typed("END")
	for _, w := range []int{80, 9, 40, 6, 120} {
		v := r.c.Draw(r.th, w, true)
		if got := ansi.Strip(v.Lines[v.Cursor.Y]); !strings.Contains(got, "END") {
			t.Errorf("in %d cells the cursor is in %q", w, got)
		}
	}
}

func TestDrawingKeepsItsWidth(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		r := newRig(rt)
		for _, x := range rapid.SliceOfN(rapid.RuneFrom([]rune("ab 世界\u0301/👩‍")), 0, 200).Draw(rt, "text") {
			r.press(tea.KeyPressMsg{Code: x, Text: string(x)})
			if rapid.IntRange(0, 20).Draw(rt, "nl") == 0 {
				r.press(ctrlJ)
			}
		}
		w := rapid.IntRange(4, 130).Draw(rt, "w")
		v := r.c.Draw(r.th, w, true)
		if len(v.Lines) > MaxLines {
			rt.Fatalf("%d lines", len(v.Lines))
		}
		for _, l := range append(v.Above, v.Lines...) {
			if cells.Width(l) != w {
				rt.Fatalf("%d cells in %d: %q", cells.Width(l), w, ansi.Strip(l))
			}
		}
		if v.Cursor == nil || v.Cursor.X >= w || v.Cursor.Y >= len(v.Lines) {
			rt.Fatalf("cursor %+v in %d×%d", v.Cursor, w, len(v.Lines))
		}
	})
}
