package ptytest

import (
	"strings"
	"testing"
)

func TestCheckAllowsWhatTheInterfaceWrites(t *testing.T) {
	t.Parallel()
	ok := "text世\r\n\x1b[?1049h\x1b[?25l\x1b[2J\x1b[H\x1b[1;31m\x1b[38;2;1;2;3mred\x1b[m\x1b[K\x1b[10;20H\x1b[3X\x1b[>4;2m\x1b[>1u\x1b[?2026$p\x1b]11;?\x07\x1b]2;looprig x\x07\x1b]2;\x1b\\\x1b[2 q\x1b[c\x1b[?1049l"
	if v := Check([]byte(ok), Rules{Titles: []string{"looprig x"}}); len(v) > 0 {
		t.Errorf("%v", v)
	}
}

func TestCheckFindsWhatAServerWouldWrite(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]string{
		"title":         "\x1b]0;owned\x07",
		"clipboard":     "\x1b]52;c;aGk=\x07",
		"link":          "\x1b]8;;http://x\x1b\\",
		"bell":          "\x07",
		"mouse":         "\x1b[?1003h",
		"dcs":           "\x1bPq\x1b\\",
		"apc":           "\x1b_x\x1b\\",
		"c1":            "\u009b31m",
		"c1 byte":       "\x9b31m",
		"device report": "\x1b[6n",
		"bidi":          "\u202e",
		"tag":           "\U000e0041",
		"delete":        "\x7f",
		"unfinished":    "\x1b]0;",
		"reset":         "\x1bc",
	} {
		if v := Check([]byte("before "+s+" after"), Rules{Titles: []string{"looprig"}}); len(v) == 0 {
			t.Errorf("%s: %q is allowed", name, s)
		}
	}
}

func TestResidue(t *testing.T) {
	t.Parallel()
	on := "\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[>4;2m\x1b[>1u\x1b]2;t\x07"
	off := "\x1b[>4m\x1b[<1u\x1b[?1049l\x1b[?25h\x1b[?2004l\x1b]2;\x07"
	if left := Residue([]byte(on)); len(left) != 6 {
		t.Errorf("left on: %v", left)
	}
	if left := Residue([]byte(on + off)); len(left) != 0 {
		t.Errorf("everything was switched off, and %s", strings.Join(left, ", "))
	}
}
