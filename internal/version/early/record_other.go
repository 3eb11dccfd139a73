//go:build !linux

package early

// recorded is only known where the program's file is read for it.
func recorded() string { return "" }
