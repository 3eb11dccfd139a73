//go:build !linux

package early

func probe([]byte) {}
