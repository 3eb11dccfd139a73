package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

func TestEncodeFillsTheHeader(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("x", 3600)
	e := &Notice{Header: Header{Seq: 42, Time: time.Date(2026, 11, 30, 18, 0, 0, 123_456_789, zone), Session: "s"}, Code: "c", Level: "info", Text: "t"}
	line, err := Encode(e)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"v":1,"seq":42,"time":"2026-11-30T17:00:00.123456Z","session":"s","type":"notice","code":"c","level":"info","text":"t"}`
	if string(line) != want {
		t.Fatalf("\n got %s\nwant %s", line, want)
	}
}

func TestUnknownAndBroken(t *testing.T) {
	t.Parallel()
	var unknown *UnknownTypeError
	if _, err := Encode(&PinChanged{}); !errors.As(err, &unknown) {
		t.Errorf("a pin event that does not say which: %v", err)
	}
	if _, err := Decode([]byte(`{"v":1,"type":"nope"}`)); !errors.As(err, &unknown) || unknown.Type != "nope" {
		t.Errorf("unknown type: %v", err)
	}
	for _, line := range []string{"", "{", "[]", `{"type":"notice","text":1}`} {
		if _, err := Decode([]byte(line)); err == nil {
			t.Errorf("%q decoded", line)
		}
	}
	// Version 1 is additive: a key that this version does not know is no error.
	if e, err := Decode([]byte(`{"v":1,"type":"notice","text":"x","future":{"a":1}}`)); err != nil || e.(*Notice).Text != "x" {
		t.Errorf("additive key: %v", err)
	}
}

func TestEscape(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		`"plain"`:                `"plain"`,
		`"é日本"`:                  `"é日本"`,
		"\"\u202e\"":             `"\u202e"`,
		"\"\u009b\"":             `"\u009b"`,
		"\"\x7f\"":               `"\u007f"`,
		"\"\u2028\u2029\"":       `"\u2028\u2029"`,
		"\"\U000e0041\"":         `"\udb40\udc41"`,
		"\"\ufe0f\"":             `"\ufe0f"`,
		"\"\U000f0000\"":         `"\udb80\udc00"`,
		"\"\xff\"":               `"\ufffd"`,
		"\"\U0001f600\u200dok\"": "\"\U0001f600\\u200dok\"",
	}
	for in, want := range cases {
		if got := string(Escape([]byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// checkLine asserts what every line promises.
func checkLine(t *testing.T, line []byte) {
	t.Helper()
	if !utf8.Valid(line) || !json.Valid(line) {
		t.Fatalf("not one JSON value of UTF-8: %q", line)
	}
	for _, r := range string(line) {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co) {
			t.Fatalf("raw %U in %q", r, line)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "plain", "\x1b]52;c;x\x07", "a\u202eb", "\xff\xfe", "\u2028", "\U000e0001", "\\u0000", `"}`, strings.Repeat("\u0301", 50)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		line, err := Encode(&Notice{Code: s, Text: s})
		if err != nil {
			t.Fatal(err)
		}
		checkLine(t, line)
		e, err := Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.ToValidUTF8(s, "\ufffd"); utf8.ValidString(s) && e.(*Notice).Text != want {
			t.Fatalf("%q came back as %q", s, e.(*Notice).Text)
		}
	})
}

func FuzzDecode(f *testing.F) {
	for _, e := range samples() {
		line, err := Encode(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line)
	}
	f.Add([]byte(`{"type":"tool.requested","args":"\ud800"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := Decode(line)
		if err != nil {
			return
		}
		out, err := Encode(e)
		if err != nil {
			return // a raw value that was absent has no encoding
		}
		checkLine(t, out)
		back, err := Decode(out)
		if err != nil {
			t.Fatalf("%s does not come back: %v", out, err)
		}
		again, err := Encode(back)
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("not stable\n got %s\nwant %s (%v)", again, out, err)
		}
	})
}
