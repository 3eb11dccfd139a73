package headless

import (
	"encoding/json"
	"testing"

	"github.com/looprig/looprig/compose/config/doc"
)

func TestVariables(t *testing.T) {
	t.Parallel()
	v := vars{"n": json.RawMessage(`42`), "s": json.RawMessage(`"a \"b\""`), "o": json.RawMessage(`{"k":[1,9007199254740993]}`), "z": json.RawMessage(`null`)}
	for in, want := range map[string]string{
		"plain":           `"plain"`,
		"${n}":            `42`,
		"${s}":            `"a \"b\""`,
		"${o}":            `{"k":[1,9007199254740993]}`,
		"${z}":            `null`,
		"n=${n} s=${s}":   `"n=42 s=a \"b\""`,
		"${n}${n}":        `"4242"`,
		"o: ${o}":         `"o: {\"k\":[1,9007199254740993]}"`,
		"$${n}":           `"${n}"`,
		"$$${n} ${n}":     `"$${n} 42"`,
		"${N} ${} $n {n}": `"${N} ${} $n {n}"`,
	} {
		n, err := v.node(&doc.Node{Kind: doc.String, Text: in})
		if err != nil || string(n.JSON()) != want {
			t.Errorf("%s is %s, not %s (%v)", in, n.JSON(), want, err)
		}
	}
}

func FuzzLiteral(f *testing.F) {
	for _, s := range []string{"", "${a}", "$${a}", "x $$$${abc} ${d}", "${A}", "$", "${"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		lit := Literal(s)
		if names := variables(lit); len(names) > 0 {
			t.Errorf("%q refers to %q", lit, names)
		}
		if got := (vars{}).text(lit); got != s {
			t.Errorf("%q became %q", s, got)
		}
	})
}
