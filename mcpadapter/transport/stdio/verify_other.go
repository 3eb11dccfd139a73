//go:build !linux

package stdio

import (
	"context"
	"io/fs"
	"os"
	"syscall"
)

// errTextBusy is what executing a file that is open for writing ends with.
const errTextBusy = syscall.ETXTBSY

// startVerified hashes before and after the start: this platform cannot
// execute a descriptor.
func (l *launch) startVerified(ctx context.Context) (*os.Process, []string, error) {
	return l.startBetweenHashes(ctx, "only Linux can execute the file that was hashed")
}

func openRegular(path string) (*os.File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = file.Close()
		return nil, fs.ErrInvalid
	}
	return file, nil
}
