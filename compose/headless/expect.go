package headless

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/itchyny/gojq"

	"github.com/looprig/looprig/compose/config/doc"
)

// ExpectTimeout bounds the evaluation of one expression.
const ExpectTimeout = 2 * time.Second

// MaxShownValue bounds what a failed expectation records of a value,
// maxShownInMessage what its message shows.
const (
	MaxShownValue     = 4 << 10
	maxShownInMessage = 400
)

// Expect is one jq expression that must yield exactly one true.
type Expect struct {
	Text string
	Line int
	code *gojq.Code
}

// Save keeps what a jq expression yields under a name.
type Save struct {
	Name string
	Line int
	expr Expect
}

func (l *loader) compile(n *doc.Node, path string) (Expect, bool) {
	if n.Kind != doc.String {
		l.r.Fail(n.Pos, path, "expected a jq expression in quotes, found %s", n.Kind)
		return Expect{}, false
	}
	code, err := Compile(n.Text)
	if err != nil {
		l.r.Fail(n.Pos, path, "%s", err)
		return Expect{}, false
	}
	return Expect{Text: n.Text, Line: n.Pos.Line, code: code}, true
}

// Compile compiles a jq expression without access to the environment, files or
// input.
func Compile(text string) (*gojq.Code, error) {
	q, err := gojq.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("not a jq expression: %w", err)
	}
	code, err := gojq.Compile(q, gojq.WithEnvironLoader(func() []string { return nil }))
	if err != nil {
		return nil, fmt.Errorf("not a jq expression: %w", err)
	}
	return code, nil
}

func (l *loader) expects(o *doc.Obj) []Expect {
	items := o.Items("expect")
	if len(items) > MaxExpects {
		o.Fail("expect", "more than %d expectations", MaxExpects)
		items = items[:MaxExpects]
	}
	var out []Expect
	for i, n := range items {
		if e, ok := l.compile(n, fmt.Sprintf("%s[%d]", o.Path("expect"), i)); ok {
			out = append(out, e)
		}
	}
	return out
}

var saveName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z_][a-zA-Z0-9_]*$`) })

func (l *loader) saves(o *doc.Obj) []Save {
	n := o.Node("save")
	if n == nil {
		return nil
	}
	if n.Kind != doc.Object {
		o.Fail("save", "expected an object of name: jq expression")
		return nil
	}
	var out []Save
	for _, m := range n.Members {
		if !saveName().MatchString(m.Key) {
			l.r.Fail(m.Pos, o.Path("save"), "%q cannot be a name: begin with a small letter, then letters, digits and _", m.Key)
			continue
		}
		if e, ok := l.compile(m.Value, o.Path("save")+"."+m.Key); ok {
			out = append(out, Save{Name: m.Key, Line: m.Pos.Line, expr: e})
			l.saved[m.Key] = true
		}
	}
	return out
}

// Eval runs a compiled expression over a value decoded from JSON and returns
// what it yields, at most two values.
func Eval(ctx context.Context, code *gojq.Code, input any) ([]any, error) {
	ctx, cancel := context.WithTimeout(ctx, ExpectTimeout)
	defer cancel()
	iter := code.RunWithContext(ctx, input)
	var out []any
	for len(out) < 2 {
		v, ok := iter.Next()
		if !ok {
			break
		}
		if err, bad := v.(error); bad {
			return out, evalError(err)
		}
		out = append(out, v)
	}
	return out, nil
}

// evalError puts what ended an evaluation in words.
func evalError(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the expression did not end within %s", ExpectTimeout)
	}
	return err
}

// holds says whether the expectation is met, and if not, why.
func (e Expect) holds(ctx context.Context, input any) (bool, any, string) {
	got, err := Eval(ctx, e.code, input)
	switch {
	case err != nil:
		return false, nil, err.Error()
	case len(got) == 0:
		return false, nil, "the expression yields nothing"
	case len(got) > 1:
		return false, got, "the expression yields more than one value"
	}
	if got[0] == true {
		return true, true, ""
	}
	why := "the expression yields " + shown(got[0])
	if _, boolean := got[0].(bool); !boolean && assignment().MatchString(e.Text) {
		why += " (to compare, write ==)"
	}
	return false, got[0], why
}

// assignment finds a single = that was probably meant to compare.
var assignment = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^=!<>|+*/%-]=[^=]`) })

func shown(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "a value that is not JSON"
	}
	if len(b) > maxShownInMessage {
		return fmt.Sprintf("%s… (%d bytes)", bytes.ToValidUTF8(b[:maxShownInMessage], nil), len(b))
	}
	return string(b)
}

// decode turns a result into what jq sees, keeping large integers exact.
func decode(v any) (any, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return decodeJSON(b)
}

func decodeJSON(b []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var out any
	if err := dec.Decode(&out); err != nil {
		return nil, err
	}
	return out, nil
}
