//go:build !unix

package main

import "os"

// killGroup ends a program; there are no process groups.
func killGroup(p *os.Process) { _ = p.Kill() }
