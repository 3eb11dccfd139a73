package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/charmbracelet/x/vt"
)

func TestParseScene(t *testing.T) {
	t.Parallel()
	s, err := parseScene("# a comment\nsize 80 24\nargs --model operator\nwait demo\nkey ctrl+p enter x\ntype /call a b\nsettle\nshot main\n")
	if err != nil {
		t.Fatal(err)
	}
	if s.width != 80 || s.height != 24 || len(s.args) != 2 || len(s.steps) != 5 {
		t.Fatalf("got %+v", s)
	}
	if s.steps[1].text != "\x10\rx" || s.steps[2].text != "/call a b" || s.steps[2].line != 6 {
		t.Errorf("got %+v", s.steps)
	}
	for _, bad := range []string{"", "wait x", "shot", "shot ../x", "key nosuch\nshot a", "size 1 1\nshot a", "fly\nshot a", "wait\nshot a"} {
		if _, err := parseScene(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestDraw(t *testing.T) {
	t.Parallel()
	emu := vt.NewEmulator(20, 3)
	io.WriteString(emu, "a<b \x1b[1;31mred\x1b[0m \x1b[7mrev\x1b[0m\r\n世界 \x1b[4mu\x1b[0m\x1b[?25l")
	svg := drawSVG(copyScreen(emu))
	for _, want := range []string{"a&lt;b", ">red</text>", `font-weight="bold"`, "世界", `text-decoration="underline"`, `fill="` + hex(defaultBg) + `">rev`} {
		if !strings.Contains(svg, want) {
			t.Errorf("%s is missing in\n%s", want, svg)
		}
	}
	if strings.Contains(svg, `opacity="0.5"`) {
		t.Error("a hidden cursor is drawn")
	}
	dec := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("not XML: %v", err)
		}
	}
}
