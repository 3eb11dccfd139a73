// Package archtest keeps the shape of the module: which package may import which,
// where a third-party module may appear, how tests that start processes are marked,
// how long a file may be, and that no exported API shows a type of the MCP SDK.
//
// Each rule is a function from a model of the source (Tree, or a type-checked
// package) to violations. That makes the rules testable themselves: every one is
// shown to fail on a small source tree that breaks it, next to the test that the
// real tree keeps it.
//
// The import rules read every Go file whatever its build constraints, so that a file
// for another system cannot hide an edge; the exported API is taken from the type
// checker. The package is used by tests alone and is imported by nothing.
package archtest
