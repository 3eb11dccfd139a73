package stdio

import (
	"bytes"
	"encoding/json"
)

// headBytes is how much of a frame over the limit is kept to find out which
// request it answers.
const headBytes = 4 << 10

// maxMethod bounds a method name taken from the head of a frame.
const maxMethod = 256

// scanHead finds the members "id" and "method" of the outermost object in the
// first bytes of a JSON text, whatever the order of its members. It looks
// neither into nested values nor into strings, and a member that the cut may
// have shortened or that occurs twice is not reported.
func scanHead(head []byte) (id []byte, method string) {
	s := headScanner{b: head}
	if !s.take('{') {
		return nil, ""
	}
	ids := 0
	for {
		key, ok := s.str()
		if !ok || !s.take(':') {
			break
		}
		value, ok := s.value()
		if !ok {
			break
		}
		switch unquote(key) {
		case "id":
			ids++
			id = value
		case "method":
			if len(value) <= maxMethod {
				method = unquote(value)
			}
		}
		if !s.take(',') {
			break
		}
	}
	if ids != 1 || !isID(id) {
		return nil, method
	}
	return bytes.Clone(id), method
}

// isID reports whether a raw value is a string or a number.
func isID(raw []byte) bool {
	return len(raw) > 0 && (raw[0] == '"' || raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9') && json.Valid(raw)
}

func unquote(raw []byte) string {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

// headScanner walks over JSON tokens that may end anywhere. It does not check
// the grammar; it only never mistakes the inside of a value for a member.
type headScanner struct {
	b []byte
	i int
}

func (s *headScanner) space() {
	for s.i < len(s.b) && (s.b[s.i] == ' ' || s.b[s.i] == '\t' || s.b[s.i] == '\r') {
		s.i++
	}
}

// take consumes one punctuation byte.
func (s *headScanner) take(c byte) bool {
	s.space()
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

// str consumes one whole string and returns it with its quotes.
func (s *headScanner) str() ([]byte, bool) {
	s.space()
	if s.i >= len(s.b) || s.b[s.i] != '"' {
		return nil, false
	}
	for j := s.i + 1; j < len(s.b); j++ {
		switch s.b[j] {
		case '\\':
			j++
		case '"':
			raw := s.b[s.i : j+1]
			s.i = j + 1
			return raw, true
		}
	}
	return nil, false
}

// value consumes one whole value and returns it.
func (s *headScanner) value() ([]byte, bool) {
	s.space()
	if s.i >= len(s.b) {
		return nil, false
	}
	switch s.b[s.i] {
	case '"':
		return s.str()
	case '{', '[':
		return s.nested()
	}
	start := s.i
	for ; s.i < len(s.b); s.i++ {
		switch s.b[s.i] {
		case ',', '}', ' ', '\t', '\r':
			return s.b[start:s.i], s.i > start
		}
	}
	return nil, false // cut off: 12 may have been 123
}

// nested consumes one whole object or array.
func (s *headScanner) nested() ([]byte, bool) {
	start, depth := s.i, 0
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case '"':
			if _, ok := s.str(); !ok {
				return nil, false
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		s.i++
		if depth == 0 {
			return s.b[start:s.i], true
		}
	}
	return nil, false
}
