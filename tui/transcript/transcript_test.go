package transcript

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/tui/cells"
	"github.com/looprig/looprig/tui/markdown"
	"github.com/looprig/looprig/tui/theme"
	"pgregory.net/rapid"
)

var t0 = time.Date(2026, 11, 30, 14, 2, 11, 0, time.UTC)

func frame(tb interface{ Fatal(...any) }, w, h int) Frame {
	th, err := theme.Choose(theme.Mono, true, true)
	if err != nil {
		tb.Fatal(err)
	}
	return Frame{Width: w, Height: h, Theme: th, Now: t0.Add(3 * time.Second)}
}

func text(lines []string) string { return ansi.Strip(strings.Join(lines, "\n")) }

func filled(n int) *Transcript {
	tr := New()
	for i := range n {
		switch i % 3 {
		case 0:
			tr.User(t0, "main", fmt.Sprintf("question %d", i))
		case 1:
			id := fmt.Sprint("c", i)
			tr.Requested(t0, "main", Call{ID: id, Tool: "mcp:demo:add", By: "model", Args: json.RawMessage(`{"a":1,"b":2}`)})
			tr.Completed(id, Completion{Outcome: tool.OK, Content: []content.Block{content.Text("3")}, Took: 400 * time.Millisecond})
		case 2:
			it := tr.Message(t0, "main", fmt.Sprint("m", i), "the **answer** is 3\n\n- a\n- b", nil)
			tr.SetDoc(it, markdown.Parse(it.Text()))
		}
	}
	return tr
}

func TestFollowsUntilScrolled(t *testing.T) {
	t.Parallel()
	tr, f := filled(30), frame(t, 60, 10)
	if out := text(tr.View(f)); !strings.Contains(out, "• b") {
		t.Fatalf("the end is not visible:\n%s", out)
	}
	tr.Scroll(-5, f)
	before := text(tr.View(f))
	tr.User(t0, "main", "something new")
	if after := text(tr.View(f)); after != before {
		t.Fatal("new items move a view that was scrolled back")
	}
	tr.Scroll(100, f)
	if !tr.Following() || !strings.Contains(text(tr.View(f)), "something new") {
		t.Fatal("scrolling to the end does not follow again")
	}
	tr.Home()
	if out := text(tr.View(f)); !strings.Contains(out, "question 0") {
		t.Fatalf("no first item:\n%s", out)
	}
}

func TestCallLifecycle(t *testing.T) {
	t.Parallel()
	tr, f := New(), frame(t, 70, 20)
	tr.Requested(t0, "main", Call{ID: "c1", Tool: "mcp:demo:add", By: "person", Args: json.RawMessage(`{"a":1}`)})
	tr.Gated("c1", true)
	if out := text(tr.View(f)); !strings.Contains(out, "you ▸ demo ▸ add") || !strings.Contains(out, "◐ gate: you") {
		t.Fatalf("waiting for a gate:\n%s", out)
	}
	tr.Gated("c1", false)
	tr.Started("c1", t0, nil)
	if out := text(tr.View(f)); !strings.Contains(out, "running 3s") {
		t.Fatalf("running:\n%s", out)
	}
	tr.Completed("c1", Completion{Outcome: tool.ToolError, Reason: "the tool reported an error", Content: []content.Block{
		content.Text("boom\nat line 2"), {Kind: content.KindImage, MIME: "image/png", Data: make([]byte, 2048)},
		{Kind: content.KindUnknown, JSON: json.RawMessage(`{"type":"odd"}`)}}, Took: 1900 * time.Millisecond})
	out := text(tr.View(f))
	for _, want := range []string{"✗ tool error 1.9 s", "│ boom", "│ at line 2", "image image/png 2.0 kB", `{"type":"odd"}`} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	tr.Toggle()
	if out := text(tr.View(f)); strings.Contains(out, "at line 2") {
		t.Errorf("folded, and still shown:\n%s", out)
	}
}

func TestStreamEqualsItsWholeText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := rapid.IntRange(5, 40).Draw(rt, "w")
		pieces := rapid.SliceOf(rapid.StringOf(rapid.RuneFrom([]rune("ab \n世\u0301\x1b\r")))).Draw(rt, "pieces")
		s := newStream()
		for _, p := range pieces {
			s.append(p)
			s.wrapped(w)
		}
		whole := strings.Join(pieces, "")
		want := []string{}
		if whole != "" {
			want = wrapBlock(withoutBreak(whole), w)
		}
		if got := s.wrapped(w); strings.Join(got, "\n") != strings.Join(want, "\n") {
			rt.Fatalf("%q\nstreamed %q\nwhole    %q", whole, got, want)
		}
	})
}

func TestBounds(t *testing.T) {
	t.Parallel()
	tr := New()
	for i := range MaxItems + 5000 {
		tr.User(t0, "main", fmt.Sprint("item ", i))
	}
	if tr.Len() > MaxItems || tr.Len()+tr.Dropped() != MaxItems+5000 {
		t.Errorf("%d kept, %d dropped", tr.Len(), tr.Dropped())
	}
	tr.Home()
	if out := text(tr.View(frame(t, 60, 5))); !strings.Contains(out, "earlier items are in the journal") {
		t.Errorf("what was dropped is not said:\n%s", out)
	}
	big := strings.Repeat("x", MaxBodyBytes)
	for range 1000 {
		tr.User(t0, "main", big)
	}
	if tr.bytes > MaxBytes {
		t.Errorf("%d bytes held", tr.bytes)
	}
}

func TestHostileTextStaysInItsLines(t *testing.T) {
	t.Parallel()
	hostile := "\x1b[2J\x1b]52;c;aGk=\x07\u009b31m\u202eevil\rDENY\x08\x08ALLOW\u2028x\U000e0041"
	tr, f := New(), frame(t, 50, 40)
	tr.User(t0, hostile, hostile)
	tr.Loop("a")
	tr.Loop("b")
	tr.Delta(t0, hostile, "k", "text", hostile)
	tr.Delta(t0, hostile, "k", "reasoning", hostile)
	tr.Rule(t0, hostile)
	tr.Note(t0, "", Warn, hostile)
	tr.Requested(t0, "", Call{ID: "c", Tool: "mcp:d:" + hostile, By: "person", Args: json.RawMessage(`{"a":"` + hostile + `"}`)})
	tr.Completed("c", Completion{Outcome: tool.Failed, Reason: hostile, Data: json.RawMessage(hostile), DataFault: hostile, Content: []content.Block{
		content.Text(hostile), {Kind: content.KindResource, URI: hostile, MIME: hostile, Text: hostile},
		{Kind: content.KindResourceLink, Name: hostile, URI: hostile, Description: hostile}, {Kind: content.Kind(hostile), JSON: json.RawMessage(hostile)}}})
	for _, l := range tr.View(f) {
		if cells.Width(l) > f.Width {
			t.Errorf("too wide: %q", l)
		}
		for _, r := range ansi.Strip(l) {
			if r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x202e || r == 0x2028 || r >= 0xe0000 && r < 0xe0080 {
				t.Errorf("raw %U in %q", r, l)
			}
		}
		if strings.Contains(l, "\x1b]") || strings.Contains(l, "\x1b[2J") {
			t.Errorf("a raw sequence in %q", l)
		}
	}
}

func BenchmarkFrame10000(b *testing.B) {
	tr, f := filled(10_000), frame(b, 80, 30)
	tr.View(f)
	b.ReportAllocs()
	for b.Loop() {
		tr.View(f)
	}
}

func BenchmarkDelta(b *testing.B) {
	tr, f := filled(10_000), frame(b, 80, 30)
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		if n++; n%2000 == 0 {
			tr.Message(t0, "main", "k", "done", nil)
		}
		tr.Delta(t0, "main", "k", "text", "another few words of text ")
		tr.View(f)
	}
}

// A call of a tool that does not exist is shown by the name that was asked for.
func TestACallOfNoToolHasItsName(t *testing.T) {
	t.Parallel()
	tr, f := New(), frame(t, 70, 20)
	tr.Requested(t0, "main", Call{ID: "c1", ModelName: "no_such\x1b[2J", By: "model", Args: json.RawMessage(`{}`)})
	if out := text(tr.View(f)); !strings.Contains(out, "no_such") || !strings.Contains(out, "(no such tool)") || strings.Contains(out, `""`) || strings.ContainsRune(out, '\x1b') {
		t.Errorf("%s", out)
	}
	tr.Requested(t0, "main", Call{ID: "c2", By: "model", Args: json.RawMessage(`{"a":1}`)})
	if out := text(tr.View(f)); !strings.Contains(out, `▸ "" (no tool was named)  {"a":1}`) {
		t.Errorf("%s", out)
	}
}
