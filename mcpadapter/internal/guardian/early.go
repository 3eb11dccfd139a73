package guardian

import "os"

// A process that was started as the helper does nothing else, and needs nothing
// of the program's other packages: it takes up its role here, before most of them
// are initialised, instead of waiting for Main (docs/adr/0007). That saves more
// than half of its start, at the moment at which the servers start as well.
func init() {
	if len(os.Args) == 2 && os.Args[1] == Arg {
		os.Exit(watch(os.Stdin))
	}
}
