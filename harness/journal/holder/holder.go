// Package holder names processes in leases so that another process on the same
// machine can tell, at once and surely, that the one that is named is gone. It
// must not import a store.
package holder

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Self names this process: "<host>:<pid>:<realm>:<start>". The realm is what a
// process number has meaning in (the boot of the machine, the namespace of a
// container), the start tells it from a later process with its number. Where the
// platform tells neither, the name is "<host>:<pid>".
var Self = sync.OnceValue(func() string {
	host, err := os.Hostname()
	if err != nil || host == "" || strings.Contains(host, ":") {
		host = "localhost"
	}
	pid := os.Getpid()
	start, ok := startOf(pid)
	if !ok {
		return fmt.Sprintf("%s:%d", host, pid)
	}
	return fmt.Sprintf("%s:%d:%s:%s", host, pid, realm(), start)
})

// Alive reports whether the process that a name names may still live. It is false
// only where that is sure: the name is of this host and realm and the process is
// gone, or of a boot that is over. Other names are taken to live.
func Alive(name string) bool {
	self := strings.Split(Self(), ":")
	other := strings.Split(name, ":")
	if len(self) != 4 || len(other) != 4 || self[0] != other[0] {
		return true
	}
	pid, err := strconv.Atoi(other[1])
	if err != nil || pid <= 0 {
		return true
	}
	boot, space, _ := strings.Cut(self[2], ".")
	otherBoot, otherSpace, _ := strings.Cut(other[2], ".")
	if boot != otherBoot {
		return false
	}
	if space != otherSpace {
		return true
	}
	start, ok := startOf(pid)
	return ok && start == other[3]
}
