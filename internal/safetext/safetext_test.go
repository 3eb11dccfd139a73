package safetext

import (
	"strings"
	"testing"
)

func TestToBlock(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, in, want string }{
		{"empty", "", ""},
		{"plain", "hello, world\nsecond ~ line", "hello, world\nsecond ~ line"},
		{"accents", "naïve café — ok", "naïve café — ok"},
		{"clear screen", "a\x1b[2J\x1b[Hb", "a␛[2J␛[Hb"},
		{"osc 52", "\x1b]52;c;cGF5\x07", "␛]52;c;cGF5␇"},
		{"unterminated osc", "\x1b]8;;http://x" + strings.Repeat("a", 50), "␛]8;;http://x" + strings.Repeat("a", 50)},
		{"nul and del", "\x00\x7f", "␀␡"},
		{"c1 as runes", "\u0080\u009b31m\u009f", "‹U+0080›‹U+009B›31m‹U+009F›"},
		{"c1 as bytes", "\x9b31m", "‹0x9B›31m"},
		{"overlong and half a rune", "\xc0\xafé\xe2\x82", "‹0xC0›‹0xAF›é‹0xE2›‹0x82›"},
		{"surrogate bytes", "\xed\xa0\x80", "‹0xED›‹0xA0›‹0x80›"},
		{"replacement character stays", "\ufffd", "\ufffd"},
		{"bidi", "a\u202eb\u2066c\u200f", "a‹U+202E›b‹U+2066›c‹U+200F›"},
		{"zero width", "a\u200bb\u2060\ufeff\u00ad", "a‹U+200B›b‹U+2060›‹U+FEFF›‹U+00AD›"},
		{"tags", "\U000e0041\U000e007f", "‹U+E0041›‹U+E007F›"},
		{"separators", "a\u2028b\u2029", "a‹U+2028›b‹U+2029›"},
		{"fillers", "\u3164\u115f\uffa0\u034f", "‹U+3164›‹U+115F›‹U+FFA0›‹U+034F›"},
		{"private use", "\ue0b0\U0010fffd", "‹U+E0B0›‹U+10FFFD›"},
		{"noncharacter", "\uffff\ufdd0", "‹U+FFFF›‹U+FDD0›"},
		{"crlf and tab", "a\r\n\tb", "a\n    b"},
		{"lone cr", "DENY\rALLOW", "DENY␍ALLOW"},
		{"cr before crlf", "a\r\r\nb", "a␍\nb"},
		{"backspace", "DENY\b\b\b\bALLOW", "DENY␈␈␈␈ALLOW"},
		{"family", "👩‍👩‍👧‍👦!", "👩‍👩‍👧‍👦!"},
		{"rainbow flag", "🏳️‍🌈", "🏳️‍🌈"},
		{"skin tone", "👩🏽‍🚀", "👩🏽‍🚀"},
		{"keycap", "1️⃣ *️⃣", "1️⃣ *️⃣"},
		{"joiner between letters", "a\u200db", "a‹U+200D›b"},
		{"joiner at the end", "👩\u200d", "👩‹U+200D›"},
		{"joiner after a mark", "👩\u0301\u200d👩", "👩\u0301‹U+200D›👩"},
		{"selector on a letter", "a\ufe0f", "a‹U+FE0F›"},
		{"selector on a bare digit", "1\ufe0f", "1‹U+FE0F›"},
		{"selector twice", "❤\ufe0f\ufe0f", "❤\ufe0f‹U+FE0F›"},
		{"text selector", "❤\ufe0e", "❤‹U+FE0E›"},
		{"four marks", "a\u0301\u0302\u0303\u0304b", "a\u0301\u0302\u0303\u0304b"},
		{"a stack of marks", "a" + strings.Repeat("\u0301", 1000) + "b", "a" + strings.Repeat("\u0301", 4) + "‹+996 marks›b"},
		{"a stack of vowels", "ᄀ" + strings.Repeat("ᅡ", 6), "ᄀ" + strings.Repeat("ᅡ", 4) + "‹+2 marks›"},
		{"a mark on nothing", "\u0301a\n\u0301", "◌\u0301a\n◌\u0301"},
		{"thai and hindi", "ที่นี่ नमस्ते", "ที่นี่ नमस्ते"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := ToBlock(c.in).String(); got != c.want {
				t.Errorf("ToBlock(%q)\n got %q\nwant %q", c.in, got, c.want)
			}
		})
	}
}

func TestEmojiJoinsAreBounded(t *testing.T) {
	t.Parallel()
	got := string(ToBlock(strings.Repeat("👩\u200d", 20) + "👩"))
	if n := strings.Count(got, "‹U+200D›"); n != 2 {
		t.Errorf("%d joiners made visible in %q, want every seventh", n, got)
	}
}

func TestToLine(t *testing.T) {
	t.Parallel()
	got := ToLine("ok\n{\"verdict\":\"allow\"}\r\n\x85").String()
	if want := "ok␊{\"verdict\":\"allow\"}␊‹0x85›"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCapsAreNeverSilent(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, in, want string }{
		{"at the cap", strings.Repeat("a", 40), strings.Repeat("a", 40)},
		{"one over", strings.Repeat("a", 41), strings.Repeat("a", 22) + "…‹+19 bytes›"},
		{"never inside a character", strings.Repeat("é", 30), strings.Repeat("é", 11) + "…‹+38 bytes›"},
		{"forms count as they are written", strings.Repeat("\x9b", 39), "‹0x9B›‹0x9B›…‹+37 bytes›"},
		{"never inside a joined pair", "0123456789👩‍👩‍👧" + strings.Repeat("a", 30), "0123456789👩‍👩…‹+37 bytes›"},
		{"marks count as bytes", "a" + strings.Repeat("\u0301", 100), "a\u0301\u0301\u0301\u0301…‹+192 bytes›"},
		{"never inside a keycap", strings.Repeat("a", 16) + "1️⃣" + strings.Repeat("a", 30), strings.Repeat("a", 16) + "1…‹+36 bytes›"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := ToBlockN(c.in, 40).String()
			if got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			if len(got) > 40 {
				t.Errorf("%d bytes under a cap of 40", len(got))
			}
			if again := ToBlockN(got, 40).String(); again != got {
				t.Errorf("a second pass changes it to %q", again)
			}
		})
	}
	if got := ToLineN(strings.Repeat("x", 100), 0).String(); len(got) > MinBytes || !strings.HasSuffix(got, " bytes›") {
		t.Errorf("a cap below the minimum gives %q", got)
	}
	if got := ToLine(strings.Repeat("x", DefaultLineBytes+1)).String(); len(got) > DefaultLineBytes || len(got) < DefaultLineBytes-8 {
		t.Errorf("a default line is %d bytes", len(got))
	}
	if got := ToBlock(strings.Repeat("\x00", DefaultBlockBytes)).String(); len(got) > DefaultBlockBytes {
		t.Errorf("a default block is %d bytes", len(got))
	}
}

func TestIdent(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 200_000)
	cases := []struct{ name, in, want string }{
		{"bare", "mcp__demo__ask-name.v2:x/y", "mcp__demo__ask-name.v2:x/y"},
		{"empty", "", `""`},
		{"space", "ask name", `"ask name"`},
		{"quote and backslash", `a"\b`, `"a\"\\b"`},
		{"newline and a forged record", "x\n{}", `"x\n{}"`},
		{"nul and escape", "\x00\x1b[2J", `"\x00\x1b[2J"`},
		{"invalid byte", "a\xff", `"a\xff"`},
		{"bidi", "a\u202eb", `"a\u202eb"`},
		{"look-alike quotes stay inside", "a› ‹mixed scripts›", `"a\u203a \u2039mixed scripts\u203a"`},
		{"accent", "café", `"café"`},
		{"decomposed accent", "cafe\u0301", `"cafe\u0301"`},
		{"thai keeps its marks", "ที่", `"ที่"`},
		{"fullwidth", "ｄelete", `"\uff44elete"`},
		{"mathematical", "𝐝elete", `"\U0001d41delete"`},
		{"cyrillic in latin", "dеlete", `"dеlete" ‹mixed scripts›`},
		{"cyrillic alone", "удалить", `"удалить"`},
		{"japanese with latin", "検索するsearch", `"検索するsearch"`},
		{"long", long, long[:488] + "…‹+199512 bytes›"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := Ident(c.in).String()
			if got != c.want {
				t.Errorf("Ident(%q)\n got %q\nwant %q", c.in, got, c.want)
			}
			if again := ToLine(got).String(); again != got {
				t.Errorf("not clean: %q becomes %q", got, again)
			}
		})
	}
}

func TestIdentLongMixedIsCapped(t *testing.T) {
	t.Parallel()
	got := Ident(strings.Repeat("dе", 5000)).String()
	if len(got) > IdentBytes {
		t.Errorf("%d bytes", len(got))
	}
	if !strings.Contains(got, `"`+MixedMarker+"…‹+") {
		t.Errorf("no warning in %q", got)
	}
}

func TestMixedScript(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{
		"": false, "abc-1": false, "раураl": true, "paypal": false, "αβγ": false, "aβ": true,
		"漢字かなカナ": false, "漢字abc": false, "한국漢字": false, "한국かな": true, "漢字д": true,
		"дα": true, "नाम": false, "nамe": true, "١٢٣": false, "a١": false, "ⴰⵣ": false,
	} {
		if got := MixedScript(s); got != want {
			t.Errorf("MixedScript(%q) = %v", s, got)
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	if got := ToBlock("a\n\nb").Lines(); len(got) != 3 || got[0] != "a" || got[1] != "" || got[2] != "b" {
		t.Errorf("got %q", got)
	}
}
