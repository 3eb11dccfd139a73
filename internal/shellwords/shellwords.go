// Package shellwords splits a command line into words and joins words into one,
// with a shell's quotes and none of its expansions: what is written is what is
// run.
package shellwords

import (
	"errors"
	"strings"
)

// Errors of Split.
var (
	ErrQuote  = errors.New("a quote is not closed")
	ErrEscape = errors.New("a backslash at the end escapes nothing")
)

// Split takes words apart at white space. Single quotes keep everything, double
// quotes keep everything but \" and \\, a backslash outside quotes keeps the
// next character.
func Split(s string) ([]string, error) {
	var words []string
	var word strings.Builder
	inWord := false
	quote := rune(0)
	runes := []rune(s)
	for i := 0; i < len(runes); i++ {
		c := runes[i]
		switch {
		case quote == '\'' && c != '\'', quote == '"' && c != '"' && c != '\\':
			word.WriteRune(c)
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\':
			if i+1 == len(runes) {
				return nil, ErrEscape
			}
			i++
			if quote == '"' && runes[i] != '"' && runes[i] != '\\' {
				word.WriteRune('\\')
			}
			word.WriteRune(runes[i])
			inWord = true
		case c == '\'' || c == '"':
			quote, inWord = c, true
		case strings.ContainsRune(" \t\r\n", c):
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteRune(c)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, ErrQuote
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

// Join is the inverse of Split.
func Join(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = quoteWord(w)
	}
	return strings.Join(out, " ")
}

func quoteWord(w string) string {
	if w != "" && !strings.ContainsAny(w, " \t\r\n'\"\\") {
		return w
	}
	if !strings.Contains(w, "'") {
		return "'" + w + "'"
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(w) + `"`
}
