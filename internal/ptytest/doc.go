// Package ptytest drives a real program in a pseudo-terminal: it types, waits
// for what appears on an emulated screen, and keeps every byte that the program
// wrote, so that a test can assert what a terminal would have been told to do.
//
// Check compares those bytes with an allow-list of control sequences. Residue
// says what a program that has ended left switched on. The package is for tests
// alone; starting a terminal needs a Unix system.
package ptytest
