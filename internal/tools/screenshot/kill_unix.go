//go:build unix

package main

import (
	"os"
	"syscall"
)

// killGroup ends a program and what it left in its session's first process group: a
// survivor would hold the terminal open.
func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
