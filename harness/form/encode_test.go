package form

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

const sample = `{"type":"object","properties":{
	"name":{"type":"string","minLength":1},
	"n":{"type":"integer","minimum":1,"maximum":9007199254740993},
	"ratio":{"type":"number"},
	"on":{"type":"boolean","default":true},
	"c":{"oneOf":[{"const":"r","title":"Red"},{"const":"g","title":"Green"}]},
	"m":{"type":"array","items":{"enum":["a","b","c"]},"minItems":2,"uniqueItems":true},
	"mail":{"type":"string","format":"email"},
	"day":{"type":["string","null"],"format":"date"}
},"required":["name","c"]}`

func vals(pairs ...string) Values {
	v := Values{}
	for i := 0; i < len(pairs); i += 2 {
		v[pairs[i]] = json.RawMessage(pairs[i+1])
	}
	return v
}

func TestEncode(t *testing.T) {
	t.Parallel()
	s := mustElicit(t, sample)
	tests := []struct {
		name string
		in   Values
		want string
	}{
		{"defaults are sent, untouched ones left out", vals("name", `"x"`, "c", `"r"`), `{"name":"x","on":true,"c":"r"}`},
		{"form order", vals("c", `"g"`, "on", `false`, "name", `"x"`), `{"name":"x","on":false,"c":"g"}`},
		{"exact numbers", vals("name", `"x"`, "c", `"r"`, "n", `9007199254740993`, "ratio", `0.10`), `{"name":"x","n":9007199254740993,"ratio":0.10,"on":true,"c":"r"}`},
		{"integer-valued float", vals("name", `"x"`, "c", `"r"`, "n", `30e-1`), `{"name":"x","n":3,"on":true,"c":"r"}`},
		{"emptied optional list", vals("name", `"x"`, "c", `"r"`, "m", `[]`), `{"name":"x","on":true,"c":"r"}`},
		{"list", vals("name", `"x"`, "c", `"r"`, "m", ` [ "c","a" ] `), `{"name":"x","on":true,"c":"r","m":["c","a"]}`},
		{"null where allowed", vals("name", `"x"`, "c", `"r"`, "day", `null`), `{"name":"x","on":true,"c":"r","day":null}`},
		{"a nil value is untouched", Values{"name": json.RawMessage(`"x"`), "c": json.RawMessage(`"r"`), "n": nil}, `{"name":"x","on":true,"c":"r"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := s.Encode(tt.in)
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v; want %s", got, err, tt.want)
			}
		})
	}
}

func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	s := mustElicit(t, sample)
	good := vals("name", `"x"`, "c", `"r"`)
	tests := []struct{ name, field, value string }{
		{"too short", "name", `""`},
		{"wrong type", "name", `1`},
		{"null", "name", `null`},
		{"too small", "n", `0`},
		{"too large by one", "n", `9007199254740994`},
		{"fraction", "n", `1.5`},
		{"number as text", "n", `"1"`},
		{"infinite", "ratio", `1e400`},
		{"bomb", "ratio", `1e999999999`},
		{"not a number", "ratio", `NaN`},
		{"truth as text", "on", `"true"`},
		{"no option", "c", `"b"`},
		{"title instead of value", "c", `"Red"`},
		{"too few", "m", `["a"]`},
		{"twice", "m", `["a","a"]`},
		{"stranger", "m", `["a","z"]`},
		{"no list", "m", `"a"`},
		{"no address", "mail", `"x at y"`},
		{"name and address", "mail", `"X <x@example.org>"`},
		{"no such day", "day", `"2026-02-30"`},
		{"malformed", "name", `"x`},
		{"two values", "name", `"x" "y"`},
		{"too long", "name", `"` + strings.Repeat("x", 5000) + `"`},
		{"unknown field", "nope\x1b[2J", `1`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := Values{"name": good["name"], "c": good["c"]}
			in[tt.field] = json.RawMessage(tt.value)
			out, err := s.Encode(in)
			var errs Errors
			if !errors.As(err, &errs) {
				t.Fatalf("sent %s (%v)", out, err)
			}
			if len(errs) != 1 || errs[0].Field != tt.field || errs[0].Message == "" {
				t.Errorf("errors %v", errs)
			}
			if strings.ContainsRune(err.Error(), 0x1b) {
				t.Error("control character in a message")
			}
			var fe *FieldError
			if !errors.As(err, &fe) || errs.Field(tt.field) != fe.Message {
				t.Error("no FieldError inside")
			}
			if _, err := s.Decode(json.RawMessage(`{"` + strings.ReplaceAll(tt.field, "\x1b", `\u001b`) + `":` + tt.value + `}`)); err == nil {
				t.Error("Decode takes it")
			}
		})
	}

	_, err := s.Encode(Values{"n": json.RawMessage(`0`)})
	var errs Errors
	if !errors.As(err, &errs) || len(errs) != 3 || errs[0].Field != "name" || errs[1].Field != "n" || errs[2].Field != "c" {
		t.Errorf("not all errors in field order: %v", err)
	}
}

// What no field can know is found by the validation of the whole.
func TestWholeIsValidated(t *testing.T) {
	t.Parallel()
	s := mustElicit(t, prop(`{"type":"string"}`))
	s.Raw = json.RawMessage(`{"type":"object","properties":{"x":{"maxLength":1}},"required":["y"]}`)
	_, err := s.Encode(vals("x", `"long"`))
	var errs Errors
	if !errors.As(err, &errs) || len(errs) != 2 || errs[0].Field != "x" || errs[1].Field != "" {
		t.Errorf("got %v", err)
	}
	s.Raw = nil // a form of the host's own
	if out, err := s.Encode(vals("x", `"long"`)); err != nil || string(out) != `{"x":"long"}` {
		t.Errorf("got %s, %v", out, err)
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	s := mustElicit(t, sample)
	v, err := s.Decode(json.RawMessage(`{"n":3.0,"m":[],"c":"g","name":"\u0078"}`))
	if err != nil {
		t.Fatal(err)
	}
	want := vals("n", `3`, "m", `[]`, "c", `"g"`, "name", `"x"`)
	for name, raw := range want {
		if string(v[name]) != string(raw) {
			t.Errorf("%s is %s, want %s", name, v[name], raw)
		}
	}
	if len(v) != len(want) {
		t.Errorf("values %v", v)
	}
	for _, bad := range []string{`[]`, `{"n":1,"n":2}`, `{"other":1}`, ``, `null`} {
		if v, err := s.Decode(json.RawMessage(bad)); err == nil {
			t.Errorf("%s gives %v", bad, v)
		}
	}
	_, err = s.Decode(json.RawMessage(`{"colour":1}`))
	if err == nil || !strings.Contains(err.Error(), "colour") || !strings.Contains(err.Error(), `"name"`) {
		t.Errorf("message %v", err)
	}
}

func TestParseText(t *testing.T) {
	t.Parallel()
	s := mustElicit(t, `{"type":"object","properties":{
		"s":{"type":"string"},"mail":{"type":"string","format":"email"},"uri":{"type":"string","format":"uri"},
		"day":{"type":"string","format":"date"},"at":{"type":"string","format":"date-time"},
		"f":{"type":"number"},"i":{"type":["integer","null"]},"b":{"type":"boolean"},
		"c":{"oneOf":[{"const":"r","title":"Red"},{"const":"Red","title":"Not red"},{"const":"x","title":"Same"},{"const":"y","title":"Same"}]},
		"k":{"type":"integer","enum":[1,2]},
		"m":{"type":"array","items":{"oneOf":[{"const":"a","title":"A, then B"},{"const":"b","title":"B"}]},"uniqueItems":true}}}`)
	tests := []struct{ field, text, want string }{
		{"s", "", `""`}, {"s", " a\"\n", `" a\"\n"`}, {"s", "null", `"null"`}, {"s", "\xff", ""},
		{"f", "1e400", ""}, {"f", "NaN", ""}, {"f", "Infinity", ""}, {"f", "", ""}, {"f", "0x10", ""}, {"f", "1_000", ""},
		{"f", "1/2", ""}, {"f", ".5", ""}, {"f", "+1", ""}, {"f", "null", ""}, {"f", "1 2", ""}, {"f", "1,5", ""}, {"f", "[1]", ""},
		{"f", " 0.10 ", `0.10`}, {"f", "-1.5e3", `-1.5e3`}, {"f", "12345678901234567890.123456789", `12345678901234567890.123456789`},
		{"i", "9007199254740993", `9007199254740993`}, {"i", "3.0", `3`}, {"i", "1e3", `1000`}, {"i", "1.5", ""}, {"i", "null", `null`}, {"i", "-0", `0`},
		{"b", "yes", `true`}, {"b", "N", `false`}, {"b", "TRUE", `true`}, {"b", "1", ""}, {"b", "", ""},
		{"c", "Red", `"r"`}, {"c", "r", `"r"`}, {"c", "Not red", `"Red"`}, {"c", `"Red"`, `"Red"`}, {"c", "Same", ""}, {"c", "Same (y)", `"y"`}, {"c", "", ""},
		{"k", "2", `2`}, {"k", "2.0", `2`}, {"k", "3", ""},
		{"m", "", `[]`}, {"m", "B", `["b"]`}, {"m", "A, then B", `["a"]`}, {"m", "b, a", `["b","a"]`}, {"m", `["a"]`, `["a"]`}, {"m", "a,a", ""}, {"m", "z", ""},
		{"mail", "a@example.org", `"a@example.org"`}, {"mail", "a", ""}, {"mail", "A <a@example.org>", ""}, {"mail", " a@example.org", ""},
		{"uri", "https://example.org/?q=1", `"https://example.org/?q=1"`}, {"uri", "urn:x:y", `"urn:x:y"`}, {"uri", "/a", ""}, {"uri", "http://a b", ""}, {"uri", "", ""},
		{"day", "2028-02-29", `"2028-02-29"`}, {"day", "2026-2-1", ""}, {"day", "2026-02-29", ""},
		{"at", "2026-11-30T17:00:00Z", `"2026-11-30T17:00:00Z"`}, {"at", "2026-11-30T17:00:00.5+01:00", `"2026-11-30T17:00:00.5+01:00"`},
		{"at", "2026-11-30T17:00:00", ""}, {"at", "2026-11-30", ""}, {"at", "2026-11-30T25:00:00Z", ""},
	}
	for _, tt := range tests {
		f, ok := s.Field(tt.field)
		if !ok {
			t.Fatalf("no field %s", tt.field)
		}
		got, err := s.ParseText(f, tt.text)
		if tt.want == "" {
			var fe *FieldError
			if !errors.As(err, &fe) || fe.Field != tt.field {
				t.Errorf("%s: %q gives %s, %v; want an error of the field", tt.field, tt.text, got, err)
			}
			continue
		}
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %q gives %s, %v; want %s", tt.field, tt.text, got, err, tt.want)
		}
	}
}
