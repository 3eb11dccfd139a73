package httpguard

import (
	"bytes"
	"encoding/json"
)

// Bounds of what is kept of a frame over the limit.
const (
	maxMemberName  = 64
	maxMemberValue = 1 << 10
)

// members finds "id" and "method" in the outermost object of a frame that is
// too large to keep, while it passes by. Servers write the id behind the result
// as often as before it, so the whole frame is watched. It judges no grammar,
// and its memory does not depend on the frame.
type members struct {
	depth   int
	quoted  bool
	escaped bool
	isValue bool   // behind the colon of a member of the outermost object
	text    []byte // the token so far: a name, or a scalar value
	lost    bool   // the token is too long to be one that is looked for
	name    string // of the current member
	ids     int
	id      []byte
	method  string
	over    bool
}

func (m *members) write(chunk []byte) {
	for i := 0; i < len(chunk) && !m.over; i++ {
		if !m.quoted {
			m.outside(chunk[i])
			continue
		}
		if !m.escaped && (m.depth != 1 || m.lost) { // nothing is kept: on to what matters
			i += plainRun(chunk[i:])
			if i == len(chunk) {
				return
			}
		}
		m.inString(chunk[i])
	}
}

// plainRun counts the bytes before the next quote or backslash.
func plainRun(b []byte) int {
	if i := bytes.IndexByte(b, '"'); i >= 0 {
		b = b[:i]
	}
	if i := bytes.IndexByte(b, '\\'); i >= 0 {
		return i
	}
	return len(b)
}

func (m *members) inString(c byte) {
	m.keep(c)
	switch {
	case m.escaped:
		m.escaped = false
	case c == '\\':
		m.escaped = true
	case c == '"':
		m.quoted = false
	}
}

// keep collects a token of the outermost object.
func (m *members) keep(c byte) {
	if m.depth != 1 || m.lost {
		return
	}
	limit := maxMemberName
	if m.isValue {
		limit = maxMemberValue
	}
	if len(m.text) >= limit {
		m.text, m.lost = m.text[:0], true
		return
	}
	m.text = append(m.text, c)
}

func (m *members) outside(c byte) {
	switch c {
	case '"':
		m.quoted = true
		m.keep(c)
	case '{', '[':
		if m.depth == 0 && c == '[' {
			m.over = true // a batch has no id of its own
			return
		}
		if m.depth == 1 {
			m.lost = true // a nested value is no id
		}
		m.depth++
	case '}', ']':
		if m.depth == 1 {
			m.endMember()
		}
		if m.depth--; m.depth <= 0 {
			m.over = true
		}
	case ':':
		if m.depth == 1 && !m.isValue {
			m.name, m.isValue = unquoted(m.text), true
			m.text, m.lost = m.text[:0], false
		}
	case ',':
		if m.depth == 1 {
			m.endMember()
		}
	case ' ', '\t', '\r', '\n':
	default:
		m.keep(c)
	}
}

// endMember notes a complete member of the outermost object.
func (m *members) endMember() {
	if m.isValue {
		switch m.name {
		case "id":
			m.ids++
			if !m.lost {
				m.id = append([]byte(nil), m.text...)
			}
		case "method":
			m.method = unquoted(m.text)
		}
	}
	m.text, m.name, m.isValue, m.lost = m.text[:0], "", false, false
}

// Peek finds the raw id, where there is exactly one and it is a string or a
// number, and the method of one frame, without judging the frame.
func Peek(frame []byte) (id []byte, method string) {
	var m members
	m.write(frame)
	return m.result()
}

// result is the raw id, where there is exactly one and it is a string or a
// number, and the method.
func (m *members) result() (id []byte, method string) {
	if m.ids != 1 || len(m.id) == 0 || !json.Valid(m.id) {
		return nil, m.method
	}
	if c := m.id[0]; c != '"' && c != '-' && (c < '0' || c > '9') {
		return nil, m.method
	}
	return m.id, m.method
}

func unquoted(raw []byte) string {
	if plain(raw) {
		return string(raw[1 : len(raw)-1])
	}
	var text string
	if len(raw) == 0 || json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

// plain reports whether a string literal spells itself: the usual case, which
// needs no parser.
func plain(raw []byte) bool {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return false
	}
	for _, c := range raw[1 : len(raw)-1] {
		if c < ' ' || c >= 0x7f || c == '\\' || c == '"' {
			return false
		}
	}
	return true
}
