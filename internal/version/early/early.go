// Package early answers `looprig version` before almost anything of the program
// is initialised (docs/adr/0007). Go initialises packages in the order of their
// import paths as far as dependencies allow: what imports os alone comes right
// after it, and before the packages that build tables and compile schemas. So it
// imports nothing else. Where it cannot find the version (see record), package
// version answers a little later.
package early

import "os"

// linked is set by the linker for releases.
var linked = ""

func init() {
	if !Asked(os.Args) {
		return
	}
	if linked != "" {
		Answer(linked)
	}
	if text := recorded(); text != "" {
		Answer(text)
	}
}

// Answer prints the answer and ends the process.
func Answer(text string) {
	if _, err := os.Stdout.WriteString(Line(text)); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// Linked is the version that the linker set, or "".
func Linked() string { return linked }

// Line is what `looprig version` prints.
func Line(text string) string { return "looprig " + text + "\n" }

// Named is the version that a build is called by which recorded this one for
// its main module.
func Named(record string) string {
	if record == "" || record == "(devel)" {
		return "dev"
	}
	return record
}

// Asked reports whether a process's arguments are the question alone, asked of
// looprig itself: no test binary and no example program that links this package
// ends here.
func Asked(args []string) bool {
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
