//go:build !linux

package holder

// realm has no meaning where processes cannot be told apart.
func realm() string { return "" }

// startOf is not known here: names are "<host>:<pid>", and a lease of a process
// that died lasts until it runs out.
func startOf(int) (string, bool) { return "", false }
