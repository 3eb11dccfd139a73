package tui

import (
	"context"
	"errors"
)

// errNotBuilt is replaced by the program itself.
var errNotBuilt = errors.New("the interface is not built yet")

// Run shows the interface until the person quits, ctx ends, a signal arrives
// (SIGINT, SIGTERM, SIGHUP) or something panics, and restores the terminal in
// every case. Cancelling ctx is how a crash elsewhere gets the terminal back:
// when Run has returned, the terminal is the shell's again. A panic is returned
// as a *CrashError.
func Run(ctx context.Context, o Options) (Result, error) {
	return Result{}, errNotBuilt
}
