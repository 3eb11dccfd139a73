package doc_test

import (
	"strings"
	"testing"
	"time"

	"github.com/looprig/looprig/compose/config/doc"
)

func TestBothSyntaxesGiveOneTree(t *testing.T) {
	t.Parallel()
	fromJSON, err := doc.ParseJSON("f", []byte(`{"b": [1, 2.50, true, null], "a": {"k": "v\u202e"}, "big": 9007199254740993}`))
	if err != nil {
		t.Fatal(err)
	}
	fromYAML, err := doc.ParseYAML("f", []byte("b: [1, 2.50, true, null]\na:\n  k: \"v\\u202e\"\nbig: 9007199254740993\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"b":[1,2.50,true,null],"a":{"k":"v` + "\u202e" + `"},"big":9007199254740993}`
	if string(fromJSON.JSON()) != want || string(fromYAML.JSON()) != want {
		t.Errorf("JSON %s\nYAML %s\nwant %s", fromJSON.JSON(), fromYAML.JSON(), want)
	}
}

func TestFaultsHavePlaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, src, want string }{
		{"json", "{\n  \"a\": 1,\n  \"a\": 2\n}", `f:3:3: duplicate key "a"`},
		{"json", "{\"a\": 1} x", "f:1:10: unexpected data after the value"},
		{"json", "{\"a\": ", "f:1:7: the file ends before the value does"},
		{"json", "[" + strings.Repeat("[", 100) + strings.Repeat("]", 101), "nesting is deeper than 64"},
		{"yaml", "a: 1\nb:\n  a: 2\n  a: 3\n", `f:4:3: mapping key "a" already defined`},
		{"yaml", "a: &x 1\nb: *x\n", "f:1:4: anchors, aliases and merges are not allowed"},
		{"yaml", "a: 1\n---\nb: 2\n", "f:3:1: a second document"},
		{"yaml", "a: !!str 1\n", "tags are not allowed"},
		{"yaml", "a: .inf\n", "not a number that JSON has"},
		{"yaml", "a: [1, 2\n", "f:"},
	} {
		parse := doc.ParseJSON
		if c.name == "yaml" {
			parse = doc.ParseYAML
		}
		_, err := parse("f", []byte(c.src))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: %v, want %s", c.name, c.src, err, c.want)
		}
	}
}

func TestReaderCollectsEveryFault(t *testing.T) {
	t.Parallel()
	n, err := doc.ParseYAML("f", []byte("name: 3\nlist: [a, 1]\nwait: 5\nlong: 3h\nmode: fast\ncommadn: x\nsub: 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	r := &doc.Reader{File: "f"}
	o := r.Object(n, "")
	o.String("name", "")
	o.Strings("list")
	o.Duration("wait", 0, time.Hour)
	o.Duration("long", 0, time.Hour)
	o.OneOf("mode", "slow", "slow", "medium")
	o.String("command", "")
	o.Sub("sub").Done()
	o.Done()
	got := r.Err().Error()
	want := []string{
		"f:1:7: name: expected a string, found a number",
		"f:2:11: list[1]: expected a string",
		`f:3:7: wait: a duration needs its unit: "5s", "5ms"`,
		"f:4:7: long: expected a duration",
		`f:5:7: mode: "fast" is not one of slow, medium`,
		"f:7:6: sub: expected an object, found a number",
		`f:6:1: commadn: unknown key (did you mean "command"?)`,
	}
	if strings.Count(got, "\n") != len(want)-1 {
		t.Errorf("faults:\n%s", got)
	}
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("missing %q in\n%s", w, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":null}]}`))
	f.Add([]byte("a:\n  - b: |\n      text\n  - {c: 0x10}\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		for _, parse := range []func(string, []byte) (*doc.Node, error){doc.ParseJSON, doc.ParseYAML} {
			n, err := parse("f", src)
			if err != nil {
				continue
			}
			again, err := doc.ParseJSON("f", n.JSON())
			if err != nil {
				t.Fatalf("%q became %s: %v", src, n.JSON(), err)
			}
			if string(again.JSON()) != string(n.JSON()) {
				t.Fatalf("%s became %s", n.JSON(), again.JSON())
			}
		}
	})
}

// The parser alone takes minutes and gigabytes for these.
func TestParseYAMLBoundsNestingBeforeItParses(t *testing.T) {
	t.Parallel()
	const n = 1 << 16
	for name, src := range map[string]string{
		"brackets": "a: " + strings.Repeat("[", n),
		"closed":   "a: " + strings.Repeat("[", n) + strings.Repeat("]", n),
		"braces":   strings.Repeat("{a: ", n),
		"dashes":   strings.Repeat("- ", n) + "a",
		"stairs":   stairs(600),
	} {
		if _, err := doc.ParseYAML("f", []byte(src)); err == nil || !strings.Contains(err.Error(), "nesting is deeper than") {
			t.Errorf("%s: %.200v", name, err)
		}
	}
	if _, err := doc.ParseYAML("f", []byte(stairs(doc.MaxDepth/2))); err != nil {
		t.Errorf("nesting within the limit: %v", err)
	}
}

// stairs nests sequences, one to a line.
func stairs(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "-\n")
	}
	b.WriteString(strings.Repeat(" ", n) + "a\n")
	return b.String()
}
