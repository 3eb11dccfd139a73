package wire

import "github.com/go-json-experiment/json/jsontext"

// parserDepth is how deep the JSON parser follows.
const parserDepth = 10_000

// IsFrame reports whether data is one JSON object or array. What is nested
// deeper than the parser follows passes when its brackets match, so that the
// request that it answers fails instead of waiting.
func IsFrame(data []byte) bool {
	if len(data) == 0 || data[0] != '{' && data[0] != '[' {
		return false
	}
	if jsontext.Value(data).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
		return true
	}
	deepest, matched := nesting(data)
	return matched && deepest >= parserDepth
}

// nesting measures brackets outside of strings: the depth, and whether they
// are closed exactly once, at the end.
func nesting(data []byte) (deepest int, matched bool) {
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case quoted:
			if c == '\\' {
				i++
			} else if c == '"' {
				quoted = false
			}
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			if depth--; depth <= 0 {
				return deepest, depth == 0 && i == len(data)-1
			}
		}
	}
	return deepest, false
}
