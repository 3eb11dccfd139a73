package markdown

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/theme"
	"pgregory.net/rapid"
)

func monoTheme(t interface{ Fatal(...any) }) *theme.Theme {
	th, err := theme.Choose(theme.Mono, true, true)
	if err != nil {
		t.Fatal(err)
	}
	return th
}

func render(t *testing.T, src string, w int) string {
	t.Helper()
	return ansi.Strip(strings.Join(Parse(src).Lines(monoTheme(t), w), "\n"))
}

func TestRendering(t *testing.T) {
	t.Parallel()
	src := "# Title\n\nSome **bold** and `code` with a [link](https://example.com/x) and\n<https://a.b>.\n\n" +
		"- one\n- two is long enough to wrap around\n  1. inner\n\n> quoted\n\n```go\nfunc main() {}\n```\n\n---\n\n<b>html</b>"
	want := `Title

Some bold and code with a link
(https://example.com/x) and
https://a.b.

• one
• two is long enough to wrap
  around
  1. inner

│ quoted

  func main() {}

──────────────────────────────

<b>html</b>`
	if got := render(t, src, 30); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestNothingLiveAndNothingRaw(t *testing.T) {
	t.Parallel()
	src := "[a](javascript:alert(1)) \x1b]8;;http://evil\x07x\x1b]8;;\x07 &#27;[31m \u202e <img src=x> [\x1b[2J](\x1b[2J)"
	for _, l := range Parse(src).Lines(monoTheme(t), 200) {
		for _, r := range ansi.Strip(l) {
			if r < 0x20 || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x202e {
				t.Errorf("raw %U in %q", r, l)
			}
		}
		if strings.Contains(l, "\x1b]") {
			t.Errorf("an OSC sequence in %q", l)
		}
	}
	if out := render(t, src, 200); !strings.Contains(out, "(javascript:alert(1))") {
		t.Errorf("the target is not shown: %s", out)
	}
}

func TestDeepNestingIsBounded(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]string{
		"quotes":   strings.Repeat(">", 83) + " x",
		"spaced":   strings.Repeat("> ", 2000) + "x",
		"brackets": strings.Repeat("[", 9000) + "x",
		"stars":    strings.Repeat("*a ", 9000),
		"lists":    strings.Repeat("- ", 2000) + "x",
		"images":   strings.Repeat("![", 900) + "x" + strings.Repeat("](y)", 900),
		"large":    strings.Repeat("word ", 20000),
	} {
		start := time.Now()
		out := render(t, src, 80)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s took %v", name, took)
		}
		if !strings.Contains(out, "x") && name != "stars" && name != "large" {
			t.Errorf("%s: the text is gone", name)
		}
	}
}

func TestNoLineIsTooWide(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		src := rapid.StringOf(rapid.RuneFrom([]rune("ab *_`[]()>-#\n\t1.!<&\\世\u0301\x1b👩‍👩‍👧"))).Draw(rt, "src")
		w := rapid.IntRange(1, 60).Draw(rt, "w")
		for _, l := range Parse(src).Lines(monoTheme(rt), w) {
			if n := cells.Width(l); n > w && !(w == 1 && n == 2) {
				rt.Fatalf("%d cells in %d: %q", n, w, l)
			}
		}
	})
}
