package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// UnknownTypeError says that a line's type is not in the union.
type UnknownTypeError struct{ Type Type }

func (e *UnknownTypeError) Error() string {
	return fmt.Sprintf("unknown event type %q", string(e.Type))
}

// Encode gives the one encoding of an event, without a trailing newline. It
// fills in the header's version and type. Times are UTC with microseconds.
func Encode(e Event) ([]byte, error) {
	h := e.Head()
	h.V = Version
	h.Type = TypeOf(e)
	if _, ok := classes[h.Type]; !ok {
		return nil, &UnknownTypeError{Type: h.Type}
	}
	h.Time = h.Time.UTC().Truncate(time.Microsecond)
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		return nil, fmt.Errorf("encode event %s: %w", h.Type, err)
	}
	return Escape(bytes.TrimSuffix(buf.Bytes(), []byte("\n"))), nil
}

// Decode parses one line.
func Decode(line []byte) (Event, error) {
	var h Header
	if err := json.Unmarshal(line, &h); err != nil {
		return nil, fmt.Errorf("decode event: %w", err)
	}
	c, ok := classes[h.Type]
	if !ok {
		return nil, &UnknownTypeError{Type: h.Type}
	}
	e := c.make()
	if err := json.Unmarshal(line, e); err != nil {
		return nil, fmt.Errorf("decode event %s: %w", h.Type, err)
	}
	return e, nil
}

// Escape rewrites every control, format and line-separator character of a JSON
// text as \u escapes. Such characters can only occur inside strings, so the
// value is unchanged. It returns its argument when there is nothing to do.
func Escape(doc []byte) []byte {
	i := 0
	for i < len(doc) && doc[i] >= 0x20 && doc[i] < 0x7f {
		i++
	}
	if i == len(doc) {
		return doc
	}
	out := make([]byte, i, len(doc)+64)
	copy(out, doc)
	for i < len(doc) {
		r, n := utf8.DecodeRune(doc[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			out = append(out, `\ufffd`...)
		case !inert(r):
			out = appendEscape(out, r)
		default:
			out = append(out, doc[i:i+n]...)
		}
		i += n
	}
	return out
}

func inert(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 0x20 && r != 0x7f
	}
	return !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co) &&
		!unicode.Is(unicode.Variation_Selector, r)
}

func appendEscape(out []byte, r rune) []byte {
	if r > 0xffff {
		hi, lo := utf16.EncodeRune(r)
		return fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
	}
	return fmt.Appendf(out, `\u%04x`, r)
}
