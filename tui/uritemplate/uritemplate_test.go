package uritemplate

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// values are those of the RFC's own examples, as far as they are texts.
var values = map[string]string{
	"var": "value", "hello": "Hello World!", "half": "50%", "empty": "", "path": "/foo/bar", "x": "1024", "y": "768",
	"who": "fred", "base": "http://example.com/home/", "dub": "me/too", "v": "6", "dom": "example", "semi": ";", "year": "1984",
}

func TestExamplesOfTheRFC(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"{var}": "value", "{hello}": "Hello%20World%21", "{half}": "50%25", "O{empty}X": "OX", "O{undef}X": "OX",
		"{x,y}": "1024,768", "{x,hello,y}": "1024,Hello%20World%21,768", "?{x,empty}": "?1024,", "?{x,undef}": "?1024", "?{undef,y}": "?768",
		"{var:3}": "val", "{var:30}": "value",
		"{+var}": "value", "{+hello}": "Hello%20World!", "{+half}": "50%25", "{base}index": "http%3A%2F%2Fexample.com%2Fhome%2Findex",
		"{+base}index": "http://example.com/home/index", "O{+empty}X": "OX", "O{+undef}X": "OX", "{+path}/here": "/foo/bar/here",
		"here?ref={+path}": "here?ref=/foo/bar", "up{+path}{var}/here": "up/foo/barvalue/here", "{+x,hello,y}": "1024,Hello%20World!,768",
		"{+path,x}/here": "/foo/bar,1024/here", "{+path:6}/here": "/foo/b/here",
		"{#var}": "#value", "{#hello}": "#Hello%20World!", "{#half}": "#50%25", "foo{#empty}": "foo#", "foo{#undef}": "foo",
		"{#x,hello,y}": "#1024,Hello%20World!,768", "{#path,x}/here": "#/foo/bar,1024/here", "{#path:6}/here": "#/foo/b/here",
		"{.who}": ".fred", "{.who,who}": ".fred.fred", "{.half,who}": ".50%25.fred", "X{.var}": "X.value", "X{.empty}": "X.", "X{.undef}": "X", "X{.var:3}": "X.val",
		"{/who}": "/fred", "{/who,who}": "/fred/fred", "{/half,who}": "/50%25/fred", "{/who,dub}": "/fred/me%2Ftoo", "{/var}": "/value",
		"{/var,empty}": "/value/", "{/var,undef}": "/value", "{/var,x}/here": "/value/1024/here", "{/var:1,var}": "/v/value",
		"{;who}": ";who=fred", "{;half}": ";half=50%25", "{;empty}": ";empty", "{;v,empty,who}": ";v=6;empty;who=fred", "{;v,bar,who}": ";v=6;who=fred",
		"{;x,y}": ";x=1024;y=768", "{;x,y,empty}": ";x=1024;y=768;empty", "{;x,y,undef}": ";x=1024;y=768", "{;hello:5}": ";hello=Hello",
		"{?who}": "?who=fred", "{?half}": "?half=50%25", "{?x,y}": "?x=1024&y=768", "{?x,y,empty}": "?x=1024&y=768&empty=", "{?x,y,undef}": "?x=1024&y=768", "{?var:3}": "?var=val",
		"{&who}": "&who=fred", "{&half}": "&half=50%25", "?fixed=yes{&x}": "?fixed=yes&x=1024", "{&x,y,empty}": "&x=1024&y=768&empty=", "{&var:3}": "&var=val",
		"{semi:2}": "%3B", "{var*}": "value", "{?var*}": "?var=value", "%7Bx%7D{x}": "%7Bx%7D1024", "": "", "plain": "plain", "ö{x}": "%C3%B61024",
	} {
		tpl, err := Parse(in)
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if got := tpl.Expand(values); got != want {
			t.Errorf("%s becomes %s, not %s", in, got, want)
		}
	}
}

func TestVariables(t *testing.T) {
	t.Parallel()
	tpl, err := Parse("repo://{owner}/{name}{/path*}{?ref,owner}{#line}")
	if err != nil {
		t.Fatal(err)
	}
	if got := tpl.Variables(); !slices.Equal(got, []string{"owner", "name", "path", "ref", "line"}) {
		t.Error(got)
	}
	for name, want := range map[string]bool{"owner": true, "name": true, "path": true, "ref": false, "line": false, "other": false} {
		if tpl.Required(name) != want {
			t.Errorf("%s is required: %v", name, !want)
		}
	}
}

func TestFaultsHaveAPlace(t *testing.T) {
	t.Parallel()
	for in, at := range map[string]int{
		"a{": 1, "a}b": 1, "{}": 1, "{a": 0, "{a,}": 3, "{a b}": 1, "{a:0}": 1, "{a:10000}": 1, "{a:x}": 1, "{a:}": 1, "{a..b}": 1, "{.}": 2, "{a.}": 1,
		"{%2}": 1, "{=a}": 1, "{a{b}}": 1, strings.Repeat("x", MaxBytes+1): MaxBytes, "{a:+1}": 1, "{ä}": 1,
	} {
		_, err := Parse(in)
		var s *SyntaxError
		if !errors.As(err, &s) || s.Offset != at {
			t.Errorf("%.20q: %v", in, err)
		}
	}
	var many strings.Builder
	for i := range MaxVariables + 1 {
		many.WriteString("{v" + strings.Repeat("x", i) + "}")
	}
	if _, err := Parse(many.String()); err == nil {
		t.Error("too many variables are taken")
	}
}

// FuzzExpand holds that an expansion never panics, and that simple values cannot
// leave their place: they are percent-encoded.
func FuzzExpand(f *testing.F) {
	f.Add("a{b}{?c:3}", "x/../y?z#", "ü")
	f.Add("{+a,b}{#c}", "%zz%41", "\xff")
	f.Add("{;a*}{&b:9999}", "", "{}")
	f.Fuzz(func(t *testing.T, tpl, a, b string) {
		p, err := Parse(tpl)
		if err != nil {
			return
		}
		values := map[string]string{}
		for i, n := range p.Variables() {
			values[n] = []string{a, b}[i%2]
		}
		_ = p.Expand(values)
		simple, err := Parse("{a}")
		if err != nil {
			t.Fatal(err)
		}
		got := simple.Expand(map[string]string{"a": a})
		if back, err := url.PathUnescape(got); err != nil || back != a || strings.ContainsAny(got, "/?#:@ ") {
			t.Fatalf("%q becomes %q", a, got)
		}
	})
}
