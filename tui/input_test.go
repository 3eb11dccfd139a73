//go:build unix

package tui

import (
	"bytes"
	"os"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"pgregory.net/rapid"
)

func TestAPasteOverTheLimitIsRefusedForItsSize(t *testing.T) {
	t.Parallel()
	r := &terminalInput{}
	r.feed(pasteStart)
	chunk := bytes.Repeat([]byte("x"), 1<<20)
	for range 40 {
		r.feed(chunk)
		if len(r.text) > 18<<20 {
			t.Fatalf("%d bytes held", len(r.text))
		}
	}
	out := r.feed(pasteEnd)
	if got := r.pasted(nil, tea.PasteMsg{Content: string(out[:1])}).(tea.PasteMsg); len(got.Content) <= 16<<20 {
		t.Fatalf("%d bytes were pasted", len(got.Content))
	}
}

// TestPastesAreReadWhole cuts keys and pastes of all sorts into reads anywhere:
// what is decoded is the keys and a digit for each paste, and each paste comes
// back as it was, in its place.
func TestPastesAreReadWhole(t *testing.T) {
	t.Parallel()
	pieces := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "\x1b", "\x1b[31m", "\x1b]0;x", "\x1bP", "\x1b[20", "\x1b[200~", "\x9d", "\xff", "\n", "世", "5"}), 0, 8)
	rapid.Check(t, func(rt *rapid.T) {
		var typed, want strings.Builder
		var pastes []string
		for i := range rapid.IntRange(1, 6).Draw(rt, "parts") {
			keys := rapid.SampledFrom([]string{"", "k", "\x1b[A", "\r", "世"}).Draw(rt, "keys")
			text := strings.Join(pieces.Draw(rt, "paste"), "")
			typed.WriteString(keys + string(pasteStart) + text + string(pasteEnd))
			want.WriteString(keys + string(pasteStart) + string(rune('0'+(i+1)%10)) + string(pasteEnd))
			pastes = append(pastes, strings.ToValidUTF8(text, "\uFFFD"))
		}
		in, out, err := os.Pipe()
		if err != nil {
			rt.Fatal(err)
		}
		defer func() { _, _ = in.Close(), out.Close() }()
		r := &terminalInput{File: in, begun: true}
		var got []byte
		size := rapid.SampledFrom([]int{20, 24, 64, 4096}).Draw(rt, "buffer")
		for rest := []byte(typed.String()); len(rest) > 0; {
			n := rapid.IntRange(1, min(len(rest), size-endRoom)).Draw(rt, "read")
			if _, err := out.Write(rest[:n]); err != nil {
				rt.Fatal(err)
			}
			rest = rest[n:]
			p := make([]byte, size)
			for ready(in, 0) {
				n, err := r.Read(p)
				if err != nil {
					rt.Fatal(err)
				}
				got = append(got, p[:n]...)
			}
		}
		if string(got) != want.String() {
			rt.Fatalf("decoded is %q, not %q", got, want.String())
		}
		for i, text := range pastes {
			msg := r.pasted(nil, tea.PasteMsg{Content: string(rune('0' + (i+1)%10))})
			if p, ok := msg.(tea.PasteMsg); !ok || p.Content != text {
				rt.Fatalf("paste %d is %q, not %q", i+1, msg, text)
			}
		}
	})
}

func TestAPasteWhoseNumberWasLostIsNotTakenForAnother(t *testing.T) {
	t.Parallel()
	r := &terminalInput{}
	r.feed([]byte("\x1b[200~one\x1b[201~\x1b[200~two\x1b[201~"))
	if p := r.pasted(nil, tea.PasteMsg{Content: "2"}).(tea.PasteMsg); p.Content != "two" {
		t.Errorf("the second is %q", p.Content)
	}
	if msg := r.pasted(nil, tea.PasteMsg{Content: "1"}); msg != nil {
		t.Errorf("a paste that was given up comes as %q", msg)
	}
}
