// Package composition is the wiring that an application does: bindings, a
// Manager, a session and an Adopter, in the order in which they are needed. The
// example is compiled and executed by `make examples`; the binary's own wiring
// is in package compose.
package composition
