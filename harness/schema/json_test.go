package schema

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRewriting(t *testing.T) {
	t.Parallel()
	const in = ` { "b" : [ 1.0, 9007199254740993 , 1e2 ], "a\u0041" : "\u00e9\/" , "" : {} } `
	tests := []struct {
		name, want string
		f          func([]byte) ([]byte, error)
	}{
		{"Canonical", `{"":{},"aA":"é/","b":[1.0,9007199254740993,1e2]}`, Canonical},
		{"Compact", `{"b":[1.0,9007199254740993,1e2],"a\u0041":"\u00e9\/","":{}}`, Compact},
		{"Normal", `{"b":[1.0,9007199254740993,1e2],"aA":"é/","":{}}`, Normal},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := tt.f([]byte(in))
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v; want %s", got, err, tt.want)
			}
			again, err := tt.f(got)
			if err != nil || !bytes.Equal(again, got) {
				t.Errorf("again: %s, %v", again, err)
			}
			for bad, code := range map[string]Code{
				`{"a":1,"\u0061":2}`: CodeDuplicate, `{"a":1`: CodeMalformed, ``: CodeMalformed, `1 2`: CodeMalformed,
				`"\ud800"`: CodeMalformed, `{"a":1,}`: CodeMalformed, `01`: CodeMalformed, `NaN`: CodeMalformed,
				strings.Repeat("[", 65) + strings.Repeat("]", 65): CodeOverLimit, strings.Repeat("[", 1_000_000): CodeOverLimit,
			} {
				var e *Error
				if _, err := tt.f([]byte(bad)); !errors.As(err, &e) || e.Code != code {
					t.Errorf("%.40s: %v, want %s", bad, err, code)
				}
			}
			if _, err := tt.f([]byte(strings.Repeat("[", 64) + strings.Repeat("]", 64))); err != nil {
				t.Errorf("depth 64: %v", err)
			}
		})
	}
}

func equal(a, b string) bool {
	ka, err := Key([]byte(a))
	if err != nil {
		return false
	}
	kb, err := Key([]byte(b))
	return err == nil && ka == kb
}

func TestKey(t *testing.T) {
	t.Parallel()
	same := [][2]string{{`1`, `1.0`}, {`{"a":1,"b":2}`, `{"b":2.0,"a":10e-1}`}, {`"A"`, `"\u0041"`}, {`0`, `-0`}}
	other := [][2]string{{`1`, `"1"`}, {`[1,2]`, `[2,1]`}, {`9007199254740993`, `9007199254740992`}, {`["a","b"]`, `["as1:b"]`}, {`x`, `x`}, {`null`, `false`}}
	for _, p := range same {
		if !equal(p[0], p[1]) {
			t.Errorf("%s differs from %s", p[0], p[1])
		}
	}
	for _, p := range other {
		if equal(p[0], p[1]) {
			t.Errorf("%s equals %s", p[0], p[1])
		}
	}
}

func TestIsNumberAgreesWithJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-?[0-9.]{0,4}[eE]?[+-]?[0-9x_]{0,3}`).Draw(t, "text")
		out, err := Compact([]byte(text))
		if want := err == nil && string(out) == text; isNumber(text) != want {
			t.Fatalf("isNumber(%q) = %v", text, !want)
		}
	})
}
