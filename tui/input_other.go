//go:build !unix

package tui

import (
	"os"
	"time"
)

// ready cannot tell here: every read then goes through the event loop.
func ready(*os.File, time.Duration) bool { return false }
