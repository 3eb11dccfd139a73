//go:build !linux

package kin

// Supported reports whether this platform can look for members at all. Where
// it cannot, only process groups are ended.
const Supported = false

// Alive finds nobody on this platform.
func (f *Family) Alive() []Member { return nil }

// StartOf is unknown on this platform.
func StartOf(int) uint64 { return 0 }

// Children is unknown on this platform.
func Children(int) []Member { return nil }

func terminate(Member) {}
func destroy(Member)   {}
