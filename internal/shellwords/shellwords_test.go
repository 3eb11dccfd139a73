package shellwords_test

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/looprig/looprig/internal/shellwords"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{
		"":                       nil,
		"  npx -y  @a/b /tmp ":   {"npx", "-y", "@a/b", "/tmp"},
		`a 'b c' "d \"e\" $X"`:   {"a", "b c", `d "e" $X`},
		`'' "" x`:                {"", "", "x"},
		`a\ b \$HOME "c\d"`:      {"a b", "$HOME", `c\d`},
		"pre'fix'ed`backtick` ;": {"prefixed`backtick`", ";"},
	} {
		got, err := shellwords.Split(in)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("Split(%q) = %q, %v; want %q", in, got, err, want)
		}
	}
	for in, want := range map[string]error{`a 'b`: shellwords.ErrQuote, `"x`: shellwords.ErrQuote, `a\`: shellwords.ErrEscape} {
		if _, err := shellwords.Split(in); !errors.Is(err, want) {
			t.Errorf("Split(%q): %v, want %v", in, err, want)
		}
	}
}

func TestJoinIsTheInverse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.String()).Draw(t, "words")
		got, err := shellwords.Split(shellwords.Join(words))
		if err != nil || len(got) != len(words) || (len(words) > 0 && !slices.Equal(got, words)) {
			t.Fatalf("%q became %q, %v", words, got, err)
		}
	})
}
