//go:build unix

package stdio

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// readNow reads what is available. An empty pipe is its end.
func readNow(file *os.File, p []byte) (n int, err error) {
	raw, err := file.SyscallConn()
	if err != nil {
		return 0, err
	}
	outer := raw.Control(func(fd uintptr) {
		for {
			if n, err = unix.Read(int(fd), p); !errors.Is(err, unix.EINTR) {
				return
			}
		}
	})
	if outer != nil {
		err = outer
	}
	if errors.Is(err, unix.EAGAIN) {
		err = io.EOF
	}
	return max(n, 0), err
}
