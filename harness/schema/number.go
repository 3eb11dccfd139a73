package schema

import (
	"math/big"
	"strconv"
	"strings"
)

// The bounds of one number. Exact arithmetic on 1e999999999 would take all
// memory, so size is refused, not rounded.
const (
	MaxNumberBytes    = 1024
	MaxNumberExponent = 1024
)

// checkNumber refuses a JSON number whose exact value is too large to compute
// with.
func checkNumber(text string) *Error {
	if len(text) > MaxNumberBytes {
		return &Error{
			Code: CodeOverLimit, Message: "number with too many digits",
			Limit: MaxNumberBytes, Size: int64(len(text)), Setting: "numberBytes",
		}
	}
	i := strings.IndexAny(text, "eE")
	if i < 0 {
		return nil
	}
	exp, err := strconv.Atoi(text[i+1:])
	if err != nil {
		exp = MaxNumberExponent + 1 // does not fit an int: over the limit, whatever it is
	}
	if exp > MaxNumberExponent || exp < -MaxNumberExponent {
		return &Error{
			Code: CodeOverLimit, Message: "number with too large an exponent",
			Limit: MaxNumberExponent, Size: int64(max(exp, -exp)), Setting: "numberExponent",
		}
	}
	return nil
}

// ParseNumber returns the exact value of a JSON number. It refuses what is not
// a JSON number, and one over MaxNumberBytes or MaxNumberExponent.
func ParseNumber(text string) (*big.Rat, error) {
	if !isNumber(text) {
		return nil, &Error{Code: CodeMalformed, Message: "not a number"}
	}
	if err := checkNumber(text); err != nil {
		return nil, err
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, &Error{Code: CodeMalformed, Message: "not a number"}
	}
	return r, nil
}

// isNumber reports whether text is a number by the grammar of JSON. (big.Rat
// takes more: fractions, underscores, hexadecimal.)
func isNumber(text string) bool {
	s := strings.TrimPrefix(text, "-")
	s, n := digits(s)
	if n == 0 || (n > 1 && text[len(text)-len(s)-n] == '0') {
		return false
	}
	if strings.HasPrefix(s, ".") {
		if s, n = digits(s[1:]); n == 0 {
			return false
		}
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		s = s[1:]
		if s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		if s, n = digits(s); n == 0 {
			return false
		}
	}
	return s == ""
}

// digits drops the leading digits of s and counts them.
func digits(s string) (rest string, n int) {
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return s[n:], n
}
