package record

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/looprig/looprig/compose/config/doc"
)

// Whatever a text holds, the reader of scripts gets the same text back, and no
// byte that a terminal would obey is in the file.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{
		"", "a", "true", "No", "1e5", "0x10", "~", "- a", "a: b", "a #b", "'", "\"", "\\", "\\n", "a\nb\r\tc", "\x00\x1b[2J\x7f", "\u0085\u2028\u2029\ufeff",
		"\u202eabc", "\U000e0041", "\U0001f600", "é\u0301", "${x}", "{{", "%", "@", "`", "!tag", "&a", "*a", "|", ">", "---", "...", "?", "\\(1)",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) || len(s) > 10_000 {
			t.Skip() // events hold no such text
		}
		for what, text := range map[string]string{"quote": quote(s), "name": name(s), "expr": expr(s)} {
			for _, c := range text {
				if c < 0x20 || c >= 0x7f && c < 0xa0 || c == 0x2028 || c == 0x2029 || c == 0xfeff {
					t.Errorf("%s(%q) has %#x", what, s, c)
				}
			}
			n, err := doc.ParseYAML("f", []byte("steps:\n  - v: ["+text+", x]\n    w: "+text+"\n"))
			if err != nil {
				t.Fatalf("%s(%q) is %s: %v", what, s, text, err)
			}
			step := n.Get("steps").Items[0]
			for _, got := range []*doc.Node{step.Get("w"), step.Get("v").Items[0]} {
				if got.Kind != doc.String || got.Text != s {
					t.Errorf("%s(%q) was read as %s %q", what, s, got.Kind, got.Text)
				}
			}
		}
	})
}

// A value is written so that the same comes back, or is refused.
func FuzzFlow(f *testing.F) {
	for _, s := range []string{
		`{}`, `[]`, `null`, `{"a":{"b":[1,2,{"c":null}]},"true":true}`, `9007199254740993`, `-0`, `1e400`, `1E5`, `-1.50`, `{"":""}`, `{"a b":"c: d"}`,
		`["\ud83d\ude00\u0000\u001b"]`, `{"\u2028":1}`, `0.1e-7`, `{"k":"${x}"}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 10_000 {
			t.Skip()
		}
		text, err := flow(json.RawMessage(s))
		if err != nil {
			return
		}
		n, err := doc.ParseYAML("f", []byte("steps:\n  - call: {tool: x, args: "+text+"}\n"))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		want, err := doc.ParseJSON("f", []byte(s))
		if s == "" {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := n.Get("steps").Items[0].Get("call").Get("args").JSON(); string(got) != string(want.JSON()) {
			t.Errorf("%s became %s", want.JSON(), got)
		}
	})
}
