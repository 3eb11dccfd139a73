package policy

import (
	"fmt"
	"strings"
)

// maxGlob bounds a glob, in bytes.
const maxGlob = 1024

// checkGlob refuses globs that end in the middle of an escape.
func checkGlob(g string) error {
	if len(g) > maxGlob {
		return fmt.Errorf("longer than %d bytes", maxGlob)
	}
	if n := len(g) - len(strings.TrimRight(g, `\`)); n%2 == 1 {
		return fmt.Errorf("%s ends in a lone backslash", quote(g))
	}
	return nil
}

// glob matches the whole of s: "*" any run of characters, "?" one character, "\"
// the next character literally. Its cost is at most the product of the lengths.
func glob(g, s string) bool {
	pat, str := []rune(g), []rune(s)
	p, i := 0, 0
	star, mark := -1, 0
	for i < len(str) {
		if p < len(pat) && pat[p] == '*' {
			star, mark = p, i
			p++
			continue
		}
		if n, ok := one(pat, p, str[i]); ok {
			p, i = n, i+1
			continue
		}
		if star < 0 {
			return false
		}
		mark++
		p, i = star+1, mark
	}
	for p < len(pat) && pat[p] == '*' {
		p++
	}
	return p == len(pat)
}

// one matches one character and returns where the pattern goes on.
func one(pat []rune, p int, r rune) (int, bool) {
	switch {
	case p >= len(pat):
		return p, false
	case pat[p] == '?':
		return p + 1, true
	case pat[p] == '\\' && p+1 < len(pat):
		return p + 2, pat[p+1] == r
	}
	return p + 1, pat[p] == r
}
