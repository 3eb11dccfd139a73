// Package adoption is the proof of how a binding's tools reach a loop and leave
// it: a child server with one tool `lookup`, a session-scoped binding that all
// loops see, installed, then disabled. It checks the tool's source, how many
// definitions there are, the name that a model sees, and the binding's status.
// `make examples` runs it.
package adoption
