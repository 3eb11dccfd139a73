package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

const (
	// startCollect makes the first collection wait for a heap of 32 MiB: it is in
	// percent of the 4 MiB at which the runtime begins.
	startCollect = 800
	// startTime is how long a start takes at most, as far as the collector goes.
	startTime = time.Second
)

// collectLater keeps the garbage collector out of the start: next to nothing
// that a start allocates is garbage, and a collection costs it a tenth of its
// processor time. The runtime's own pace returns after startTime, and with the
// first collection where one comes earlier, so that the heap cannot grow to a
// multiple of what lives. Whoever sets GOGC or GOMEMLIMIT has decided already.
func collectLater() {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		if _, set := os.LookupEnv(name); set {
			return
		}
	}
	usual := debug.SetGCPercent(startCollect)
	var once sync.Once
	restore := func() { once.Do(func() { debug.SetGCPercent(usual) }) }
	time.AfterFunc(startTime, restore)
	afterCollection(restore)
}

// afterCollection calls f once the next collection has ended.
func afterCollection(f func()) {
	sentinel := new([16]byte) // large enough not to share an allocation
	runtime.AddCleanup(sentinel, func(f func()) { f() }, f)
}
