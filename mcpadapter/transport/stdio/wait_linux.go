package stdio

import (
	"errors"

	"golang.org/x/sys/unix"
)

// awaitExit returns when the child has ended and leaves it unreaped, so that
// its number and its group's stay its own until the group has been dealt with. False means that this did not work.
func awaitExit(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}
