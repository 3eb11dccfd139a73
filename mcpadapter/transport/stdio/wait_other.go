//go:build !linux

package stdio

// awaitExit has no equivalent here: waiting reaps.
func awaitExit(int) bool { return false }
