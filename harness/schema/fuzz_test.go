package schema

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// FuzzCompileValidate feeds any schema and any instance. Whatever they are, the
// outcome is typed and in time; and where everything could be checked, it is
// the outcome of the library without any of the guards.
func FuzzCompileValidate(f *testing.F) {
	f.Add([]byte(`{"$ref":"#"}`), []byte(`{}`))
	f.Add([]byte(doubling(20, `{"allOf":[%s,%s]}`)), []byte(`1`))
	f.Add([]byte(`{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"c":{"$ref":"#/$defs/n"}}}}}`), []byte(`{"c":{"c":1}}`))
	f.Add([]byte(`{"pattern":"(?=a)b","not":{"pattern":"(?!x)"}}`), []byte(`"a"`))
	f.Add([]byte(`{"enum":[1,1.0,{"a":[]}],"uniqueItems":true,"const":null}`), []byte(`[1,1.0]`))
	f.Add([]byte(`{"$schema":"http://json-schema.org/draft-04/schema#","id":"http://x/y","maximum":1,"exclusiveMaximum":true}`), []byte(`1`))
	f.Add([]byte(`{"unevaluatedProperties":false,"anyOf":[{"properties":{"a":{}}},{"required":["b"]}]}`), []byte(`{"a":1}`))
	f.Add([]byte(`{"$dynamicAnchor":"x","items":{"$dynamicRef":"#x"},"$id":"a:b"}`), []byte(`[[1]]`))
	f.Add([]byte(`{"dependencies":{"a":["b"],"c":false},"propertyNames":{"maxLength":1},"contains":{"const":1}}`), []byte(`{"a":1,"cc":2}`))
	f.Fuzz(func(t *testing.T, raw, instance []byte) {
		began := time.Now()
		s, err := Compile(raw, Limits{})
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Code == CodeInternal {
				t.Fatalf("compile: %T %v", err, err)
			}
			return
		}
		err = s.Validate(instance)
		if d := time.Since(began); d > 20*time.Second {
			t.Fatalf("took %v", d)
		}
		var misfit *ValidationError
		var e *Error
		switch {
		case err == nil, errors.As(err, &misfit):
		case errors.As(err, &e) && e.Code != CodeInternal:
			return
		default:
			t.Fatalf("validate: %T %v", err, err)
		}
		if len(s.Unchecked()) == 0 {
			if want := bare(raw, instance); want != (err == nil) {
				t.Fatalf("verdict %v, without guards %v", err, want)
			}
		}
	})
}

// bare is the library's own verdict.
func bare(raw, instance []byte) bool {
	doc, _ := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	v, _ := jsonschema.UnmarshalJSON(bytes.NewReader(instance))
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource(rootURL, doc); err != nil {
		return false
	}
	s, err := c.Compile(rootURL)
	return err == nil && s.Validate(v) == nil
}

// FuzzCanonical checks that canonical forms are fixed points, and that keys
// agree with them.
func FuzzCanonical(f *testing.F) {
	f.Add([]byte(` {"b":[1.0,"\u00e9"],"a":{"c":null,"":true}} `))
	f.Add([]byte(`{"a":1,"\u0061":2}`))
	f.Add([]byte(`"\ud83d\ude00"`))
	f.Add([]byte(`[[[[-0e-0]]]]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		canonical, err := Canonical(raw)
		compact, err2 := Compact(raw)
		if (err == nil) != (err2 == nil) {
			t.Fatalf("Canonical %v, Compact %v", err, err2)
		}
		if err != nil {
			return
		}
		for _, form := range [][]byte{canonical, compact} {
			again, err := Canonical(form)
			if err != nil || !bytes.Equal(again, canonical) {
				t.Fatalf("%q became %q (%v)", canonical, again, err)
			}
		}
		if _, err := decode(raw, DefaultJSONDepth); err == nil && !equal(string(canonical), string(raw)) {
			t.Fatalf("%q is another value than %q", canonical, raw)
		}
	})
}
