package transcript

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/looprig/looprig/harness/content"
	"github.com/looprig/looprig/harness/tool"
	"github.com/looprig/looprig/tui/theme"
)

// What is stored apart is named where its body would be.
func TestABodyThatIsStoredApartIsNamed(t *testing.T) {
	t.Parallel()
	th, err := theme.Choose(theme.Mono, true, true)
	if err != nil {
		t.Fatal(err)
	}
	tr := New()
	tr.Requested(t0, "main", Call{ID: "c", Tool: "mcp:demo:big", By: "person"})
	tr.Completed("c", Completion{Outcome: tool.OK, Content: []content.Block{{Kind: content.KindText, Blob: "sha256:ab12", Bytes: 66_560, MIME: "text/plain\x1b[2J"}}})
	out := ansi.Strip(strings.Join(tr.View(Frame{Width: 100, Height: 20, Theme: th, Now: t0}), "\n"))
	if got := Stored(content.Block{Kind: content.KindText, Blob: "sha256:aa", Bytes: 66_560, MIME: "text/plain; charset=utf-8"}); got != "65.0 KiB of text/plain, kept in the journal (sha256:aa)" {
		t.Error(got)
	}
	for _, want := range []string{"65.0 KiB of ", "text/plain", "kept in the journal (", "sha256:ab12"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if got := tr.Call("c").Text(); !strings.Contains(got, "sha256:ab12") {
		t.Errorf("copied: %q", got)
	}
	if got := Plain([]content.Block{content.Text("before"), {Kind: content.KindText, Blob: "sha256:cd", Bytes: 9 << 20, MIME: "text/plain"}}); !strings.HasPrefix(got, "before\n9.0 MiB of text/plain") {
		t.Error(got)
	}
}
