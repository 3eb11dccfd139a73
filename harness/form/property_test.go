package form

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawProperty makes a property and a generator of answers that fit it.
func drawProperty(t *rapid.T) (prop string, answer *rapid.Generator[string]) {
	quote := func(s string) string {
		b, _ := json.Marshal(s)
		return string(b)
	}
	words := rapid.SliceOfNDistinct(rapid.StringN(0, 6, -1), 1, 6, rapid.ID[string]).Draw(t, "options")
	var consts, enum []string
	for _, w := range words {
		consts = append(consts, fmt.Sprintf(`{"const":%s,"title":%s}`, quote(w), quote(rapid.SampledFrom([]string{"Same", "", w}).Draw(t, "title"))))
		enum = append(enum, quote(w))
	}
	choices := rapid.SampledFrom([]string{
		`"enum":[` + strings.Join(enum, ",") + `]`,
		`"oneOf":[` + strings.Join(consts, ",") + `]`,
		`"anyOf":[` + strings.Join(consts, ",") + `]`,
	}).Draw(t, "choices")
	var typ, rest string
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		n := rapid.IntRange(0, 4).Draw(t, "min")
		typ, rest = "string", fmt.Sprintf(`,"minLength":%d,"maxLength":%d`, n, n+4)
		answer = rapid.Map(rapid.StringN(n, n+4, -1), quote)
	case 1:
		typ, rest = "integer", `,"minimum":-9007199254740993`
		answer = rapid.Map(rapid.Int64Min(-9007199254740993), func(i int64) string { return fmt.Sprint(i) })
	case 2:
		typ, rest = "number", `,"exclusiveMaximum":1e300`
		answer = rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?`)
	case 3:
		typ = "boolean"
		answer = rapid.SampledFrom([]string{"true", "false"})
	case 4:
		typ, rest = "string", ","+choices
		answer = rapid.SampledFrom(enum)
	default:
		typ, rest = "array", `,"items":{"type":"string",`+choices+`},"uniqueItems":true`
		answer = rapid.Map(rapid.SliceOfDistinct(rapid.SampledFrom(enum), rapid.ID[string]), func(s []string) string {
			return "[" + strings.Join(s, ",") + "]"
		})
	}
	prop = `{"type":"` + typ + `"` + rest
	if rapid.Bool().Draw(t, "default") {
		prop += `,"default":` + answer.Draw(t, "default value")
	}
	return prop + "}", answer
}

// Whatever the form: answers that fit are sent, in form order, and read back;
// untouched fields are sent exactly when they have a default.
func TestEncodeDecodeRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var props []string
		in := Values{}
		for i := range rapid.IntRange(0, 6).Draw(t, "fields") {
			prop, answer := drawProperty(t)
			name := fmt.Sprintf("f<%d>", i)
			props = append(props, fmt.Sprintf(`"%s":%s`, name, prop))
			if rapid.Bool().Draw(t, "touched") {
				in[name] = json.RawMessage(answer.Draw(t, "answer"))
			}
		}
		raw := `{"type":"object","properties":{` + strings.Join(props, ",") + `}}`
		s, err := ParseElicitation([]byte(raw), Limits{})
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		obj, err := s.Encode(in)
		if err != nil {
			t.Fatalf("%s with %s: %v", raw, in, err)
		}
		out, err := s.Decode(obj)
		if err != nil {
			t.Fatalf("%s: %v", obj, err)
		}
		members, err := parseObject(obj)
		if err != nil {
			t.Fatal(err)
		}
		next := 0
		for _, f := range s.Fields {
			_, touched := in[f.Name]
			_, sent := out[f.Name]
			if sent != (touched || f.Default != nil) {
				t.Fatalf("field %s: touched %v, default %s, sent %v", f.Name, touched, f.Default, sent)
			}
			if sent {
				if members[next].name != f.Name {
					t.Fatalf("order of %s", obj)
				}
				next++
			}
		}
		again, err := s.Encode(out)
		if err != nil || string(again) != string(obj) {
			t.Fatalf("%s, then %s (%v)", obj, again, err)
		}
		for _, f := range s.Fields {
			for _, o := range f.Options {
				if v, err := (Schema{}).ParseText(Field{Kind: KindChoice, Options: f.Options}, o.Label); err != nil || string(v) != string(o.Value) {
					t.Fatalf("label %q means %s (%v), want %s", o.Label, v, err, o.Value)
				}
			}
		}
	})
}
