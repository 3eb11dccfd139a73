//go:build !linux

package guardian

// SealDescriptors marks every descriptor above the standard streams
// close-on-exec. There is no safe call for it on this platform.
func SealDescriptors() bool { return false }
