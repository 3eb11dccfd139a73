package tap

import (
	"bytes"
	"encoding/json"
)

// measure returns the deepest nesting and the number of object members of a
// JSON text without checking its grammar: an upper bound is enough to refuse
// what is too large before any parser allocates for it.
func measure(data []byte) (depth, members int) {
	open := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = stringEnd(data, i)
		case '{', '[':
			open++
			depth = max(depth, open)
		case '}', ']':
			open--
		case ':':
			members++
		}
	}
	return depth, members
}

// stringEnd returns the index of the quote that closes the string which opens
// at data[i], or len(data) when there is none.
func stringEnd(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(data)
}

// Attribute finds the id of a frame that was refused: the value of a top-level
// "id" member, in whatever state the rest is. Two different ids attribute to
// nobody. hasMethod says that there is a top-level "method".
func Attribute(data []byte) (id json.RawMessage, hasMethod bool) {
	open, ambiguous := 0, false
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			open++
		case '}', ']':
			open--
		case '"':
			end := stringEnd(data, i)
			if end >= len(data) {
				return settleID(id, ambiguous), hasMethod
			}
			name := data[i+1 : end]
			i = end
			if open != 1 || (string(name) != "id" && string(name) != "method") {
				continue
			}
			value, next := memberValue(data, end+1)
			if next == 0 {
				continue
			}
			i = next - 1
			if string(name) == "method" {
				hasMethod = true
				continue
			}
			ambiguous = ambiguous || id != nil && string(id) != string(value)
			id = value
		}
	}
	return settleID(id, ambiguous), hasMethod
}

// IsNotification reports whether a frame is certainly a notification of the
// method, if it is a message at all: it costs a fraction of Parse, which still
// decides. False says nothing.
func IsNotification(data []byte, method string) bool {
	if len(data) == 0 || data[0] != '{' {
		return false
	}
	open, found := 0, false
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			open++
		case '}', ']':
			open--
		case '"':
			end := stringEnd(data, i)
			if end >= len(data) {
				return false
			}
			name := data[i+1 : end]
			i = end
			if open != 1 {
				continue
			}
			if bytes.IndexByte(name, '\\') >= 0 {
				return false // it may spell any of them
			}
			switch string(name) {
			case "id", "result", "error":
				return false
			case "method":
				value, next := memberValue(data, end+1)
				if next == 0 || found || len(value) != len(method)+2 || string(value[1:len(value)-1]) != method {
					return false
				}
				found, i = true, next-1
			}
		}
	}
	return found
}

func settleID(id json.RawMessage, ambiguous bool) json.RawMessage {
	if ambiguous {
		return nil
	}
	return id
}

// memberValue returns the scalar that follows a colon at or after i, and the
// index behind it; 0 says that no colon follows (the string was a value) or
// that the value is not a scalar.
func memberValue(data []byte, i int) (json.RawMessage, int) {
	i = skipSpace(data, i)
	if i >= len(data) || data[i] != ':' {
		return nil, 0
	}
	i = skipSpace(data, i+1)
	if i >= len(data) || data[i] == '{' || data[i] == '[' {
		return nil, 0
	}
	start := i
	if data[i] == '"' {
		end := stringEnd(data, i)
		if end >= len(data) {
			return nil, 0
		}
		return data[start : end+1], end + 1
	}
	for i < len(data) && !isDelimiter(data[i]) {
		i++
	}
	if i == start {
		return nil, 0
	}
	return data[start:i], i
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\t' || data[i] == '\r' || data[i] == '\n') {
		i++
	}
	return i
}

func isDelimiter(c byte) bool {
	switch c {
	case ',', '}', ']', ':', ' ', '\t', '\r', '\n', '"', '{', '[':
		return true
	}
	return false
}
