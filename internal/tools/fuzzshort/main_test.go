package main

import (
	"slices"
	"testing"
	"testing/fstest"
	"time"
)

func TestFind(t *testing.T) {
	t.Parallel()
	file := func(src string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(src)} }
	got, err := find(fstest.MapFS{
		"a/x_test.go":          file("package a\nfunc FuzzOne(f *testing.F) {}\nfunc TestTwo(t *testing.T) {}\nfunc FuzzThree(f *testing.F) {}\n"),
		"a/x.go":               file("package a\nfunc FuzzNot() {}\n"),
		"b/c/y_test.go":        file("package c\nfunc FuzzFour(f *testing.F) {}\nfunc (T) FuzzMethod(f *testing.F) {}\n"),
		"b/z_test.go":          file("//go:build integration\n\npackage b\nfunc FuzzTagged(f *testing.F) {}\n"),
		"b/testdata/q_test.go": file("package q\nfunc FuzzData(f *testing.F) {}\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []target{{"a", "FuzzOne"}, {"a", "FuzzThree"}, {"b/c", "FuzzFour"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestShare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n    int
		want time.Duration
	}{{0, 5 * time.Second}, {1, 5 * time.Second}, {30, 2 * time.Second}, {600, time.Second}} {
		if got := shareOf(time.Minute, 5*time.Second, c.n); got != c.want {
			t.Errorf("%d targets: %v, want %v", c.n, got, c.want)
		}
	}
}

func TestOnlyTheEndOfTimeIsExcused(t *testing.T) {
	t.Parallel()
	const end = "fuzz: elapsed: 4s, execs: 706 (0/sec)\n--- FAIL: FuzzX (3.98s)\n    context deadline exceeded\nFAIL\nexit status 1\n"
	for output, want := range map[string]bool{
		end: true,
		"--- FAIL: FuzzX (0.02s)\n    --- FAIL: FuzzX (0.00s)\n        x_test.go:9: bad\n    \n    Failing input written to testdata/fuzz/FuzzX/1\nFAIL\n": false,
		"--- FAIL: FuzzX (0.02s)\n    x_test.go:9: bad\nFAIL\n":                                     false,
		"--- FAIL: FuzzX (0.02s)\n    context deadline exceeded\n    x_test.go:9: and more\nFAIL\n": false,
		"panic: x\n" + end:         false,
		"FAIL\tx [build failed]\n": false,
	} {
		if got := outOfTime(output); got != want {
			t.Errorf("%q: %t", output, got)
		}
	}
}
