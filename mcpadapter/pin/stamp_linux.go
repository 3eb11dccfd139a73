package pin

import (
	"io/fs"
	"syscall"
	"time"
)

// unsettled is how long after a change a file may change again within the same
// tick of the file system's clock.
const unsettled = 2 * time.Second

// stamp identifies a state of a file. The change time cannot be set back by
// the file's owner, so a file that was swapped for one with the same size and
// modification time has another stamp.
type stamp struct {
	dev, ino     uint64
	size         int64
	mtime, ctime syscall.Timespec
}

// stampOf reports no stamp for a file that changed a moment ago.
func stampOf(info fs.FileInfo) (stamp, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || time.Since(time.Unix(st.Ctim.Unix())) < unsettled {
		return stamp{}, false
	}
	return stamp{dev: uint64(st.Dev), ino: st.Ino, size: st.Size, mtime: st.Mtim, ctime: st.Ctim}, true
}
