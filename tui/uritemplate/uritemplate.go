// Package uritemplate expands URI templates (RFC 6570) whose variables are
// texts: every operator, prefixes, and the explode modifier, which changes
// nothing for a text. A server wrote the template; expanding it yields an address
// and reads nothing. The package imports the standard library alone.
package uritemplate

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The bounds of a template.
const (
	// MaxBytes is the longest template that is parsed.
	MaxBytes = 8 << 10
	// MaxVariables is how many different variables one may have.
	MaxVariables = 64
	// maxPrefix is the largest prefix that the grammar allows.
	maxPrefix = 9999
)

// SyntaxError says where a template breaks the grammar. Its text is host-written
// and names no part of the template.
type SyntaxError struct {
	Offset int // in bytes
	Reason string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("uri template: byte %d: %s", e.Offset, e.Reason)
}

// operator is how an expression is written out.
type operator struct {
	first, sep string
	named      bool   // name=value
	empty      string // what follows the name of an empty value
	reserved   bool   // reserved characters are kept
}

var operators = map[byte]operator{
	0:   {sep: ","},
	'+': {sep: ",", reserved: true},
	'#': {first: "#", sep: ",", reserved: true},
	'.': {first: ".", sep: "."},
	'/': {first: "/", sep: "/"},
	';': {first: ";", sep: ";", named: true},
	'?': {first: "?", sep: "&", named: true, empty: "="},
	'&': {first: "&", sep: "&", named: true, empty: "="},
}

type variable struct {
	name   string
	prefix int // 0 means the whole value
}

// part is a literal, or an expression with variables.
type part struct {
	literal string
	op      byte
	vars    []variable
}

// Template is a parsed template. It is immutable.
type Template struct {
	parts []part
	names []string
	need  map[string]bool
}

// Parse reads a template. It fails with a *SyntaxError.
func Parse(s string) (*Template, error) {
	if len(s) > MaxBytes {
		return nil, &SyntaxError{MaxBytes, fmt.Sprintf("a template is at most %d bytes long", MaxBytes)}
	}
	t := &Template{need: map[string]bool{}}
	for at := 0; at < len(s); {
		open := strings.IndexAny(s[at:], "{}")
		if open < 0 {
			t.parts = append(t.parts, part{literal: s[at:]})
			break
		}
		open += at
		if s[open] == '}' {
			return nil, &SyntaxError{open, "a closing brace without an opening one"}
		}
		if open > at {
			t.parts = append(t.parts, part{literal: s[at:open]})
		}
		end := strings.IndexByte(s[open:], '}')
		if end < 0 {
			return nil, &SyntaxError{open, "an expression is not closed"}
		}
		p, err := expression(s[open+1:open+end], open+1)
		if err != nil {
			return nil, err
		}
		t.parts = append(t.parts, p)
		if err := t.note(p, open); err != nil {
			return nil, err
		}
		at = open + end + 1
	}
	return t, nil
}

func expression(s string, at int) (part, error) {
	var p part
	if s != "" && strings.IndexByte("+#./;?&", s[0]) >= 0 {
		p.op, s = s[0], s[1:]
		at++
	}
	if s != "" && strings.IndexByte("=,!@|", s[0]) >= 0 {
		return p, &SyntaxError{at, "the operator is reserved for extensions"}
	}
	for spec := range strings.SplitSeq(s, ",") {
		v, why := spelled(spec)
		if why != "" {
			return p, &SyntaxError{at, why}
		}
		p.vars = append(p.vars, v)
		at += len(spec) + 1
	}
	return p, nil
}

// spelled reads one variable with its modifier.
func spelled(spec string) (variable, string) {
	v := variable{name: spec}
	if name, ok := strings.CutSuffix(spec, "*"); ok {
		v.name = name
	} else if name, length, ok := strings.Cut(spec, ":"); ok {
		n, err := strconv.Atoi(length)
		if err != nil || n < 1 || n > maxPrefix || length[0] == '+' || length[0] == '0' {
			return v, "a prefix is a number from 1 to 9999"
		}
		v.name, v.prefix = name, n
	}
	if !validName(v.name) {
		return v, "a variable's name is letters, digits, _, . and percent-encoded bytes"
	}
	return v, ""
}

func validName(s string) bool {
	dot := true // a name neither begins nor ends with a dot
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '.':
			if dot {
				return false
			}
			dot = true
			continue
		case c == '%':
			if !triplet(s[i:]) {
				return false
			}
			i += 2
		case c != '_' && !alphanumeric(c):
			return false
		}
		dot = false
	}
	return s != "" && !dot
}

// note keeps the names of an expression's variables.
func (t *Template) note(p part, at int) error {
	for _, v := range p.vars {
		if _, seen := t.need[v.name]; !seen {
			if len(t.names) == MaxVariables {
				return &SyntaxError{at, fmt.Sprintf("a template has at most %d variables", MaxVariables)}
			}
			t.names = append(t.names, v.name)
			t.need[v.name] = false
		}
		if o := operators[p.op]; !o.named && o.first != "#" {
			t.need[v.name] = true
		}
	}
	return nil
}

// Variables are the names of the variables, each once, in their order.
func (t *Template) Variables() []string { return append([]string(nil), t.names...) }

// Required reports a variable without which the address would have a hole: one
// outside of queries, parameters and fragments.
func (t *Template) Required(name string) bool { return t.need[name] }

// Expand writes the template out. A variable without a value is left out, as the
// RFC has it for undefined ones.
func (t *Template) Expand(values map[string]string) string {
	var b strings.Builder
	for _, p := range t.parts {
		if p.vars == nil {
			b.WriteString(encode(p.literal, true))
			continue
		}
		p.expand(&b, values)
	}
	return b.String()
}

func (p part) expand(b *strings.Builder, values map[string]string) {
	o := operators[p.op]
	lead := o.first
	for _, v := range p.vars {
		value, ok := values[v.name]
		if !ok {
			continue
		}
		b.WriteString(lead)
		lead = o.sep
		if o.named {
			b.WriteString(v.name)
			if value == "" {
				b.WriteString(o.empty)
				continue
			}
			b.WriteByte('=')
		}
		b.WriteString(encode(v.cut(value), o.reserved))
	}
}

// cut is the prefix of a value, counted in characters.
func (v variable) cut(s string) string {
	if v.prefix == 0 {
		return s
	}
	n := 0
	for i := range s {
		if n == v.prefix {
			return s[:i]
		}
		n++
	}
	return s
}

// encode percent-encodes what is not unreserved; reserved keeps reserved
// characters and triplets too.
func encode(s string, reserved bool) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case alphanumeric(c) || strings.IndexByte("-._~", c) >= 0,
			reserved && strings.IndexByte(":/?#[]@!$&'()*+,;=", c) >= 0:
			b.WriteByte(c)
			i++
		case reserved && c == '%' && triplet(s[i:]):
			b.WriteString(s[i : i+3])
			i += 3
		default:
			_, size := utf8.DecodeRuneInString(s[i:])
			for ; size > 0; size-- {
				b.WriteByte('%')
				b.WriteByte(hex[s[i]>>4])
				b.WriteByte(hex[s[i]&15])
				i++
			}
		}
	}
	return b.String()
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// triplet reports that s starts with a percent-encoded byte.
func triplet(s string) bool {
	return len(s) >= 3 && s[0] == '%' && isHex(s[1]) && isHex(s[2])
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
