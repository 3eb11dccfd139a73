package safetext

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// checkClean asserts what holds for every result of a cleaning function.
func checkClean(t interface{ Errorf(string, ...any) }, got string, breaks bool) {
	if !utf8.ValidString(got) {
		t.Errorf("not UTF-8: %q", got)
	}
	marks, prev := 0, rune(0)
	for _, r := range got {
		switch {
		case r == '\n' && breaks:
		case unicode.IsControl(r), unicode.In(r, unicode.Zl, unicode.Zp, unicode.Co):
			t.Errorf("%U in %q", r, got)
		case r == 0x200d, r == 0xfe0f:
			if prev < 0x200 && !strings.ContainsRune("0123456789#*©®", prev) {
				t.Errorf("%U after %U in %q", r, prev, got)
			}
		case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r):
			t.Errorf("%U in %q", r, got)
		}
		if unicode.Is(unicode.M, r) && r != 0xfe0f {
			marks++
		} else if r != 0xfe0f {
			marks = 0
		}
		if marks > MaxMarks {
			t.Errorf("%d marks in a row in %q", marks, got)
		}
		prev = r
	}
}

// checkComplete walks input and output side by side: every byte of the input must
// be there as itself, as its visible form, in a count, or in the cut marker.
func checkComplete(t interface{ Errorf(string, ...any) }, in, out string, breaks bool) {
	rest := out
	for pos := 0; pos < len(in); {
		if rest == cutMarker(len(in)-pos) {
			return
		}
		rest = strings.TrimPrefix(rest, dottedCircleIfAdded(in[pos:], rest))
		n, form := expect(in[pos:], rest, breaks)
		if n == 0 {
			t.Errorf("at byte %d of %q: %q does not show it", pos, in, rest)
			return
		}
		pos, rest = pos+n, rest[len(form):]
	}
	if rest != "" {
		t.Errorf("surplus output %q for %q", rest, in)
	}
}

func dottedCircleIfAdded(in, out string) string {
	if strings.HasPrefix(out, dottedCircle) && !strings.HasPrefix(in, dottedCircle) {
		return dottedCircle
	}
	return ""
}

// expect returns how much of in the start of out stands for, and that start.
func expect(in, out string, breaks bool) (int, string) {
	r, size := utf8.DecodeRuneInString(in)
	forms := []string{in[:size], fmt.Sprintf("‹U+%04X›", r), fmt.Sprintf("‹0x%02X›", in[0])}
	if r == utf8.RuneError && size == 1 {
		forms = forms[2:]
	}
	if r < 0x20 {
		forms = []string{string(0x2400 + r)}
	}
	switch {
	case strings.HasPrefix(in, "\r\n"):
		if breaks {
			forms = []string{"\n", "␍"}
		} else {
			forms = []string{"␊"}
		}
		if strings.HasPrefix(out, forms[0]) {
			return 2, forms[0]
		}
	case r == '\n' && breaks:
		forms = []string{"\n"}
	case r == '\t':
		forms = []string{"    "}
	case r == 0x7f:
		forms = []string{"␡"}
	}
	for _, f := range forms {
		if strings.HasPrefix(out, f) {
			return size, f
		}
	}
	var count int
	if _, err := fmt.Sscanf(out, "‹+%d marks›", &count); err == nil {
		n := 0
		for range count {
			_, k := utf8.DecodeRuneInString(in[n:])
			n += k
		}
		return n, fmt.Sprintf("‹+%d marks›", count)
	}
	return 0, ""
}

func checkAll(t interface{ Errorf(string, ...any) }, in string, max int) {
	for _, breaks := range []bool{false, true} {
		got := clean(in, max, breaks)
		checkClean(t, got, breaks)
		checkComplete(t, in, got, breaks)
		if len(got) > max {
			t.Errorf("%d bytes under a cap of %d", len(got), max)
		}
		if again := clean(got, max, breaks); again != got {
			t.Errorf("second pass over %q\n gives %q", got, again)
		}
	}
	id := Ident(in).String()
	checkClean(t, id, false)
	if len(id) > IdentBytes {
		t.Errorf("identifier of %d bytes", len(id))
	}
	if again := ToLine(id).String(); again != id {
		t.Errorf("identifier %q is cleaned to %q", id, again)
	}
}

// piece draws the characters that matter, often next to each other.
func piece(t *rapid.T) string {
	return rapid.OneOf(
		rapid.SampledFrom([]string{
			"\u200d", "\ufe0f", "\ufe0e", "👩", "🏽", "❤", "1", "\u20e3", "\u0301", "\u0302", "\r", "\n", "\t",
			"\x1b", "\x9b", "\u009b", "\u202e", "\U000e0041", "\u2028", "é", "ᄀ", "ᅡ", "ก", "ี", "‹", "›", "…", "\\", `"`,
			"🇪", "\xf0\x9f", "\ue000", "\u3164", "◌", "abcdef", "‹+1 marks›",
		}),
		rapid.String(),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 4), func(b []byte) string { return string(b) }),
	).Draw(t, "piece")
}

func TestInvariants(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		for range rapid.IntRange(0, 40).Draw(t, "pieces") {
			b.WriteString(piece(t))
		}
		checkAll(t, b.String(), rapid.IntRange(MinBytes, 400).Draw(t, "cap"))
	})
}

// Names that differ must not look the same.
func TestIdentIsInjective(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := piece(t)+piece(t), piece(t)+piece(t)
		if a != b && Ident(a) == Ident(b) && len(Ident(a)) < IdentBytes/2 {
			t.Errorf("%q and %q both appear as %s", a, b, Ident(a))
		}
	})
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{
		"", "plain", "a\x1b[2J\u009b\x9b", "👩‍👩‍👧‍👦1️⃣❤\ufe0f\ufe0f\u200d", "a" + strings.Repeat("\u0301", 9), "\u0301",
		"\r\r\n\t", "\u202e\U000e0041\u2028\u3164\ue000\uffff", "dеlete", strings.Repeat("\xff", 90), "‹+1 marks›…‹+2 bytes›",
	} {
		f.Add(s, 40)
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		checkAll(t, s, MinBytes+(limit&0x3ff))
	})
}
