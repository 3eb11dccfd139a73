// Package version knows what this build is called, and answers `looprig version`
// before the rest of the program is initialised: the packages that it links
// prepare tables and compile schemas at start, which takes several times as long
// as the answer (docs/adr/0007). Go initialises packages in the order of their
// import paths as far as dependencies allow, so this one comes before the
// expensive ones as long as it imports nothing but small standard packages. It
// must stay that way.
package version

import (
	"os"
	"runtime/debug"
)

// linked is set by the linker for releases.
var linked = ""

func init() {
	if asked(os.Args) {
		if _, err := os.Stdout.WriteString(Line()); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// asked reports whether the arguments are the question alone, asked of looprig
// itself: no test binary and no example program that links this package ends
// here.
func asked(args []string) bool {
	return len(args) == 2 && args[1] == "version" && named(args[0])
}

// named reports whether a program's path ends in looprig, looprig.exe or one of
// their variants such as looprig-linux.
func named(path string) bool {
	base := path
	for i := len(path) - 1; i >= 0; i-- {
		if os.IsPathSeparator(path[i]) {
			base = path[i+1:]
			break
		}
	}
	const want = "looprig"
	return len(base) >= len(want) && base[:len(want)] == want
}

// Text is the version: the linker's, or what the build recorded, or "dev".
func Text() string {
	if linked != "" {
		return linked
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}

// Line is what `looprig version` prints.
func Line() string { return "looprig " + Text() + "\n" }
