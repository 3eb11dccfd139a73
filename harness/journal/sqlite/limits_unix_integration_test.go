//go:build integration && unix

package sqlite_test

import (
	"os/signal"
	"syscall"
)

// limitFiles bounds the files that this process writes.
func limitFiles(bytes uint64) {
	if bytes == 0 {
		return
	}
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: bytes, Max: bytes}); err != nil {
		panic(err)
	}
}
