//go:build unix

package config

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// openNonblock makes opening a pipe return at once; a regular file is read as
// ever.
const openNonblock = syscall.O_NONBLOCK

// checkOwner refuses a file that somebody other than its reader (or root) owns
// or can write.
func checkOwner(path string, st fs.FileInfo) error {
	if st.Mode().Perm()&0o022 != 0 {
		return &PermissionError{Path: path, Mode: st.Mode(), Fix: fmt.Sprintf("chmod go-w %q", path)}
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if ok && sys.Uid != 0 && int(sys.Uid) != os.Geteuid() && os.Geteuid() != 0 {
		return &PermissionError{Path: path, Mode: st.Mode(), Fix: fmt.Sprintf("sudo chown %d %q", os.Geteuid(), path)}
	}
	return nil
}
