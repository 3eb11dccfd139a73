package keyring

import "testing"

func TestParse(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]Item{
		"looprig/anthropic":            {"looprig", "anthropic"},
		"https://api.example/v1/me@x+": {"https://api.example/v1", "me@x+"},
	} {
		if got, err := Parse(s); err != nil || got != want || got.String() != s {
			t.Errorf("%s: %v %v", s, got, err)
		}
	}
	for _, s := range []string{"", "a", "/a", "a/", "a b/c", "a/$(x)", "a/b;c", "a/`b`", "-s/a", "a/-w", "a/ü", string(make([]byte, 300)) + "/a"} {
		if got, err := Parse(s); err == nil {
			t.Errorf("%q is read as %v", s, got)
		}
	}
}
