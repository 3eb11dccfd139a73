// Package version knows what this build is called. Asked for that alone, a
// process answers while packages are initialised: package early does where it finds
// the version without help; this package does elsewhere, which is later, for the
// standard package that reads the build's record has a path that is late in the
// order (docs/adr/0007). Both come before most of what is expensive as long as
// they import nothing but small standard packages. It must stay that way.
package version

import (
	"os"
	"runtime/debug"

	"github.com/looprig/looprig/internal/version/early"
)

func init() {
	if early.Asked(os.Args) {
		early.Answer(Text())
	}
}

// Text is the version: the linker's, or what the build recorded, or "dev".
func Text() string {
	if linked := early.Linked(); linked != "" {
		return linked
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		return early.Named(info.Main.Version)
	}
	return early.Named("")
}

// Line is what `looprig version` prints.
func Line() string { return early.Line(Text()) }
