package form

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// prop wraps a property as the only one, "x", of an elicitation.
func prop(p string) string { return `{"type":"object","properties":{"x":` + p + `}}` }

func mustElicit(t *testing.T, raw string) Schema {
	t.Helper()
	s, err := ParseElicitation([]byte(raw), Limits{})
	if err != nil {
		t.Fatalf("%.300s: %v", raw, err)
	}
	return s
}

func mustArguments(t *testing.T, raw string) Schema {
	t.Helper()
	s, err := ParseArguments([]byte(raw), Limits{})
	if err != nil {
		t.Fatalf("%.300s: %v", raw, err)
	}
	return s
}

func labels(f Field) string {
	var out []string
	for _, o := range f.Options {
		out = append(out, string(o.Value)+"="+o.Label)
	}
	return strings.Join(out, ", ")
}

func TestParseElicitationFields(t *testing.T) {
	t.Parallel()
	n := func(i int) *int { return &i }
	tests := []struct {
		name, prop string
		want       Field // Name, Options apart
		labels     string
	}{
		{"text", `{"type":"string","title":"T","description":"D","minLength":1,"maxLength":9,"pattern":"^a","default":"ab"}`,
			Field{Kind: KindText, Title: "T", Description: "D", MinLength: n(1), MaxLength: n(9), Pattern: "^a", Default: json.RawMessage(`"ab"`)}, ""},
		{"email", `{"type":"string","format":"email"}`, Field{Kind: KindText, Format: FormatEmail}, ""},
		{"uri", `{"type":"string","format":"uri"}`, Field{Kind: KindText, Format: FormatURI}, ""},
		{"date", `{"type":"string","format":"date"}`, Field{Kind: KindText, Format: FormatDate}, ""},
		{"date-time", `{"type":"string","format":"date-time"}`, Field{Kind: KindText, Format: FormatDateTime}, ""},
		{"password is parsed, for the guard to find", `{"type":"string","format":"password"}`, Field{Kind: KindText, Format: FormatPassword}, ""},
		{"number", `{"type":"number","minimum":-1.5,"exclusiveMaximum":1e3,"default":0.10}`,
			Field{Kind: KindNumber, Minimum: "-1.5", ExclusiveMaximum: "1e3", Default: json.RawMessage(`0.10`)}, ""},
		{"integer over 2^53", `{"type":"integer","maximum":9007199254740993,"exclusiveMinimum":0,"default":9007199254740993}`,
			Field{Kind: KindInteger, Maximum: "9007199254740993", ExclusiveMinimum: "0", Default: json.RawMessage(`9007199254740993`)}, ""},
		{"integer default as float", `{"type":"integer","default":3.0}`, Field{Kind: KindInteger, Default: json.RawMessage(`3`)}, ""},
		{"boolean", `{"type":"boolean","default":true}`, Field{Kind: KindBoolean, Default: json.RawMessage(`true`)}, ""},
		{"enum", `{"type":"string","enum":["b","a"],"default":"a"}`, Field{Kind: KindChoice, Default: json.RawMessage(`"a"`)}, `"b"=b, "a"=a`},
		{"enumNames", `{"type":"string","enum":["b","a"],"enumNames":["Bee","Ay"]}`, Field{Kind: KindChoice}, `"b"=Bee, "a"=Ay`},
		{"oneOf", `{"type":"string","oneOf":[{"const":"r","title":"Red"},{"const":"g","title":"Green"}]}`, Field{Kind: KindChoice}, `"r"=Red, "g"=Green`},
		{"oneOf without a type", `{"oneOf":[{"const":"r","title":"Red"}]}`, Field{Kind: KindChoice}, `"r"=Red`},
		{"equal titles", `{"oneOf":[{"const":"r","title":"Same"},{"const":"g","title":"Same"},{"const":"x","title":"Same (r)"}]}`,
			Field{Kind: KindChoice}, `"r"=Same (r), "g"=Same (g), "x"=Same (r) #2`},
		{"numbers to choose", `{"type":"integer","enum":[1,2]}`, Field{Kind: KindChoice}, `1=1, 2=2`},
		{"multi enum", `{"type":"array","items":{"type":"string","enum":["a","b"]},"minItems":1,"maxItems":2,"uniqueItems":true,"default":["b"]}`,
			Field{Kind: KindMulti, MinItems: n(1), MaxItems: n(2), Unique: true, Default: json.RawMessage(`["b"]`)}, `"a"=a, "b"=b`},
		{"multi anyOf", `{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}`, Field{Kind: KindMulti}, `"a"=A`},
		{"nullable text", `{"type":["string","null"],"default":null}`, Field{Kind: KindText, Nullable: true, Default: json.RawMessage(`null`)}, ""},
		{"nullable by anyOf", `{"anyOf":[{"type":"integer","minimum":1},{"type":"null"}],"title":"N"}`, Field{Kind: KindInteger, Nullable: true, Minimum: "1", Title: "N"}, ""},
		{"nullable enum", `{"type":["string","null"],"enum":["a",null]}`, Field{Kind: KindChoice, Nullable: true}, `"a"=a`},
		{"nullable oneOf", `{"oneOf":[{"const":"a"},{"const":"b"},{"type":"null"}]}`, Field{Kind: KindChoice, Nullable: true}, `"a"=a, "b"=b`},
		{"one type in a list", `{"type":["boolean"]}`, Field{Kind: KindBoolean}, ""},
		{"unknown annotation", `{"type":"boolean","x-order":3,"examples":[true]}`, Field{Kind: KindBoolean}, ""},
		{"pattern for the server", `{"type":"string","pattern":"^(?=a)","default":"zzz"}`,
			Field{Kind: KindText, Pattern: "^(?=a)", Default: json.RawMessage(`"zzz"`), Note: "the server checks the pattern; it cannot be checked here"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := mustElicit(t, prop(tt.prop)).Fields[0]
			if l := labels(got); l != tt.labels {
				t.Errorf("options %s, want %s", l, tt.labels)
			}
			got.Options = nil
			tt.want.Name = "x"
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestParseElicitationRefuses(t *testing.T) {
	t.Parallel()
	many := func(n int, item string) string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf(item, i))
		}
		return strings.Join(out, ",")
	}
	tests := []struct {
		name, raw string
		code      Code
	}{
		{"not JSON", `{`, CodeMalformed},
		{"duplicate key", `{"type":"object","type":"object"}`, CodeMalformed},
		{"a boolean", `true`, CodeNotObject},
		{"a list", `[]`, CodeBadSchema},
		{"not an object", `{"type":"string"}`, CodeNotObject},
		{"no type", `{"properties":{"x":{"type":"string"}}}`, CodeNotObject},
		{"root reference", `{"type":"object","$ref":"#/$defs/a","$defs":{"a":{}}}`, CodeUnsupported},
		{"self reference", `{"$ref":"#"}`, CodeBadSchema},
		{"network reference", prop(`{"$ref":"https://evil.example/x"}`), CodeBadSchema},
		{"nested object", prop(`{"type":"object","properties":{"a":{"type":"string"}}}`), CodeUnsupported},
		{"list of text", prop(`{"type":"array","items":{"type":"string"}}`), CodeUnsupported},
		{"list of objects", prop(`{"type":"array","items":{"type":"object"}}`), CodeUnsupported},
		{"tuple", prop(`{"type":"array","prefixItems":[{"const":"a"}]}`), CodeUnsupported},
		{"local reference", `{"type":"object","properties":{"x":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string"}}}`, CodeUnsupported},
		{"two types", prop(`{"type":["string","integer"]}`), CodeUnsupported},
		{"no type in a field", prop(`{}`), CodeUnsupported},
		{"anything", prop(`true`), CodeUnsupported},
		{"null only", prop(`{"type":"null"}`), CodeUnsupported},
		{"const", prop(`{"const":"a"}`), CodeUnsupported},
		{"other format", prop(`{"type":"string","format":"uuid"}`), CodeUnsupported},
		{"alternatives that are not constants", prop(`{"oneOf":[{"type":"string"},{"type":"integer"}]}`), CodeUnsupported},
		{"objects to choose from", prop(`{"enum":[{"a":1}]}`), CodeContradiction},
		{"if", `{"type":"object","properties":{},"if":{}}`, CodeUnsupported},
		{"not", prop(`{"type":"string","not":{"const":"a"}}`), CodeUnsupported},
		{"minLength over maxLength", prop(`{"type":"string","minLength":3,"maxLength":2}`), CodeContradiction},
		{"minimum over maximum", prop(`{"type":"number","minimum":3,"maximum":2}`), CodeContradiction},
		{"exclusive bounds that meet", prop(`{"type":"number","minimum":3,"exclusiveMaximum":3}`), CodeContradiction},
		{"no whole number in between", prop(`{"type":"integer","minimum":0.2,"maximum":0.8}`), CodeContradiction},
		{"no whole number between open bounds", prop(`{"type":"integer","exclusiveMinimum":1,"exclusiveMaximum":2}`), CodeContradiction},
		{"minItems over maxItems", prop(`{"type":"array","items":{"enum":["a"]},"minItems":2,"maxItems":1}`), CodeContradiction},
		{"more items than options", prop(`{"type":"array","items":{"enum":["a"]},"minItems":2,"uniqueItems":true}`), CodeContradiction},
		{"enumNames too few", prop(`{"type":"string","enum":["a","b"],"enumNames":["A"]}`), CodeContradiction},
		{"equal options", prop(`{"oneOf":[{"const":"a","title":"A"},{"const":"a","title":"B"}]}`), CodeContradiction},
		{"no options", prop(`{"type":"string","enum":[]}`), CodeContradiction},
		{"option of another type", prop(`{"type":"string","enum":["a",1]}`), CodeContradiction},
		{"required but unknown", `{"type":"object","properties":{},"required":["x"]}`, CodeContradiction},
		{"default outside the enum", prop(`{"enum":["a"],"default":"b"}`), CodeBadDefault},
		{"default of another type", prop(`{"type":"integer","default":"1"}`), CodeBadDefault},
		{"default out of range", prop(`{"type":"integer","minimum":3,"default":1}`), CodeBadDefault},
		{"default too short", prop(`{"type":"string","minLength":3,"default":"a"}`), CodeBadDefault},
		{"default against the pattern", prop(`{"type":"string","pattern":"^a$","default":"b"}`), CodeBadDefault},
		{"default that is no date", prop(`{"type":"string","format":"date","default":"2026-02-30"}`), CodeBadDefault},
		{"default null", prop(`{"type":"string","default":null}`), CodeBadDefault},
		{"default with a stranger", prop(`{"type":"array","items":{"enum":["a"]},"default":["b"]}`), CodeBadDefault},
		{"too large", prop(`{"type":"string","description":"` + strings.Repeat("x", 16<<10) + `"}`), CodeOverLimit},
		{"too many fields", `{"type":"object","properties":{` + many(33, `"f%d":{"type":"boolean"}`) + `}}`, CodeOverLimit},
		{"too many options", prop(`{"enum":[` + many(65, `"o%d"`) + `]}`), CodeOverLimit},
		{"ten thousand options", prop(`{"enum":[` + many(10_000, `"o%d"`) + `]}`), CodeOverLimit},
		{"too large a default", prop(`{"type":"string","default":"` + strings.Repeat("x", 4<<10) + `"}`), CodeOverLimit},
		{"too large an option", prop(`{"enum":["` + strings.Repeat("x", 4<<10) + `"]}`), CodeOverLimit},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseElicitation([]byte(tt.raw), Limits{})
			var r *Refusal
			if !errors.As(err, &r) {
				t.Fatalf("got %v, want a refusal", err)
			}
			if r.Code != tt.code {
				t.Errorf("code %s, want %s (%v)", r.Code, tt.code, r)
			}
			if r.Reason == "" || strings.Contains(r.Error(), "%!") {
				t.Errorf("reason %q", r)
			}
			if tt.code == CodeOverLimit && (r.Setting == "" || r.Size <= r.Limit) {
				t.Errorf("over limit without naming it: %+v", r)
			}
		})
	}
}

func TestOrderAndConfirm(t *testing.T) {
	t.Parallel()
	s := mustElicit(t, `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","title":"T","properties":{"z":{"type":"boolean"},"a":{"type":"boolean"},"m":{"type":"boolean"}},"required":["m"],"additionalProperties":false}`)
	var got []string
	for _, f := range s.Fields {
		got = append(got, fmt.Sprint(f.Name, f.Required))
	}
	if strings.Join(got, " ") != "zfalse afalse mtrue" || s.Title != "T" {
		t.Errorf("fields %v, title %q", got, s.Title)
	}
	for _, empty := range []string{`{"type":"object","properties":{}}`, `{"type":"object"}`, `{}`} {
		s := mustElicit(t, empty)
		if len(s.Fields) != 0 {
			t.Errorf("%s has fields", empty)
		}
		if out, err := s.Encode(nil); err != nil || string(out) != "{}" {
			t.Errorf("%s encodes to %s, %v", empty, out, err)
		}
	}
}

func TestParseArguments(t *testing.T) {
	t.Parallel()
	s := mustArguments(t, `{"type":"object","properties":{
		"q":{"type":"string","format":"uuid","contentEncoding":"base64"},
		"opts":{"type":"object","title":"O","properties":{"deep":{"type":"integer"}},"required":["deep"]},
		"tags":{"type":"array","items":{"type":"string"}},
		"level":{"$ref":"#/$defs/Level","title":"How"},
		"old":{"allOf":[{"$ref":"#/$defs/Level"}],"default":"low"},
		"lim":{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null},
		"none":{"type":"string","default":null},
		"any":true,
		"mode":{"const":"fast"},
		"step":{"type":"number","multipleOf":0.1},
		"node":{"$ref":"#/$defs/Node"}
	},"required":["q"],"anyOf":[{"required":["tags"]},{"required":["level"]}],
	"$defs":{"Level":{"enum":["low","high"],"type":"string"},"Node":{"type":"object","properties":{"c":{"$ref":"#/$defs/Node"}}}}}`)
	if s.Whole {
		t.Fatalf("whole: %+v", s.Fields)
	}
	want := map[string]Kind{
		"q": KindText, "opts": KindRaw, "tags": KindRaw, "level": KindChoice, "old": KindChoice, "lim": KindInteger,
		"none": KindText, "any": KindRaw, "mode": KindChoice, "step": KindNumber, "node": KindRaw,
	}
	for _, f := range s.Fields {
		if f.Kind != want[f.Name] {
			t.Errorf("%s is %s (%s), want %s", f.Name, f.Kind, f.Note, want[f.Name])
		}
		if f.Kind == KindRaw && f.Note == "" {
			t.Errorf("%s is raw without a note", f.Name)
		}
	}
	if f, _ := s.Field("none"); f.Default != nil {
		t.Errorf("default %s", f.Default)
	}
	if f, _ := s.Field("lim"); string(f.Default) != "null" || !f.Nullable {
		t.Errorf("lim %+v", f)
	}
	if f, _ := s.Field("level"); f.Title != "How" || len(f.Options) != 2 {
		t.Errorf("level %+v", f)
	}

	// A raw field is checked against the schema, and the field is named.
	_, err := s.Encode(Values{"q": json.RawMessage(`"x"`), "opts": json.RawMessage(`{"deep":"no"}`), "tags": json.RawMessage(`[]`)})
	var errs Errors
	if !errors.As(err, &errs) || len(errs) != 1 || errs[0].Field != "opts" || !strings.Contains(errs[0].Message, `"/deep"`) {
		t.Errorf("got %v", err)
	}
	out, err := s.Encode(Values{"q": json.RawMessage(`"x"`), "opts": json.RawMessage(` {"deep" : 1} `)})
	if want := `{"q":"x","opts":{"deep":1},"old":"low","lim":null}`; err == nil || len(out) != 0 {
		t.Errorf("the anyOf of the whole is not checked: %s, want an error instead of %s", out, want)
	}
	out, err = s.Encode(Values{"q": json.RawMessage(`"x"`), "level": json.RawMessage(`"high"`), "step": json.RawMessage(`0.3`)})
	if want := `{"q":"x","level":"high","old":"low","lim":null,"step":0.3}`; err != nil || string(out) != want {
		t.Errorf("got %s, %v; want %s", out, err, want)
	}
}

func TestParseArgumentsWhole(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`{"$ref":"#/$defs/A","$defs":{"A":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}}`,
		`{"type":"object","oneOf":[{"required":["n"],"properties":{"n":{"type":"integer"}}},{"required":["b"]}]}`,
		`{"type":"object","additionalProperties":{"type":"integer"},"minProperties":1}`,
	} {
		s := mustArguments(t, raw)
		if !s.Whole || len(s.Fields) != 1 || s.Fields[0].Kind != KindRaw || s.Fields[0].Note == "" || !s.HasFreeText() {
			t.Fatalf("%s: %+v", raw, s)
		}
		obj, err := s.ParseText(s.Fields[0], ` { "n" : 1 } `)
		if err != nil {
			t.Fatal(err)
		}
		out, err := s.Encode(Values{"": obj})
		if err != nil || string(out) != `{"n":1}` {
			t.Errorf("%s: %s, %v", raw, out, err)
		}
		for _, bad := range []string{`{"n":"x"}`, `{}`, `[]`, `{"n":1,"n":2}`, ``} {
			if out, err := s.Encode(Values{"": json.RawMessage(bad)}); err == nil {
				t.Errorf("%s took %s as %s", raw, bad, out)
			}
		}
		if _, err := s.Encode(nil); err == nil {
			t.Error("nothing is taken for an object")
		}
	}
	for _, raw := range []string{`{"$ref":"#"}`, `{"$ref":"file:///etc/passwd"}`, `{"type":`} {
		if s, err := ParseArguments([]byte(raw), Limits{}); err == nil {
			t.Errorf("%s: %+v", raw, s)
		}
	}
}

func TestJSONIsStable(t *testing.T) {
	t.Parallel()
	s := mustElicit(t, `{"type":"object","description":"a<b>\u2028&\u001b","properties":{"b<":{"type":"string","title":"<&>","default":"<\u202e>"},"n":{"type":["integer","null"],"minimum":9007199254740993},"c":{"enum":["<",1.0]},"m":{"type":"array","items":{"enum":["x"]},"maxItems":1}}}`)
	first, err := s.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var back Schema
	if err := json.Unmarshal(first, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, s) {
		t.Errorf("got  %+v\nwant %+v", back, s)
	}
	second, err := back.JSON()
	if err != nil || string(second) != string(first) {
		t.Errorf("second encoding %s", second)
	}
	for _, empty := range []Schema{{}, mustElicit(t, `{"type":"object"}`)} {
		b, _ := json.Marshal(empty)
		var back Schema
		if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(back, empty) {
			t.Errorf("%s became %+v, %v", b, back, err)
		}
	}
}
