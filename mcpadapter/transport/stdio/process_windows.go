package stdio

import (
	"os"
	"syscall"
)

// childAttributes keep the console's Ctrl-C away from the child.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{HideWindow: true, CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// There are no process groups to signal; the child itself is ended by its
// handle and grandchildren are not reached.
func terminateGroup(int) {}
func killGroup(int)      {}

func exitOf(state *os.ProcessState) (code int, signal string) {
	if state == nil {
		return -1, ""
	}
	return state.ExitCode(), ""
}

func pipeInode(*os.File) uint64 { return 0 }
