package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/looprig/looprig/compose/config/doc"
	"github.com/looprig/looprig/internal/safetext"
)

// maxKey is the longest key that YAML takes without ceremony, in bytes as they
// are written.
const maxKey = 1000

var errNotYAML = errors.New("YAML does not hold this value")

// flow renders JSON as a YAML flow value on one line.
func flow(raw json.RawMessage) (string, error) {
	if len(raw) == 0 {
		return "{}", nil
	}
	n, err := doc.ParseJSON("value", raw)
	if err != nil {
		return "", err
	}
	return render(n)
}

// render gives a node as a flow value, and makes sure that the reader of scripts
// reads the same out of it.
func render(n *doc.Node) (string, error) {
	var b strings.Builder
	if err := write(&b, n); err != nil {
		return "", err
	}
	back, err := doc.ParseYAML("value", []byte("v: "+b.String()+"\n"))
	if err != nil {
		return "", fmt.Errorf("%w: %w", errNotYAML, err)
	}
	if v := back.Get("v"); v == nil || string(v.JSON()) != string(n.JSON()) {
		return "", errNotYAML
	}
	return b.String(), nil
}

func write(b *strings.Builder, n *doc.Node) error {
	switch n.Kind {
	case doc.Null:
		b.WriteString("null")
	case doc.Bool, doc.Number:
		b.WriteString(n.Text)
	case doc.String:
		b.WriteString(quote(n.Text))
	case doc.Array:
		b.WriteByte('[')
		for i, item := range n.Items {
			if i > 0 {
				b.WriteString(", ")
			}
			if err := write(b, item); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case doc.Object:
		b.WriteByte('{')
		for i, m := range n.Members {
			if i > 0 {
				b.WriteString(", ")
			}
			key := name(m.Key)
			if len(key) > maxKey {
				return fmt.Errorf("%w: a key of %d bytes", errNotYAML, len(m.Key))
			}
			b.WriteString(key + ": ")
			if err := write(b, m.Value); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	}
	return nil
}

// quote gives a text as a double-quoted YAML scalar on one line, in which nothing
// that a terminal would obey is raw.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\r':
			b.WriteString(`\r`)
		case inert(c):
			b.WriteRune(c)
		case c > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, c)
		default:
			fmt.Fprintf(&b, `\u%04x`, c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// plain are names that mean nothing but themselves without quotes.
var plain = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`) })

// words are read as something else than a text, by some reader of YAML.
var words = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}

// name gives a text without quotes where it needs none.
func name(s string) string {
	if plain().MatchString(s) && !slices.Contains(words, strings.ToLower(s)) {
		return s
	}
	return quote(s)
}

// expr gives an expression, which is full of double quotes, in single ones.
func expr(s string) string {
	for _, c := range s {
		if c == '\'' || c < 0x20 || c >= 0x7f {
			return quote(s)
		}
	}
	return "'" + s + "'"
}

func inert(c rune) bool {
	if c < 0x80 {
		return c >= 0x20 && c != 0x7f
	}
	return unicode.IsPrint(c) && !unicode.Is(unicode.Variation_Selector, c)
}

func ident(s string) string { return safetext.Ident(s).String() }

func line(s string) string { return safetext.ToLineN(s, 1000).String() }
