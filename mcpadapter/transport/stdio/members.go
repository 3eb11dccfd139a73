package stdio

import (
	"bytes"
	"encoding/json"
)

// Bounds of what is kept of a frame over the limit.
const (
	headBytes = 4 << 10 // its first bytes, to show
	maxKey    = 64      // a member name that could be "id" or "method", escapes included
	maxMember = 1 << 10 // the value of one of them
)

// memberScanner finds the members "id" and "method" of the outermost object of
// a frame that is too large to keep, while it is skipped. Popular servers
// write the id behind the result, so the whole frame is watched. It looks
// neither into nested values nor into strings, and it judges no grammar: what
// it cannot follow it leaves alone. Its memory does not depend on the frame.
type memberScanner struct {
	at      stage
	depth   int
	quoted  bool // inside a string
	escaped bool // behind a backslash
	capture bool // the string or scalar is kept
	key     []byte
	value   []byte
	ids     int
	id      []byte
	method  string
}

// stage is where in the outermost object the scanner stands.
type stage uint8

const (
	outside stage = iota // before the object
	beforeKey
	inKey
	beforeColon
	beforeValue
	inText   // a string as a member's value
	inScalar // a number or a word as a member's value
	nested   // inside a container as a member's value
	behindValue
	finished // behind the object, or lost
)

// write takes the next bytes of the frame.
func (s *memberScanner) write(b []byte) {
	for i := 0; i < len(b) && s.at != finished; i++ {
		if s.quoted {
			if !s.capture && !s.escaped {
				i += plainRun(b[i:])
				if i == len(b) {
					return
				}
			}
			s.inside(b[i])
			continue
		}
		s.outer(b[i])
	}
}

// plainRun counts the bytes before the next quote or backslash.
func plainRun(b []byte) int {
	for i, c := range b {
		if c == '"' || c == '\\' {
			return i
		}
	}
	return len(b)
}

// inside takes one byte of a string.
func (s *memberScanner) inside(c byte) {
	s.keep(c)
	switch {
	case s.escaped:
		s.escaped = false
	case c == '\\':
		s.escaped = true
	case c == '"':
		s.quoted = false
		switch s.at {
		case inKey:
			s.at = beforeColon
		case inText:
			s.endValue(behindValue)
		default: // a string inside a nested value
		}
	}
}

// keep collects a member's name or value; one that is too long is none of
// those that are looked for.
func (s *memberScanner) keep(c byte) {
	if !s.capture {
		return
	}
	into, limit := &s.value, maxMember
	if s.at == inKey {
		into, limit = &s.key, maxKey
	}
	if len(*into) >= limit {
		*into, s.capture = (*into)[:0], false
		return
	}
	*into = append(*into, c)
}

// outer takes one byte outside strings.
func (s *memberScanner) outer(c byte) {
	space := c == ' ' || c == '\t' || c == '\r'
	switch s.at {
	case outside:
		s.expect(c, '{', space, beforeKey)
	case beforeKey:
		s.beforeKey(c, space)
	case beforeColon:
		s.expect(c, ':', space, beforeValue)
	case beforeValue:
		if !space {
			s.startValue(c)
		}
	case inScalar:
		s.inScalar(c, space)
	case nested:
		s.inNested(c)
	case behindValue:
		if c == '}' {
			s.at = finished
			return
		}
		s.expect(c, ',', space, beforeKey)
	default: // strings are taken before, and nothing follows the end
	}
}

// expect moves on at one byte, stays at white space and gives up at others.
func (s *memberScanner) expect(c, want byte, space bool, next stage) {
	switch {
	case c == want:
		s.at = next
	case !space:
		s.at = finished
	}
}

func (s *memberScanner) beforeKey(c byte, space bool) {
	switch {
	case c == '"':
		s.at, s.quoted, s.capture, s.key = inKey, true, true, append(s.key[:0], c)
	case !space:
		s.at = finished
	}
}

func (s *memberScanner) startValue(c byte) {
	name := unquote(s.key)
	s.value, s.capture = s.value[:0], name == "id" || name == "method"
	switch c {
	case '"':
		s.at, s.quoted = inText, true
	case '{', '[':
		s.at, s.depth = nested, 1
		s.value = append(s.value, c) // no id, but a member of that name
		s.capture = false
	default:
		s.at = inScalar
	}
	s.keep(c)
}

func (s *memberScanner) inScalar(c byte, space bool) {
	switch {
	case c == ',':
		s.endValue(beforeKey)
	case c == '}':
		s.endValue(finished)
	case space:
		s.endValue(behindValue)
	default:
		s.keep(c)
	}
}

func (s *memberScanner) inNested(c byte) {
	switch c {
	case '"':
		s.quoted = true
	case '{', '[':
		s.depth++
	case '}', ']':
		if s.depth--; s.depth == 0 {
			s.endValue(behindValue)
		}
	}
}

// endValue notes a complete member.
func (s *memberScanner) endValue(next stage) {
	s.at, s.capture = next, false
	switch unquote(s.key) {
	case "id":
		s.ids++
		s.id = bytes.Clone(s.value)
	case "method":
		s.method = unquote(s.value)
	}
}

// result returns the id in raw JSON, when there is exactly one and it is a
// string or a number, and the method.
func (s *memberScanner) result() (id []byte, method string) {
	if s.ids != 1 || !isID(s.id) {
		return nil, s.method
	}
	return s.id, s.method
}

// isID reports whether a raw value is a string or a number.
func isID(raw []byte) bool {
	return len(raw) > 0 && (raw[0] == '"' || raw[0] == '-' || isDigit(raw[0])) && json.Valid(raw)
}

func unquote(raw []byte) string {
	var text string
	if len(raw) == 0 || json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}
