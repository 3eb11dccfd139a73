package guardian

import "golang.org/x/sys/unix"

// SealDescriptors marks every descriptor above the standard streams
// close-on-exec, so that what looprig itself inherited does not pass on to a
// server. It reports whether that was possible.
func SealDescriptors() bool {
	return unix.CloseRange(3, ^uint(0)>>1&0xffffffff, unix.CLOSE_RANGE_CLOEXEC) == nil
}
