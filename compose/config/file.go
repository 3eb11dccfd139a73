package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/looprig/looprig/compose/config/doc"
)

// PermissionError says that others could change a file that decides what runs.
type PermissionError struct {
	Path string
	Mode fs.FileMode
	// Fix is the command that mends it.
	Fix string
}

func (e *PermissionError) Error() string {
	return fmt.Sprintf("%s can be written by others (mode %04o), and it decides what is run: %s", e.Path, e.Mode.Perm(), e.Fix)
}

// ReadFile reads a configuration file: at most doc.MaxBytes, and not one that
// others can write. A missing file is fs.ErrNotExist.
func ReadFile(path string) ([]byte, error) {
	// A pipe without a writer must be refused, not waited for.
	f, err := os.OpenFile(path, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, err
	}
	data, err := read(f, path)
	return data, errors.Join(err, f.Close())
}

// CheckDir refuses a directory in which others could replace a file that
// decides what runs.
func CheckDir(path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	return checkOwner(path, st)
}

func read(f *os.File, path string) ([]byte, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	if err := checkOwner(path, st); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, doc.MaxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > doc.MaxBytes {
		return nil, doc.Faults{{File: path, Message: fmt.Sprintf("the file is over the limit of %d bytes", doc.MaxBytes)}}
	}
	return data, nil
}
