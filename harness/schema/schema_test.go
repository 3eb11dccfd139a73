package schema

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func mustCompile(t *testing.T, raw string) *Schema {
	t.Helper()
	s, err := Compile([]byte(raw), Limits{})
	if err != nil {
		t.Fatalf("compile %.200s: %v", raw, err)
	}
	return s
}

func wantCode(t *testing.T, err error, code Code) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error is %T (%v), want *Error %s", err, err, code)
	}
	if e.Code != code {
		t.Fatalf("code %s (%v), want %s", e.Code, e, code)
	}
	return e
}

// doubling is a schema of a few hundred bytes that means 2^n schemas. leaf is
// what it ends in and join how two references are combined.
func doubling(n int, join string) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range n {
		ref := fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)
		fmt.Fprintf(&b, `"d%d":`+join+`,`, i, ref, ref)
	}
	fmt.Fprintf(&b, `"d%d":{"type":"integer"}}}`, n)
	return b.String()
}

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	enum := `{"enum":[0` + strings.Repeat(",1", 99_999) + `]}`
	tests := []struct {
		name, schema string
		code         Code
	}{
		{"self reference", `{"$ref":"#"}`, CodeCycle},
		{"self reference in a definition", `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}}`, CodeCycle},
		{"mutual references", `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, CodeCycle},
		{"cycle through allOf", `{"allOf":[{"$ref":"#"}]}`, CodeCycle},
		{"cycle through anyOf", `{"anyOf":[{"type":"string"},{"$ref":"#"}]}`, CodeCycle},
		{"cycle through oneOf", `{"oneOf":[{"type":"string"},{"$ref":"#"}]}`, CodeCycle},
		{"cycle through not", `{"not":{"$ref":"#"}}`, CodeCycle},
		{"cycle through if", `{"if":true,"then":{"$ref":"#"}}`, CodeCycle},
		{"cycle through dependentSchemas", `{"dependentSchemas":{"a":{"$ref":"#"}}}`, CodeCycle},
		{"cycle through dependencies", `{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":{"$ref":"#"}}}`, CodeCycle},
		{"cycle below a property", `{"properties":{"a":{"$ref":"#/properties/b"},"b":{"allOf":[{"$ref":"#/properties/a"}]}}}`, CodeCycle},
		{"cycle through an anchor", `{"$anchor":"x","allOf":[{"$ref":"#x"}]}`, CodeCycle},
		{"cycle through a dynamic reference", `{"$dynamicAnchor":"x","allOf":[{"$dynamicRef":"#x"}]}`, CodeCycle},
		{"cycle through a recursive reference", `{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"allOf":[{"$recursiveRef":"#"}]}`, CodeCycle},
		{"cycle through an id", `{"$id":"https://x.example/s","allOf":[{"$ref":"https://x.example/s"}]}`, CodeCycle},
		{"doubling allOf", doubling(24, `{"allOf":[%s,%s]}`), CodeOverLimit},
		{"doubling properties", doubling(24, `{"properties":{"a":%s,"b":%s}}`), CodeOverLimit},
		{"doubling that returns to its start", `{"$ref":"#/$defs/d0","$defs":{` + func() string {
			var b strings.Builder
			for i := range 24 {
				fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
			}
			return b.String()
		}() + `"d24":{"properties":{"c":{"$ref":"#/$defs/d0"}}}}}`, CodeOverLimit},
		{"a hundred thousand enum values", enum, CodeOverLimit},
		{"twenty thousand enum values", `{"enum":[0` + strings.Repeat(",1", 19_999) + `]}`, CodeOverLimit},
		{"too many bytes", `{"description":"` + strings.Repeat("x", 256<<10) + `"}`, CodeOverLimit},
		{"too deep JSON", strings.Repeat(`{"not":`, 65) + `true` + strings.Repeat(`}`, 65), CodeOverLimit},
		{"too deep schemas", strings.Repeat(`{"not":`, 40) + `{"type":"string"}` + strings.Repeat(`}`, 40), CodeOverLimit},
		{"long names", `{"properties":{"` + strings.Repeat("n", 100<<10) + `":{"properties":{` + manyProperties(200) + `}}}}`, CodeOverLimit},
		{"too many ids", `{"$defs":{` + func() string {
			var b strings.Builder
			for i := range 300 {
				fmt.Fprintf(&b, `"d%d":{"$id":"i%d"},`, i, i)
			}
			return b.String()
		}() + `"last":{}}}`, CodeOverLimit},
		{"references to unusual places", `{"x":{"y":{}},"allOf":[` + strings.Repeat(`{"$ref":"#/x/y"},`, 2) + func() string {
			var b strings.Builder
			for i := range 65 {
				fmt.Fprintf(&b, `{"$ref":"#/x/y%d"},`, i)
			}
			return b.String()
		}() + `true]}`, CodeOverLimit},
		{"huge exponent", `{"maximum":1e999999999}`, CodeOverLimit},
		{"huge exponent with zeros", `{"multipleOf":1e-0000999999999999999999999}`, CodeOverLimit},
		{"network reference", `{"$ref":"https://evil.example/schema.json"}`, CodeExternal},
		{"plain http reference", `{"properties":{"a":{"$ref":"http://169.254.169.254/latest"}}}`, CodeExternal},
		{"file reference", `{"$ref":"file:///etc/passwd"}`, CodeExternal},
		{"relative reference", `{"$ref":"other.json#/x"}`, CodeExternal},
		{"reference to a metaschema", `{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, CodeExternal},
		{"reference through an id", `{"$id":"file:///etc/","$ref":"passwd"}`, CodeExternal},
		{"unknown dialect", `{"$schema":"https://evil.example/dialect"}`, CodeDialect},
		{"reference to nothing", `{"$ref":"#/$defs/nope"}`, CodeUnresolved},
		{"anchor to nothing", `{"$ref":"#nope"}`, CodeUnresolved},
		{"duplicate key", `{"type":"string","type":"number"}`, CodeDuplicate},
		{"duplicate key by escape", `{"type":"string","\u0074ype":"number"}`, CodeDuplicate},
		{"not JSON", `{"type":`, CodeMalformed},
		{"two values", `{} {}`, CodeMalformed},
		{"lone surrogate", `{"const":"\ud800"}`, CodeMalformed},
		{"invalid UTF-8", "{\"const\":\"\xff\"}", CodeMalformed},
		{"empty", ``, CodeMalformed},
		{"an array", `[]`, CodeInvalid},
		{"unknown type", `{"type":"strnig"}`, CodeInvalid},
		{"negative length", `{"minLength":-1}`, CodeInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := Compile([]byte(tt.schema), Limits{})
			e := wantCode(t, err, tt.code)
			if tt.code == CodeOverLimit && (e.Setting == "" || e.Limit == 0 || e.Size <= e.Limit) {
				t.Errorf("over limit without naming it: %+v", e)
			}
		})
	}
}

func manyProperties(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"p%d":{"type":"string"}`, i)
	}
	return b.String()
}

func TestValidate(t *testing.T) {
	t.Parallel()
	tree := `{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","required":["v"],"properties":{"v":{"type":"integer"},"kids":{"type":"array","items":{"$ref":"#/$defs/node"}}},"additionalProperties":false}}}`
	draft7 := `"$schema":"http://json-schema.org/draft-07/schema#"`
	tests := []struct {
		name, schema, instance string
		keyword                string // "" when it fits
	}{
		{"tree", tree, `{"v":1,"kids":[{"v":2,"kids":[]}]}`, ""},
		{"tree, bad leaf", tree, `{"v":1,"kids":[{"v":"x"}]}`, "type"},
		{"tree at the root", `{"properties":{"c":{"$ref":"#"}},"additionalProperties":false}`, `{"c":{"c":{}}}`, ""},
		{"tree at the root, bad", `{"properties":{"c":{"$ref":"#"}},"additionalProperties":false}`, `{"c":{"d":{}}}`, "additionalProperties"},
		{"dynamic reference", `{"$dynamicAnchor":"n","type":"object","properties":{"c":{"$dynamicRef":"#n"}}}`, `{"c":{"c":3}}`, "type"},
		{"recursive reference", `{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"type":"object","properties":{"c":{"$recursiveRef":"#"}}}`, `{"c":{"c":3}}`, "type"},
		{"missing", `{"required":["a"]}`, `{}`, "required"},
		{"big integers apart", `{"const":9007199254740993}`, `9007199254740992`, "const"},
		{"big integers alike", `{"const":9007199254740993}`, `9007199254740993`, ""},
		{"big bound", `{"maximum":9007199254740992}`, `9007199254740993`, "maximum"},
		{"integer as float", `{"type":"integer"}`, `3.0`, ""},
		{"integer with exponent", `{"type":"integer"}`, `30e-1`, ""},
		{"not an integer", `{"type":"integer"}`, `3.5`, "type"},
		{"enum by value", `{"enum":[1.0,"1"]}`, `1`, ""},
		{"enum of objects", `{"enum":[{"a":1,"b":[null]}]}`, `{"b":[null],"a":1.0}`, ""},
		{"enum, other type", `{"enum":["a"]}`, `1`, "enum"},
		{"enum and const", `{"enum":[1,2],"const":2}`, `1`, "enum"},
		{"strings are not numbers in enums", `{"enum":["1"]}`, `1`, "enum"},
		{"unique", `{"uniqueItems":true}`, `[1,{"a":2},1.0]`, "uniqueItems"},
		{"unique strings that could collide", `{"uniqueItems":true}`, `[["a","b"],["a;s1:b"]]`, ""},
		{"false", `{"properties":{"a":false}}`, `{"a":1}`, "false"},
		{"false in not", `{"not":false}`, `1`, ""},
		{"nullable", `{"type":["string","null"]}`, `null`, ""},
		{"exact decimals", `{"multipleOf":0.1}`, `0.3`, ""},
		{"format is a hint in 2020-12", `{"format":"email"}`, `"x"`, ""},
		{"format in draft 7", `{` + draft7 + `,"format":"email"}`, `"x"`, "format"},
		{"draft 7 definitions", `{` + draft7 + `,"properties":{"a":{"$ref":"#/definitions/s"}},"definitions":{"s":{"type":"string"}}}`, `{"a":1}`, "type"},
		{"draft 7 tuples", `{` + draft7 + `,"items":[{"type":"string"}],"additionalItems":false}`, `["a",1]`, "items"},
		{"draft 4 exclusive bounds", `{"$schema":"http://json-schema.org/draft-04/schema#","maximum":3,"exclusiveMaximum":true}`, `3`, "exclusiveMaximum"},
		{"unevaluated", `{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}`, `{"a":1,"b":2}`, "false"},
		{"unevaluated, fits", `{"allOf":[{"properties":{"a":{"type":"integer"}}}],"unevaluatedProperties":false}`, `{"a":1}`, ""},
		{"huge maxLength", `{"maxLength":18446744073709551616}`, `"abc"`, ""},
		{"alternatives, one likely", `{"anyOf":[{"type":"string","minLength":3},{"type":"null"}]}`, `"a"`, "minLength"},
		{"alternatives, none likely", `{"anyOf":[{"type":"string"},{"type":"null"}]}`, `1`, "anyOf"},
		{"reference with siblings", `{"$ref":"#/$defs/s","minLength":2,"$defs":{"s":{"type":"string"}}}`, `"a"`, "minLength"},
		{"look-ahead", `{"pattern":"^(?=x)x$"}`, `"nothing alike"`, ""},
		{"look-ahead under not", `{"not":{"pattern":"^(?=x)x$"}}`, `"x"`, ""},
		{"look-ahead beside another keyword", `{"pattern":"^(?=x)x$","maxLength":2}`, `"abc"`, "maxLength"},
		{"look-ahead in patternProperties", `{"patternProperties":{"^(?=x)":{"type":"string"}},"additionalProperties":false}`, `{"x":1}`, ""},
		{"pattern", `{"pattern":"^a+$"}`, `"b"`, "pattern"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := mustCompile(t, tt.schema).Validate([]byte(tt.instance))
			if tt.keyword == "" {
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				return
			}
			var ve *ValidationError
			if !errors.As(err, &ve) {
				t.Fatalf("got %v, want a validation error", err)
			}
			if ve.Problems[0].Keyword != tt.keyword {
				t.Errorf("keyword %q, want %q (%v)", ve.Problems[0].Keyword, tt.keyword, ve)
			}
		})
	}
}

// A file that is there, and no valid schema: reading it would give another code.
func TestFilesAreNotRead(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "s.json")
	if err := os.WriteFile(file, []byte(`{"type":5}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Compile([]byte(`{"$ref":"file://`+filepath.ToSlash(file)+`"}`), Limits{})
	wantCode(t, err, CodeExternal)
}

func TestUnchecked(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, `{"properties":{"a":{"pattern":"(?=x)"},"b":{"pattern":"ok"}},"patternProperties":{"(?!y)":{}},"default":{"pattern":"(?=x)"}}`)
	got := strings.Join(s.Unchecked(), " ")
	if want := "/patternProperties/(?!y) /properties/a/pattern"; got != want {
		t.Errorf("unchecked %q, want %q", got, want)
	}
	// Cheap to write, expensive to compile: left alone, not compiled.
	for _, p := range []string{`((a{1,100}){1,100}){1,100}`, `(` + strings.Repeat("ab", 50) + `){1,999}`, strings.Repeat(`\\pL`, 4000), `(x{1,1000}){1,30}`} {
		began := time.Now()
		s := mustCompile(t, `{"pattern":"`+p+`"}`)
		if len(s.Unchecked()) != 1 {
			t.Errorf("pattern %.40s is checked", p)
		}
		if d := time.Since(began); d > time.Second {
			t.Errorf("pattern %.40s took %v", p, d)
		}
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, `{"properties":{"b":{"type":"string"},"a":{"type":"string"}},"required":["c\u001b[2J"]}`)
	err := s.Validate([]byte(`{"a":1,"b":2}`))
	var ve *ValidationError
	if !errors.As(err, &ve) || ve.Total != 3 || len(ve.Problems) != 3 {
		t.Fatalf("got %+v", err)
	}
	if ve.Problems[0].Property != "c\x1b[2J" || ve.Problems[1].Pointer != "/a" || ve.Problems[2].Pointer != "/b" {
		t.Errorf("problems %+v", ve.Problems)
	}
	if strings.ContainsRune(err.Error(), 0x1b) {
		t.Error("control character in a message")
	}

	s = mustCompile(t, `{"items":{"type":"string"}}`)
	err = s.Validate([]byte("[" + strings.Repeat("1,", 999) + "1]"))
	if !errors.As(err, &ve) || ve.Total != 1000 || len(ve.Problems) != MaxProblems {
		t.Errorf("total %d, listed %d", ve.Total, len(ve.Problems))
	}
}

// Schemas that are small and allowed, and instances that make them expensive.
func TestValidationIsBounded(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"c":`, 60) + `{}` + strings.Repeat(`}`, 60)
	twice := `{"allOf":[{"properties":{"c":{"$ref":"#"}}},{"properties":{"c":{"$ref":"#"}}}]}`
	long := `"` + strings.Repeat("a", 1<<20) + `!"`
	tests := []struct{ name, schema, instance string }{
		{"doubling with depth", twice, deep},
		{"patterns over a long text", `{"allOf":[` + strings.Repeat(`{"pattern":"(a|aa|b{1,99})*c$"},`, 99) + `true]}`, long},
		{"a failure for every item", `{"items":{"type":"string"}}`, "[" + strings.Repeat("1,", 1<<19) + "1]"},
		{"a missing property for every item", `{"items":{"required":["a"]}}`, "[" + strings.Repeat("{},", 1<<18) + "1]"},
		{"false for every item", `{"items":false}`, "[" + strings.Repeat("1,", 1<<19) + "1]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := mustCompile(t, tt.schema)
			began := time.Now()
			e := wantCode(t, s.Validate([]byte(tt.instance)), CodeOverLimit)
			if d := time.Since(began); d > 5*time.Second { // generous: the race detector slows everything
				t.Errorf("took %v", d)
			}
			if e.Setting == "" {
				t.Errorf("no setting named: %v", e)
			}
			// The schema is usable afterwards.
			if err := s.Validate([]byte(`{}`)); err != nil && e.Code == CodeInternal {
				t.Error(err)
			}
		})
	}
}

func TestCatastrophicPatternIsHarmless(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, `{"pattern":"^(a+)+$"}`)
	began := time.Now()
	err := s.Validate([]byte(`"` + strings.Repeat("a", 50_000) + `!"`))
	var ve *ValidationError
	if !errors.As(err, &ve) || ve.Problems[0].Keyword != "pattern" {
		t.Errorf("got %v", err)
	}
	if d := time.Since(began); d > 2*time.Second {
		t.Errorf("took %v", d)
	}
}

func TestLargeBenignSchemas(t *testing.T) {
	t.Parallel()
	var codes strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&codes, `"code-%d",`, i)
	}
	s := mustCompile(t, `{"properties":{`+manyProperties(1000)+`,"code":{"enum":[`+codes.String()+`"last"]}}}`)
	if err := s.Validate([]byte(`{"code":"code-4999","p1":"x"}`)); err != nil {
		t.Error(err)
	}
	if err := s.Validate([]byte(`{"code":"code-5000"}`)); err == nil {
		t.Error("a value outside of the enum fits")
	}
}

func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	s := mustCompile(t, `{"type":"array","items":{"type":"integer","maximum":10},"uniqueItems":true}`)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for range 20 {
				err := s.Validate([]byte(fmt.Sprintf("[1,2,%d]", i)))
				if fits := i > 2 && i <= 10 || i == 0; fits != (err == nil) {
					t.Errorf("%d: %v", i, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestRawIsACopy(t *testing.T) {
	t.Parallel()
	in := []byte(`{"type":"string"}`)
	s := mustCompile(t, string(in))
	s.Raw()[0] = 'x'
	if string(s.Raw()) != string(in) {
		t.Error("Raw shares its bytes")
	}
}

func BenchmarkCompile(b *testing.B) {
	raw := []byte(`{"type":"object","properties":{"q":{"type":"string","minLength":1},"n":{"type":"integer","minimum":0},"tags":{"type":"array","items":{"type":"string"}}},"required":["q"],"additionalProperties":false}`)
	for b.Loop() {
		if _, err := Compile(raw, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkValidate(b *testing.B) {
	s, err := Compile([]byte(`{"type":"object","properties":{"q":{"type":"string","minLength":1},"n":{"type":"integer","minimum":0},"tags":{"type":"array","items":{"type":"string"}}},"required":["q"],"additionalProperties":false}`), Limits{})
	if err != nil {
		b.Fatal(err)
	}
	instance := []byte(`{"q":"text","n":3,"tags":["a","b"]}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Validate(instance); err != nil {
			b.Fatal(err)
		}
	}
}
