package main

import (
	"path/filepath"
	"strings"
	"testing"
)

const stream = `{"Action":"start","Package":"m/a"}
{"Action":"run","Package":"m/a","Test":"TestOne"}
{"Action":"output","Package":"m/a","Test":"TestOne","Output":"=== RUN   TestOne\n"}
{"Action":"output","Package":"m/a","Test":"TestOne","Output":"    a_test.go:1: quiet\n"}
{"Action":"pass","Package":"m/a","Test":"TestOne","Elapsed":0.1}
{"Action":"output","Package":"m/a","Test":"TestTwo","Output":"    a_test.go:2: broken\n"}
{"Action":"fail","Package":"m/a","Test":"TestTwo/sub"}
{"Action":"fail","Package":"m/a","Test":"TestTwo"}
{"Action":"output","Package":"m/a","Test":"TestSkip","Output":"    a_test.go:3: no npm\n"}
{"Action":"skip","Package":"m/a","Test":"TestSkip"}
{"Action":"output","Package":"m/a","Output":"FAIL\tm/a\t0.1s\n"}
{"Action":"fail","Package":"m/a"}
{"ImportPath":"m/b","Action":"build-output","Output":"b.go:1: syntax error\n"}
{"Action":"fail","Package":"m/b"}
{"Action":"output","Package":"m/c","Output":"?   \tm/c\t[no test files]\n"}
{"Action":"skip","Package":"m/c"}
a line that is no event
`

func TestFollow(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	tally, err := follow(strings.NewReader(stream), &out)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tally.counts().String(), "1 passed, 3 failed, 1 skipped"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, want := range []string{"broken", "no npm", "FAIL\tm/a", "syntax error", "a line that is no event"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not shown", want)
		}
	}
	for _, noise := range []string{"quiet", "=== RUN", "no test files"} {
		if strings.Contains(out.String(), noise) {
			t.Errorf("%q is shown", noise)
		}
	}
}

func TestRunsAddUp(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "counts")
	for _, run := range []tally{
		{"p A": passed, "p B": skipped, "p C": failed, "p D": skipped},
		{"p A": passed, "p B": passed, "p C": passed},
	} {
		if err := run.appendTo(file); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	code, err := run([]string{"-total", file}, &out, &out)
	if err != nil || code != 1 {
		t.Errorf("exit %d, error %v", code, err)
	}
	if got, want := out.String(), "2 passed, 1 failed, 1 skipped\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNothingRanIsAFailure(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "counts")
	if err := (tally{}).appendTo(file); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if code, _ := run([]string{"-total", file}, &out, &out); code != 1 {
		t.Errorf("exit %d", code)
	}
	if code, _ := run(nil, &out, &out); code != 2 {
		t.Errorf("without arguments: exit %d", code)
	}
}
