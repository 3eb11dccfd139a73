//go:build unix

package stdio

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// childAttributes make the child the leader of a session and a process group
// of its own: signals of the terminal do not reach it, and its group can be
// ended as a whole.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func terminateGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGTERM) }
func killGroup(pid int)      { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// exitOf reads how a process ended: its exit code, or -1 and the signal's name.
func exitOf(state *os.ProcessState) (code int, signal string) {
	if state == nil {
		return -1, ""
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return -1, unix.SignalName(status.Signal())
	}
	return state.ExitCode(), ""
}

// pipeInode is the number by which /proc names a pipe.
func pipeInode(file *os.File) uint64 {
	info, err := file.Stat()
	if err != nil {
		return 0
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}
