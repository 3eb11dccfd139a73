package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// Not parallel: the collector is one for the process.
func TestTheCollectorsPaceReturnsWithTheFirstCollection(t *testing.T) {
	t.Setenv("GOGC", "")
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	pace := func() int {
		p := debug.SetGCPercent(startCollect)
		debug.SetGCPercent(p)
		return p
	}
	if collectLater(); pace() != 100 {
		t.Error("an empty GOGC was overruled")
	}
	unset(t, "GOGC")
	unset(t, "GOMEMLIMIT")
	if collectLater(); pace() != startCollect {
		t.Fatal("the collector keeps its pace")
	}
	for end := time.Now().Add(10 * time.Second); pace() != 100; {
		if time.Now().After(end) {
			t.Fatal("the collector's pace never returns")
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
}

// unset removes a variable until the test's end.
func unset(t *testing.T, name string) {
	t.Helper()
	t.Setenv(name, "")
	if err := os.Unsetenv(name); err != nil {
		t.Fatal(err)
	}
}
