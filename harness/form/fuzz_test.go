package form

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/looprig/looprig/harness/schema"
)

// FuzzElicitation feeds any schema and any answers. A form that results encodes
// only objects that its schema accepts, and reads back what it encoded.
func FuzzElicitation(f *testing.F) {
	for _, s := range []string{
		sample, prop(`{"type":"string","minLength":3,"maxLength":2}`), prop(`{"enum":["a",1,null]}`), `{"$ref":"#"}`,
		prop(`{"anyOf":[{"type":"integer","default":3.0},{"type":"null"}]}`), prop(`{"type":"number","maximum":1e308}`),
		prop(`{"type":"string","pattern":"(?=a)","format":"date"}`), prop(`{"type":"array","items":{"enum":[1,1.0]}}`),
		`{"type":"object","properties":{"":{"type":"boolean","default":true}},"required":[""]}`, `{}`,
	} {
		f.Add([]byte(s), []byte(`{"x":1,"name":"n","c":"r","":false}`), "x", "1")
	}
	f.Add([]byte(prop(`{"type":"array","items":{"oneOf":[{"const":"a","title":"A"}]},"minItems":1}`)), []byte(`{"x":[]}`), "x", "A, a")
	f.Fuzz(func(t *testing.T, raw, answers []byte, name, text string) {
		strict, err := ParseElicitation(raw, Limits{})
		if err != nil {
			var r *Refusal
			if !errors.As(err, &r) {
				t.Fatalf("%T %v", err, err)
			}
		} else {
			checkForm(t, strict, answers, name, text)
			Credential(strict, text)
		}
		lenient, lerr := ParseArguments(raw, Limits{})
		if err == nil && lerr != nil {
			t.Fatalf("refused as arguments only: %v", lerr)
		}
		if lerr == nil {
			checkForm(t, lenient, answers, name, text)
		}
	})
}

func checkForm(t *testing.T, s Schema, answers []byte, name, text string) {
	t.Helper()
	first, err := s.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var back Schema
	if err := json.Unmarshal(first, &back); err != nil {
		t.Fatalf("%s: %v", first, err)
	}
	if second, err := back.JSON(); err != nil || string(second) != string(first) {
		t.Fatalf("%s became %s", first, second)
	}
	values, err := s.Decode(answers)
	if err != nil {
		values = Values{}
	}
	if f, ok := s.Field(name); ok {
		if v, err := s.ParseText(f, text); err == nil {
			values[name] = v
		}
	}
	obj, err := s.Encode(values)
	if err != nil {
		var errs Errors
		if !errors.As(err, &errs) || len(errs) == 0 {
			t.Fatalf("%T %v", err, err)
		}
		return
	}
	sch, err := schema.Compile(s.Raw, schema.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := sch.Validate(obj); err != nil {
		t.Fatalf("%s sent against %s: %v", obj, s.Raw, err)
	}
	read, err := s.Decode(obj)
	if err != nil {
		t.Fatalf("%s not read back: %v", obj, err)
	}
	again, err := s.Encode(read)
	if err != nil || string(again) != string(obj) {
		t.Fatalf("%s, then %s (%v)", obj, again, err)
	}
}
