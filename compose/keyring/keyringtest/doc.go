// Package keyringtest is a session bus with a keyring on it, for tests alone: it
// answers, asks, refuses and hangs as a test wants.
package keyringtest
