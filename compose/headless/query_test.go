package headless

import (
	"strings"
	"testing"
)

func TestQueriesAreBoundedInWhatTheyYield(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"repeat(1)":       "more than 100000 values",
		`"x" * 20000000`:  "bytes",
		"def f: f; f":     "did not end within",
		"error(\"boom\")": "boom",
	} {
		q, err := NewQuery(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := q.Lines(t.Context(), &Result{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gave %v", text, err)
		}
	}
}
