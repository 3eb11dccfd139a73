package stdio

import (
	"os"

	"golang.org/x/sys/unix"
)

// stdoutPipeBytes is what a server may write ahead of us. Everything in the pipe
// comes before the next answer, so a server that floods messages is held up
// rather than the answers behind them: the usual 64 KiB are a thousand messages.
const stdoutPipeBytes = 16 << 10

// shorten bounds what a pipe holds; where that cannot be done it stays as it is.
func shorten(pipe *os.File) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, stdoutPipeBytes) })
}
