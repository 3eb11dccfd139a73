// Package tui is the terminal interface: one Bubble Tea program in which a
// person talks to a session, answers every gate and reconfigures the sources of
// tools while the session runs.
//
// It knows the harness and nothing else. The session and the openers that it
// needs are the small interfaces of ports.go; the sources of tools are an
// integration.Port. It must not import an adapter, the composition root, or the
// package of sessions itself.
//
// Three invariants hold for the whole tree below this package. Update and View
// do no IO: work happens in commands. Every string that a server, a model or a
// journal wrote passes internal/safetext before it becomes part of a frame. And
// no frame is wider or higher than the terminal.
package tui
