//go:build unix

package pin

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkOwner refuses a store that somebody other than its reader (or root) owns
// or can write: whoever writes it decides what runs unasked.
func checkOwner(path string, info fs.FileInfo) error {
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("pins: %s can be written by others (mode %04o), and it decides what runs unasked: look at what it accepts, then chmod go-w %q",
			path, info.Mode().Perm(), path)
	}
	sys, ok := info.Sys().(*syscall.Stat_t)
	if ok && sys.Uid != 0 && int(sys.Uid) != os.Geteuid() && os.Geteuid() != 0 {
		return fmt.Errorf("pins: %s belongs to somebody else, and it decides what runs unasked: look at what it accepts, then sudo chown %d %q",
			path, os.Geteuid(), path)
	}
	return nil
}
